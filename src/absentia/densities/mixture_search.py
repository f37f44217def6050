"""Search for a mixture: starts from clusters of rows, and the number of components by BIC."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state

from absentia.beliefs import Prior
from absentia.densities.em.ascent import Ascent, Penalty, climb
from absentia.densities.em.expectation import ExpectedMoments
from absentia.densities.em.streamed_rows import StreamedRows
from absentia.densities.gaussian import fit_gaussian, shrinkage_in_rows
from absentia.densities.training_rows import SINGULAR, TrainingRows
from absentia.parameters import require
from absentia.tables import FloatArray, IntArray

if TYPE_CHECKING:
    from absentia.densities.mixture import MixtureDensity

_LLOYD_ROUNDS = 10
# Rows are clustered by this many of the categories of a column, the most frequent ones.
_MOST_INDICATORS = 50


@dataclass(frozen=True, eq=False)
class RowCategories:
    """Categories of rows, with the frequencies of all rows where they are missing.

    Attributes
    ----------
    codes : ndarray of int, shape (n_rows, n_columns)
        -1 where a category is missing.
    marginals : tuple of ndarray of shape (n_categories,)
    """

    codes: IntArray
    marginals: tuple[FloatArray, ...]

    def indicators(self) -> list[FloatArray]:
        """Return probabilities of frequent categories, at most 50 per column, (n_rows, ...)."""
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

    def of_rows(self, rows: IntArray) -> tuple[FloatArray, ...]:
        """Return the probabilities of all categories of a few rows, (len(rows), n_categories)."""
        found = []
        for column, marginal in zip(self.codes[rows].T, self.marginals, strict=True):
            known = (column[:, None] == np.arange(len(marginal))).astype(np.float64)
            found.append(np.where(column[:, None] >= 0, known, marginal))
        return tuple(found)


def clustered_start(
    completed: FloatArray,
    weights: FloatArray | None,
    n_components: int,
    penalty: Penalty,
    rng: np.random.RandomState,
    categories: RowCategories | None = None,
) -> Prior:
    """Start from k-means clusters of completed rows, seeded as k-means++ does."""
    shares = np.ones(len(completed)) if weights is None else weights
    numbers = completed
    if categories is not None:
        completed = np.hstack([completed, *categories.indicators()])
    labels, centres = cluster_rows(completed, weights, n_components, rng)
    d = numbers.shape[1]
    centres = centres[:, :d]
    totals = np.bincount(labels, shares, n_components)
    firsts, seconds = np.zeros((n_components, d)), np.zeros((n_components, d, d))
    for c in range(n_components):
        offsets = numbers[labels == c] - centres[c]
        weighted = offsets * shares[labels == c, None]
        firsts[c], seconds[c] = weighted.sum(axis=0), weighted.T @ offsets
    around = Prior(np.full(n_components, 1 / n_components), centres, seconds)
    counts = () if categories is None else categories.counts(labels, shares, n_components)
    moments = ExpectedMoments(0.0, totals.astype(np.float64), firsts, seconds, counts)
    start = penalty.maximised(around, moments)
    # No component starts without any weight, or EM could never give it some.
    fair = (start.weights * shares.sum() + 1) / (shares.sum() + n_components)
    return replace(start, weights=fair)


def cluster_rows(
    completed: FloatArray,
    weights: FloatArray | None,
    n_components: int,
    rng: np.random.RandomState,
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


def scattered_start(
    completed: FloatArray,
    weights: FloatArray | None,
    n_components: int,
    covariance: FloatArray,
    rng: np.random.RandomState,
    categories: RowCategories | None = None,
) -> Prior:
    """Start from rows drawn at random, all components with the same covariance.

    A component's categories are half those of its row and half those of all rows.
    """
    share = None if weights is None else weights / weights.sum()
    few = len(completed) < n_components
    rows = rng.choice(len(completed), n_components, replace=few, p=share)
    covariances = np.repeat(covariance[None], n_components, axis=0)
    even = np.full(n_components, 1 / n_components)
    probabilities: tuple[FloatArray, ...] = ()
    if categories is not None:
        pairs = zip(categories.of_rows(rows), categories.marginals, strict=True)
        probabilities = tuple((own + marginal) / 2 for own, marginal in pairs)
    return Prior(even, completed[rows], covariances, probabilities)


def _nearest(X: FloatArray, centres: FloatArray) -> IntArray:
    nearest: IntArray = ((centres**2).sum(axis=1) - 2 * X @ centres.T).argmin(axis=1)
    return nearest


_TRIAL_STEPS = 20  # steps of each start; the best of them goes on


@dataclass(frozen=True, eq=False)
class FittedMixture:
    """A mixture in standard units, and how it was found."""

    prior: Prior
    ascent: Ascent
    bic: float


class MixtureSearch:
    """Training rows, prepared once for all mixtures that are fitted to them.

    Parameters
    ----------
    training : TrainingRows or StreamedRows
    settings : MixtureDensity
        Its parameters, which have been checked.
    """

    def __init__(self, training: TrainingRows | StreamedRows, settings: MixtureDensity):
        self.training = training
        self.settings = settings
        self.rng = check_random_state(settings.random_state)
        whole, _, self.shrinkage = fit_gaussian(
            training,
            # Categories alone have one number with a fixed density.
            settings.shrinkage if len(training.columns) else 1.0,
            float(settings.reg_covar),
            max_iter=settings.max_iter,
            tol=settings.tol,
            n_jobs=settings.n_jobs,
        )
        self.covariance: FloatArray = whole.covariances[0]
        self.completed, self.weights, codes = training.completed(whole)
        self.n_rows = len(self.completed)
        if self.weights is not None:
            self.n_rows = int(np.count_nonzero(self.weights))
        # Only MixedDensity has categories, and a parameter ``smoothing``.
        self.pseudocounts = tuple(settings.smoothing * shares for shares in training.marginals)
        self.categories = None if codes is None else RowCategories(codes, training.marginals)
        self.expectation = training.expectation(sum_patterns=False, n_jobs=settings.n_jobs)

    def best_by_bic(self, max_components: int) -> tuple[FittedMixture, FloatArray]:
        """Try one component, two, ... until two consecutive additions bring no improvement."""
        fitted: list[FittedMixture] = []
        best = 0
        for k in range(1, min(max_components, self.n_rows) + 1):
            fitted.append(self.fit(k))
            if fitted[-1].bic < fitted[best].bic:
                best = k - 1
            if k - 1 - best == 2:
                break
        return fitted[best], np.array([mixture.bic for mixture in fitted])

    def fit(self, k: int) -> FittedMixture:
        """Fit ``k`` components: a few steps from every start, then the best to the end."""
        require(
            k <= self.n_rows,
            f"A mixture needs at least one row per component, found n_components = {k} and "
            f"n_samples = {self.n_rows} (rows in which anything was observed). Use fewer "
            "components, or n_components='bic'.",
        )
        penalty = self._penalty(k)
        starts = self._starts(k, penalty)
        trial = (
            self.settings.max_iter
            if len(starts) == 1
            else min(_TRIAL_STEPS, self.settings.max_iter)
        )
        best: tuple[Prior, Ascent] | None = None
        for start in starts:
            outcome = self._climb(penalty, start, trial)
            if outcome is not None and (
                best is None or outcome[1].objectives[-1] > best[1].objectives[-1]
            ):
                best = outcome
        require(best is not None, SINGULAR)
        assert best is not None
        prior, ascent = best
        left = self.settings.max_iter - len(ascent.objectives)
        if not ascent.converged and left > 0:
            further = self._climb(penalty, ascent.parameters, left)
            assert further is not None  # its start has been evaluated before
            prior, rest = further
            objectives = np.concatenate([ascent.objectives, rest.objectives])
            ascent = Ascent(rest.parameters, objectives, rest.residual, rest.ending)
        log_likelihood = (
            float(ascent.objectives[-1]) + penalty.value(prior) + self.training.log_jacobian
        )
        bic = (
            n_parameters(prior, len(self.training.columns))
            * float(np.log(self.training.total_weight))
            - 2 * log_likelihood
        )
        if not isinstance(self.settings.init, Prior):
            prior = _heaviest_first(prior)
        return FittedMixture(prior, ascent, bic)

    def _climb(
        self, penalty: Penalty, start: Prior | FloatArray, max_iter: int
    ) -> tuple[Prior, Ascent] | None:
        return climb(
            self.expectation,
            penalty,
            start,
            max_iter=max_iter,
            tol=self.settings.tol,
            accelerate=self.settings.accelerate,
        )

    def _penalty(self, k: int) -> Penalty:
        d = len(self.covariance)
        if not len(self.training.columns):  # categories alone: their one number has a fixed density
            return Penalty(np.inf, np.eye(d), 0.0, self.pseudocounts)
        total = self.training.total_weight
        independent = shrinkage_in_rows(self.shrinkage, total) / k
        pooled = d + 2.0 if self.settings.pooling == "auto" else float(self.settings.pooling)
        strength = independent + pooled
        if np.isinf(strength):
            target = np.eye(d)
        elif strength > 0:
            target = (independent * np.eye(d) + pooled * self.covariance) / strength
        else:
            target = np.zeros((d, d))
        volume = _share_of_volume(k, d)
        return Penalty(
            strength, volume * target, float(self.settings.reg_covar) * total / k, self.pseudocounts
        )

    def _starts(self, k: int, penalty: Penalty) -> list[Prior]:
        if isinstance(self.settings.init, Prior):
            d = len(self.covariance)
            require(
                self.settings.init.n_features == d,
                f"init has {self.settings.init.n_features} columns, but {d} columns of the table "
                "have observed values.",
            )
            return [self.training.scaling.forward_prior(self.settings.init)]
        n_starts = 1 if k == 1 else self.settings.n_init
        if self.settings.init == "kmeans":
            return [
                clustered_start(self.completed, self.weights, k, penalty, self.rng, self.categories)
                for _ in range(n_starts)
            ]
        covariance = _share_of_volume(k, len(self.covariance)) * self.covariance
        return [
            scattered_start(self.completed, self.weights, k, covariance, self.rng, self.categories)
            for _ in range(n_starts)
        ]


def n_parameters(prior: Prior, n_numbers: int | None = None) -> int:
    """Return the number of free parameters of a mixture; ``n_numbers=0`` for categories alone."""
    k, d = prior.n_components, prior.n_features if n_numbers is None else n_numbers
    free_categories = sum(prior.n_categories) - len(prior.n_categories)
    return k - 1 + k * d + k * d * (d + 1) // 2 + k * free_categories


def _heaviest_first(prior: Prior) -> Prior:
    """Put the components into an order that does not depend on the start."""
    order = np.argsort(-prior.weights, kind="stable")
    return replace(
        prior,
        weights=prior.weights[order],
        means=prior.means[order],
        covariances=prior.covariances[order],
        probabilities=tuple(table[order] for table in prior.probabilities),
    )


def _share_of_volume(k: int, d: int) -> float:
    """Return the ratio of the covariance of one of k components to that of all rows."""
    return float(k ** (-2 / d))
