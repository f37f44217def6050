"""Search for a mixture: starts from clusters of rows, and the number of components by BIC."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state

from absentia.beliefs import Prior
from absentia.densities.em.ascent import (
    SINGULAR,
    Ascent,
    MixtureCoordinates,
    Penalty,
    climb,
    heaviest_first,
    n_parameters,
    search_number,
)
from absentia.densities.em.expectation import ExpectedMoments
from absentia.densities.em.streamed_rows import StreamedRows
from absentia.densities.gaussian import fit_gaussian, shrinkage_in_rows
from absentia.densities.training_rows import TrainingRows
from absentia.parameters import require
from absentia.tables import FloatArray, IntArray

if TYPE_CHECKING:
    from absentia.densities.mixture import MixtureDensity

_LLOYD_ROUNDS = 10
# Rows are clustered by this many of the categories of a column, the most frequent ones.
_MOST_INDICATORS = 50


@dataclass(frozen=True, eq=False)
class RowCategories:
    """Categories of rows, -1 where missing, and how frequent the categories of each column are."""

    codes: IntArray
    marginals: tuple[FloatArray, ...]

    def indicators(self) -> list[FloatArray]:
        """Return probabilities of the most frequent categories by column, (n_rows, ...)."""
        found = []
        for column, shares in zip(self.codes.T, self.marginals, strict=True):
            frequent = np.sort(np.argsort(-shares, kind="stable")[:_MOST_INDICATORS])
            known = (column[:, None] == frequent).astype(np.float64)
            found.append(np.where(column[:, None] >= 0, known, shares[frequent]))
        return found

    def counts(
        self, labels: IntArray, shares: FloatArray, n_clusters: int
    ) -> tuple[FloatArray, ...]:
        """Return the weight of each category in each cluster, (n_clusters, n_categories)."""
        found = []
        for column, marginal in zip(self.codes.T, self.marginals, strict=True):
            seen, K = column >= 0, len(marginal)
            places = labels[seen] * K + column[seen]
            weight = np.bincount(places, shares[seen], n_clusters * K).reshape(n_clusters, K)
            missing = np.bincount(labels[~seen], shares[~seen], n_clusters)
            found.append(weight + missing[:, None] * marginal)
        return tuple(found)


def cluster_rows(
    completed: FloatArray, weights: FloatArray | None, n_components: int, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Return the cluster of each row, and the centres: some rounds of k-means++ and Lloyd's."""
    shares = np.ones(len(completed)) if weights is None else weights
    if len(completed) < n_components:
        centres = completed[rng.choice(len(completed), n_components, p=shares / shares.sum())]
    else:
        centres, _ = kmeans_plusplus(
            completed, n_components, sample_weight=shares, random_state=rng
        )
    labels = _nearest(completed, centres)
    for _ in range(_LLOYD_ROUNDS):
        totals = np.bincount(labels, shares, n_components)
        sums = np.stack(
            [np.bincount(labels, shares * column, n_components) for column in completed.T], axis=1
        )
        # A centre that has lost all its rows stays where it is.
        centres = np.where(totals[:, None] > 0, sums / np.maximum(totals, 1e-300)[:, None], centres)
        previous, labels = labels, _nearest(completed, centres)
        if np.array_equal(previous, labels):
            break
    return labels, centres


def _nearest(X: FloatArray, centres: FloatArray) -> IntArray:
    return ((centres**2).sum(axis=1) - 2 * X @ centres.T).argmin(axis=1)


_TRIAL_STEPS = 20  # steps of each start; the best of them goes on


class FittedMixture(NamedTuple):
    """A mixture in standard units, and how it was found."""

    prior: Prior
    ascent: Ascent
    bic: float


