"""Factor analysis for an incomplete table, and the choice of the number of factors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

import absentia.parameters as rules
from absentia.beliefs import LowRankPrior
from absentia.beliefs.conditioning import joint_log_densities, log_normalised
from absentia.densities.em.ascent import (
    Ascent,
    Steps,
    climb_or_refuse,
    heaviest_first,
    search_number,
)
from absentia.densities.em.factor_steps import (
    FactorCoordinates,
    FactorExpectation,
    FactorMoments,
    FactorPenalty,
    factor_start,
)
from absentia.densities.em.scaling import pair_sums
from absentia.densities.em.streamed_rows import StreamedRows
from absentia.densities.gaussian import EMDensity, shrinkage_in_rows
from absentia.densities.mixture_search import cluster_rows, share_of_volume
from absentia.densities.training_rows import TrainingRows
from absentia.parameters import (
    FloatMatrix,
    FloatStack,
    FloatVector,
    IntVector,
    RandomState,
    declared,
)
from absentia.tables import BoolArray, FloatArray, IntArray, Learned, Table, TableLike
from absentia.tables.streams import Stream


@declared
class LowRankDensity(EMDensity):
    """A few factors and independent noise, learned from incomplete rows.

    ``x = m + W z + e`` with ``q`` factors ``z ~ N(0, I)`` and noise ``e ~ N(0, diag(p))``: a
    Gaussian with covariance ``W W' + diag(p)`` (factor analysis), or a mixture of such. It has
    ``q + 2`` parameters per column where :class:`GaussianDensity` has ``(d + 3) / 2``, so that it
    can be learned from fewer rows than columns, and everything is computed with matrices of
    ``q x q``: EM, conditioning, and the Gram matrices of :class:`ExpectedRBF` and
    :class:`GenRBF`. The density to use on tables with a hundred columns and more.

    The objective is that of :class:`GaussianDensity`, maximised over such covariances by EM. Of
    values with limits (see :func:`absentia.bounded`) intervals count as their middle and the
    others as missing.

    Parameters
    ----------
    n_factors : int or "auto", default="auto"
        "auto" tries 1, 2, 3, 4, 6, 8, 11, 16, ... and keeps the number under which rows that were
        left out are likeliest, the least likely tenth of them aside: three folds, or one third of
        a table of more than 262 144 values. It stops when two consecutive numbers were no better.
        There are never more factors than columns.
    max_factors : int, default=32
        Used with ``n_factors="auto"`` only.
    n_components : int, default=1
        Components of a mixture, each with a mean, factors and noise of its own.
    shrinkage : "auto" or float from 0 to 1, default="auto"
        How far to shrink correlations, as in :class:`GaussianDensity`.
    pooling : "auto" or float, default="auto"
        For mixtures: how many rows with the covariance of all rows together count towards each
        component; "auto" is the number of factors and two.
    reg_covar : float, default=1e-6
        Added to each variance, relative to it, and the least share of a column that is noise.
    max_iter : int, default=200
        The largest number of steps of EM.
    tol : float, default=1e-3
        Stop when a step changes no mean, no loading and no root of a noise by more than this, in
        units of the columns' standard deviations, nor by more than a hundred times this in units
        of the noise of the column.
    random_state : int, RandomState instance or None, default=None
        Draws the folds of ``n_factors="auto"`` and the starts of a mixture. One component with a
        given number of factors needs none.
    accelerate, margins, verbose
        As in :class:`GaussianDensity`.

    Attributes
    ----------
    means_ : ndarray of shape (n_components, len(columns_))
    loadings_ : ndarray of shape (n_components, len(columns_), n_factors_)
        ``W``, determined up to a rotation of the factors.
    noises_ : ndarray of shape (n_components, len(columns_))
        ``p``.
    weights_ : ndarray of shape (n_components,)
    prior_ : LowRankPrior
        All of them, as the value that beliefs and kernels work with. In scores, where there are
        margins.
    n_factors_ : int
    tried_factors_ : ndarray of int
        The numbers of factors that were tried.
    held_out_ : ndarray
        For each of these, the mean log-likelihood of the rows that were left out, without the
        lowest tenth, in standard units; empty where ``n_factors`` is given.
    log_likelihoods_ : ndarray of shape (n_iter_,)
        The objective after each step, in the table's units; it never falls.
    margins_, columns_, shrinkage_, n_iter_, converged_, n_features_in_, feature_names_in_
        As in :class:`GaussianDensity`.

    Notes
    -----
    A step costs O(q^2) per row and column and O(q^3) per pattern: at 1500 rows, 600 columns and 20
    factors about a tenth of a second. The covariance is kept as a dense matrix beside the factors,
    for what needs it, so memory is O(d^2).

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LowRankDensity
    >>> rng = np.random.default_rng(0)
    >>> loadings = rng.normal(size=(100, 3))
    >>> X = rng.normal(size=(60, 3)) @ loadings.T + rng.normal(size=(60, 100))
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> density = LowRankDensity(random_state=0).fit(X)
    >>> density.n_factors_
    3
    """

    name = "low-rank"
    _rules: ClassVar[dict[str, rules.Rule]] = {
        "n_factors": rules.COUNT | rules.words("auto"),
        "max_factors": rules.COUNT,
        "n_components": rules.COUNT,
        "pooling": rules.words("auto")
        | rules.number_between(0, expected="a non-negative number of rows"),
    }

    means_: FloatMatrix = field(init=False)
    loadings_: FloatStack = field(init=False)
    noises_: FloatMatrix = field(init=False)
    weights_: FloatVector = field(init=False)
    n_factors_: int = field(init=False)
    tried_factors_: IntVector = field(init=False)
    held_out_: FloatVector = field(init=False)

    n_factors: int | Literal["auto"] = field(default="auto", kw_only=False)
    max_factors: int = 32
    n_components: int = 1
    pooling: float | Literal["auto"] = "auto"
    max_iter: int = 200
    tol: float = 1e-3
    random_state: RandomState = None

    def _climb(self, training: TrainingRows | StreamedRows) -> tuple[Learned, Ascent, float]:
        search = FactorSearch(training, self)
        tried, held_out = np.empty(0, dtype=np.intp), np.empty(0)
        if self.n_factors == "auto":
            number, tried, held_out = search.best_number(self.max_factors)
        else:
            number = min(int(self.n_factors), max(1, len(training.columns)))
        fitted, ascent = search.fit(number)
        prior = fitted.scaled(training.scaling.scales, training.scaling.centres)
        learned = {
            "prior_": prior,
            "weights_": prior.weights,
            "means_": prior.means,
            "loadings_": prior.loadings,
            "noises_": prior.noises,
            "n_factors_": prior.n_factors,
            "tried_factors_": tried,
            "held_out_": held_out,
        }
        return learned, ascent, search.shrinkage

    def _training_table(self, X: TableLike, sample_weight: ArrayLike | None) -> Table | Stream:
        rows = super()._training_table(X, sample_weight)
        if not isinstance(rows, Table) or rows.lower is None:
            return rows
        warnings.warn(
            "LowRankDensity does not learn from limits: values with one limit, such as '<0.5', "
            "count as missing, and intervals as their midpoints. To use the limits, set "
            "density='gaussian'.",
            stacklevel=4,
        )
        return rows.without_limits()

    def _open(self, X: TableLike) -> Table | Stream:
        rows = super()._open(X)
        return rows.without_limits() if isinstance(rows, Table) else rows

    def _n_parameters(self) -> int:
        prior = self.prior_
        assert isinstance(prior, LowRankPrior)
        k, d, q = prior.loadings.shape
        rotations = min(q, d) * (min(q, d) - 1) // 2
        return k - 1 + k * (2 * d + d * min(q, d) - rotations)


_FOLDS = 3
# Values of a table from which on one fold alone says which number of factors is best.
_ENOUGH_VALUES = 2**18
# The share of rows left out that are too unlikely to count.
_TRIMMED = 0.1
# Steps and tolerance while numbers of factors are compared, which are far apart.
_TRIAL_STEPS, _TRIAL_TOLERANCE = 25, 1e-3


class FactorSearch:
    """Training rows, prepared once for all numbers of factors."""

    def __init__(self, training: TrainingRows | StreamedRows, settings: LowRankDensity):
        self.training = training
        self.settings = settings
        self.reg_covar = float(settings.reg_covar)
        self.rng = check_random_state(settings.random_state)
        self.shrinkage = (
            training.automatic_shrinkage()
            if settings.shrinkage == "auto"
            else float(settings.shrinkage)
        )

    def fit(self, n_factors: int) -> tuple[LowRankPrior, Ascent]:
        """Fit one component, then as many as asked from its clusters."""
        sample = self.training.sampled()
        n_rows, k = len(sample.Z), self.settings.n_components
        rules.require(
            k <= n_rows,
            f"A mixture needs at least one row per component, found n_components = {k} and "
            f"n_samples = {n_rows} (rows in which anything was observed).",
        )
        expectation = self.training.factor_expectation()
        total, steps = self.training.total_weight, self.settings._steps
        correlations = _correlations(sample.Z, sample.weights)
        whole = self._one_component(expectation, correlations, n_factors, total, steps)
        return whole if k == 1 else self._mixture(expectation, whole[0], sample)

    def best_number(self, max_factors: int) -> tuple[int, IntArray, FloatArray]:
        """Choose the number of factors by the likelihood of rows that were left out.

        The tenth of the rows that is least likely does not count. Returns the number, those that
        were tried, and the mean log-likelihood per row of each.
        """
        sample = self.training.sampled()
        Z, weights = sample.Z, np.ones(len(sample.Z)) if sample.weights is None else sample.weights
        fold_of_row = self.rng.permutation(len(Z)) % min(_FOLDS, len(Z))
        most = max(1, min(max_factors, Z.shape[1] - 1, len(Z) - 1))
        folds = [fold_of_row == fold for fold in range(1 if Z.size > _ENOUGH_VALUES else _FOLDS)]
        scores = [self._left_out(Z, weights, out) for out in folds if 0 < out.sum() < len(Z)]
        numbers = np.array(_numbers_up_to(most))
        best, found = search_number(numbers, lambda q: sum(score(q) for score in scores))
        held = sum(float(weights[out].sum()) for out in folds if 0 < out.sum() < len(Z))
        return int(numbers[best]), numbers[: len(found)], found / max(held, 1.0)

    def _left_out(
        self, Z: FloatArray, weights: FloatArray, out: BoolArray
    ) -> Callable[[int], float]:
        """Return the log-likelihood of some rows by the number of factors of the others."""
        # A column that no row to learn from has says nothing about the number of factors.
        known = (~np.isnan(Z[~out])).any(axis=0)
        learned, held = (np.ascontiguousarray(Z[rows][:, known]) for rows in (~out, out))
        own = weights[~out]
        expectation, correlations = FactorExpectation(learned, own), _correlations(learned, own)
        max_iter, tol, accelerate = self.settings._steps
        steps = Steps(min(_TRIAL_STEPS, max_iter), max(_TRIAL_TOLERANCE, tol), accelerate)

        def score(n_factors: int) -> float:
            total = float(own.sum())
            prior, _ = self._one_component(expectation, correlations, n_factors, total, steps)
            scored = log_normalised(joint_log_densities(prior, held))[1]
            return _trimmed_sum(scored, weights[out])

        return score

    def _one_component(
        self,
        expectation: Callable[[LowRankPrior], FactorMoments],
        correlations: FloatArray,
        n_factors: int,
        total: float,
        steps: Steps,
    ) -> tuple[LowRankPrior, Ascent]:
        d = len(correlations)
        strength = shrinkage_in_rows(self.shrinkage, total)
        pull = 0.0 if np.isinf(strength) else strength
        diagonal = np.full(d, pull + self.reg_covar * total)
        penalty = FactorPenalty(strength, diagonal, np.zeros((d, 0)), self.reg_covar)
        if np.isinf(strength):  # nothing but independent columns, from the first step on
            correlations = np.zeros((d, d))
        start = factor_start(correlations, n_factors, self.reg_covar)
        coordinates = FactorCoordinates(1, d, start.n_factors, penalty.floor)
        return climb_or_refuse(expectation, penalty, coordinates, start, steps)

    def _mixture(
        self,
        expectation: Callable[[LowRankPrior], FactorMoments],
        whole: LowRankPrior,
        sample: TrainingRows,
    ) -> tuple[LowRankPrior, Ascent]:
        k, (_, d, q) = self.settings.n_components, whole.loadings.shape
        total = self.training.total_weight
        strength = shrinkage_in_rows(self.shrinkage, total) / k
        pooled = q + 2.0 if self.settings.pooling == "auto" else float(self.settings.pooling)
        volume = share_of_volume(k, d)
        pull = 0.0 if np.isinf(strength) else strength
        diagonal = volume * (pull + pooled * whole.noises[0]) + self.reg_covar * total / k
        roots = np.sqrt(volume * pooled) * whole.loadings[0]
        penalty = FactorPenalty(strength + pooled, diagonal, roots, self.reg_covar * volume)
        completed, weights, _ = sample.completed(whole)
        labels, centres = cluster_rows(completed, weights, k, self.rng)
        counts = np.bincount(labels, weights, k) + 1.0
        loadings = np.repeat(whole.loadings, k, axis=0) * np.sqrt(volume)
        noises = np.maximum(np.repeat(whole.noises, k, axis=0) * volume, penalty.floor)
        noises = np.ones((k, d)) if np.isinf(strength) else noises
        start = LowRankPrior.of(counts / counts.sum(), centres, loadings, noises)
        coordinates = FactorCoordinates(k, d, q, penalty.floor)
        steps = self.settings._steps
        prior, ascent = climb_or_refuse(expectation, penalty, coordinates, start, steps)
        return heaviest_first(prior), ascent


def _trimmed_sum(scores: FloatArray, weights: FloatArray) -> float:
    """Return the sum of all scores but the lowest tenth.

    A column that hardly varies in some folds and does in others makes rows that no number of
    factors expects; their log-likelihoods of minus millions would make the choice alone.
    """
    order = np.argsort(scores)
    shares = weights[order]
    kept = np.cumsum(shares) > _TRIMMED * shares.sum()
    return float(scores[order][kept] @ shares[kept])


def _correlations(Z: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the mean products of pairs of columns over the rows that have both."""
    counts, _, _, products = pair_sums(Z, weights)
    return products / np.where(counts > 0, counts, 1.0)


def _numbers_up_to(most: int) -> list[int]:
    """Return 1, 2, 3, 4, 6, 8, 11, 16, 23, ... up to ``most``: steps of about 1.4."""
    numbers = [1, 2, 3, 4]
    while numbers[-1] < most:
        numbers.append(round(4 * 2 ** ((len(numbers) - 3) / 2)))
    return [q for q in numbers if q <= most]