class MixtureSearch:
    """Training rows, prepared once for all mixtures that are fitted to them."""

    def __init__(self, training: TrainingRows | StreamedRows, settings: MixtureDensity):
        self.training = training
        self.settings = settings
        self.rng = check_random_state(settings.random_state)
        whole, _, self.shrinkage = fit_gaussian(
            training,
            # Categories alone have one number with a fixed density.
            settings.shrinkage if len(training.columns) else 1.0,
            float(settings.reg_covar),
            settings._steps,
            settings.n_jobs,
        )
        self.covariance: FloatArray = whole.covariances[0]
        self.completed, self.weights, codes = training.sampled().completed(whole)
        self.n_rows = len(self.completed)
        if self.weights is not None:
            self.n_rows = int(np.count_nonzero(self.weights))
        # Only MixedDensity has categories, and a parameter ``smoothing``.
        self.pseudocounts = tuple(settings.smoothing * shares for shares in training.marginals)
        self.categories = None if codes is None else RowCategories(codes, training.marginals)
        self.expectation = training.expectation(sum_patterns=False, n_jobs=settings.n_jobs)
        n_categories = tuple(map(len, training.marginals))
        self.coordinates = MixtureCoordinates(training.n_columns, n_categories)

    def best_by_bic(self, max_components: int) -> tuple[FittedMixture, FloatArray]:
        """Try one component, two, ... until two consecutive additions bring no improvement."""
        fitted: list[FittedMixture] = []

        def score(k: int) -> float:
            fitted.append(self.fit(k))
            return -fitted[-1].bic

        best, scores = search_number(range(1, min(max_components, self.n_rows) + 1), score)
        return fitted[best], -scores

    def fit(self, k: int) -> FittedMixture:
        """Fit ``k`` components: a few steps from every start, then the best to the end."""
        require(
            k <= self.n_rows,
            f"A mixture needs at least one row per component, found n_components = {k} and "
            f"n_samples = {self.n_rows} (rows in which anything was observed). Use fewer "
            "components, or n_components='bic'.",
        )
        penalty, max_iter = self._penalty(k), self.settings.max_iter
        starts = self._starts(k, penalty)
        trial = max_iter if len(starts) == 1 else min(_TRIAL_STEPS, max_iter)
        outcomes = [self._climb(penalty, start, trial) for start in starts]
        found = [outcome for outcome in outcomes if outcome is not None]
        require(found, SINGULAR)
        prior, ascent = max(found, key=lambda outcome: outcome[1].objectives[-1])
        left = max_iter - len(ascent.objectives)
        if not ascent.converged and left > 0:
            further = self._climb(penalty, ascent.parameters, left)
            assert further is not None  # its start has been evaluated before
            prior, rest = further
            ascent = replace(rest, objectives=np.append(ascent.objectives, rest.objectives))
        log_likelihood = (
            float(ascent.objectives[-1]) + penalty.value(prior) + self.training.log_jacobian
        )
        free = n_parameters(prior, len(self.training.columns))
        bic = free * float(np.log(self.training.total_weight)) - 2 * log_likelihood
        if not isinstance(self.settings.init, Prior):
            prior = heaviest_first(prior)
        return FittedMixture(prior, ascent, bic)

    def _climb(
        self, penalty: Penalty, start: Prior | FloatArray, max_iter: int
    ) -> tuple[Prior, Ascent] | None:
        steps = self.settings._steps._replace(max_iter=max_iter)
        return climb(self.expectation, penalty, self.coordinates, start, steps)

    def _penalty(self, k: int) -> Penalty:
        d = len(self.covariance)
        if not len(self.training.columns):  # categories alone: their one number has a fixed density
            return Penalty(np.inf, np.eye(d), 0.0, self.pseudocounts)
        total = self.training.total_weight
        independent = shrinkage_in_rows(self.shrinkage, total) / k
        pooled = d + 2.0 if self.settings.pooling == "auto" else float(self.settings.pooling)
        strength = independent + pooled
        target = np.eye(d)
        if not np.isinf(strength):
            mean = independent * np.eye(d) + pooled * self.covariance
            target = mean / strength if strength > 0 else np.zeros((d, d))
        ridge = float(self.settings.reg_covar) * total / k
        return Penalty(strength, share_of_volume(k, d) * target, ridge, self.pseudocounts)

    def _starts(self, k: int, penalty: Penalty) -> list[Prior]:
        if isinstance(self.settings.init, Prior):
            d = len(self.covariance)
            require(
                self.settings.init.n_features == d,
                f"init has {self.settings.init.n_features} columns, but {d} columns of the table "
                "have observed values.",
            )
            scaling = self.training.scaling
            return [self.settings.init.in_units(scaling.scales, scaling.centres)]
        return [
            self._clustered_start(k, penalty) for _ in range(1 if k == 1 else self.settings.n_init)
        ]

    def _clustered_start(self, k: int, penalty: Penalty) -> Prior:
        """Start from k-means clusters of completed rows, seeded as k-means++ does."""
        numbers, categories = self.completed, self.categories
        shares = np.ones(len(numbers)) if self.weights is None else self.weights
        points = numbers
        if categories is not None:
            points = np.hstack([numbers, *categories.indicators()])
        labels, centres = cluster_rows(points, self.weights, k, self.rng)
        d = numbers.shape[1]
        centres = centres[:, :d]
        totals = np.bincount(labels, shares, k)
        firsts, seconds = np.zeros((k, d)), np.zeros((k, d, d))
        for c in range(k):
            offsets = numbers[labels == c] - centres[c]
            weighted = offsets * shares[labels == c, None]
            firsts[c], seconds[c] = weighted.sum(axis=0), weighted.T @ offsets
        around = Prior(np.full(k, 1 / k), centres, seconds)
        counts = () if categories is None else categories.counts(labels, shares, k)
        moments = ExpectedMoments(0.0, totals.astype(np.float64), firsts, seconds, counts)
        start = penalty.maximised(around, moments)
        # No component starts without any weight, or EM could never give it some.
        fair = (start.weights * shares.sum() + 1) / (shares.sum() + k)
        return replace(start, weights=fair)


def share_of_volume(k: int, d: int) -> float:
    """Return the ratio of the covariance of one of k components to that of all rows."""
    return float(k ** (-2 / d))
