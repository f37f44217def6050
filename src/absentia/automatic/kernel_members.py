"""Kernel and linear members: linear models on features of beliefs.

Scaling, density and features see no targets and are learned from all rows once. What remains of
cross-validation, the linear models without one fold or two, is solved in one batch
(:mod:`absentia.machines.search.left_out`). Widths and weights of masks are chosen on a sample of
the rows, penalties on all of them. Up to ``MOST_KERNEL_ROWS`` rows the features are those of the
Gram matrix, beyond it random Fourier features, as many as validation on growing samples supports.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression as LinearLogisticRegression
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline

from absentia.automatic.blending import Candidates, losses
from absentia.automatic.folds import DENSITY_ROWS, Folds, OutOfFold
from absentia.automatic.member_tuning import (
    FittedMember,
    LearningRows,
    MemberPlan,
    as_rows,
    rows_for,
)
from absentia.densities.fit_density import DensityLike, believe, fit_density
from absentia.features import FourierFeatures
from absentia.features.base import BeliefFeatures, BeliefMeans
from absentia.kernels.metric import resolve_gamma
from absentia.kernels.named_kernels import make_kernel
from absentia.machines import (
    KernelRidge,
    LargeScaleLogisticRegression,
    LargeScaleRidge,
    LogisticRegression,
)
from absentia.machines.search.left_out import Refits
from absentia.machines.validation import weight_of_kept
from absentia.predictions.wrapped_model import fit_weighted
from absentia.tables import FloatArray, IntArray, Table
from absentia.tables.known_limits import KeepsLimits

#: Beyond this many rows kernel members work on Fourier features.
MOST_KERNEL_ROWS = 2500
#: Rows on which widths and weights of masks are chosen (of Gram matrices), and penalties.
_SEARCH_ROWS, _POOL_ROWS = 500, 40_000
#: Up to this many rows all pairs of folds are left out together, else neighbours.
_THOROUGH_ROWS = 400
#: Numbers of Fourier features, tried on eight times the rows while the loss falls by this share.
_COMPONENTS, _WORTHWHILE = (256, 512, 1024), 0.005
#: Widths as steps of four around the scale of the columns.
_STEPS = 4.0 ** np.arange(-1.5, 2.0)
#: Added to the diagonal of a Gram matrix, relative to its mean: equal rows leave it singular.
_JITTER = 1e-9


class Key(NamedTuple):
    """A feature map: width, number of the mask weight, Fourier features (0 for a Gram matrix)."""

    gamma: float
    mask: int
    n_components: int


class Fits(NamedTuple):
    """Fits of a feature map to a pool of rows: at each penalty, without each of several sets.

    ``Z`` are the features of the pool, ``coefficients`` those at each penalty; the sets are the
    folds of all repeats, then pairs of folds. ``found`` and ``nested`` are losses as in
    :class:`~absentia.automatic.blending.Candidates`, of rows of the pool.
    """

    features: GramFeatures | BeliefFeatures
    Z: FloatArray
    penalties: tuple[float, ...]
    coefficients: list[FloatArray]
    found: FloatArray
    nested: list[FloatArray]


class GramFeatures:
    """Rows of the Cholesky factor of a Gram matrix: their inner products are the kernel."""

    def __init__(self, density: Any, gamma: float, mask_weight: Any, n_jobs: int | None):
        self.density, self.n_jobs = density, n_jobs
        kernel = make_kernel("genrbf", gamma, weight_of_kept(mask_weight, density))
        self.kernel = kernel.resolve(density.prior_)

    def fit_transform(self, table: Table) -> FloatArray:
        """Return the factor of the Gram matrix of these rows."""
        self.beliefs = believe(self.density, table)
        K = self.kernel(self.beliefs, n_jobs=self.n_jobs)
        K[np.diag_indices_from(K)] += _JITTER * K.diagonal().mean()
        self.factor: FloatArray = cholesky(K, lower=True)
        return self.factor

    def transform(self, table: Table) -> FloatArray:
        """Return the features of other rows."""
        K = self.kernel(believe(self.density, table), self.beliefs, n_jobs=self.n_jobs)
        return solve_triangular(self.factor, K.T, lower=True).T


@dataclass(frozen=True, eq=False)
class FeaturePlan(MemberPlan):
    """A linear model, logistic or ridge regression, on features of beliefs.

    ``before`` are the steps before the density; ``penalties`` are values of ``C`` for classes, of
    ``alpha`` for numbers, in increasing order. The ``masks`` are weights of the mask kernel: all
    are tried at the widths that the middle one chooses. Without ``is_kernel``, the features are
    the means of the beliefs.
    """

    before: tuple[Any, ...]
    density: DensityLike
    penalties: tuple[float, ...]
    is_kernel: bool = True
    masks: Sequence[Any] = (None,)
    n_jobs: int | None = None
    seed: int = 0
    most_kernel_rows: int = MOST_KERNEL_ROWS

    @property
    def takes_limits(self) -> bool:
        return isinstance(self.before[0], KeepsLimits)

    def run(self, folds: Folds, out: OutOfFold) -> None:
        begun = time.monotonic()
        trial = _Trial(self, folds)
        whole = folds.sample(_POOL_ROWS)
        n_components, pool = 0, folds.sample(_SEARCH_ROWS if self.is_kernel else _POOL_ROWS)
        if self.is_kernel and len(whole) > self.most_kernel_rows:
            # Widths for Fourier features are chosen by them: they approximate wide kernels better.
            pool = folds.sample(8 * _COMPONENTS[0])
            n_components = _COMPONENTS[0 if len(whole) > len(pool) else 1]
        middle = len(self.masks) // 2
        widths = trial.widths() if self.is_kernel else [1.0]
        search = {}
        for gamma in widths:
            key = Key(gamma, middle, n_components)
            search[key] = trial.fits(key, pool, self.penalties)
        chosen = trial.choose(search, pool)
        for key in {key for key, _ in chosen} if len(self.masks) > 1 else ():
            for mask in set(range(len(self.masks))) - {middle}:
                other = key._replace(mask=mask)
                search[other] = trial.fits(other, pool, self.penalties)
        chosen = trial.choose(search, pool)
        if len(whole) > len(pool):
            seconds = (time.monotonic() - begun) / len(search)
            folds.check(seconds * (len(whole) / len(pool)) ** (1 if n_components else 2))
            if n_components:  # as many as the first of the members needs
                folds.n_components = folds.n_components or trial.enough_components(*chosen[-1])
                n_components = folds.n_components
            # More rows move the penalty by a step of the grid at most.
            steps = [self.penalties.index(penalty) for _, penalty in chosen]
            near = self.penalties[max(0, min(steps) - 1) : max(steps) + 2]
            keys = [key._replace(n_components=n_components) for key, _ in chosen]
            search = {key: trial.fits(key, whole, near) for key in dict.fromkeys(keys)}
            chosen = [
                trial.choose({key: search[key]}, whole)[place] for place, key in enumerate(keys)
            ]
        out.fitted = trial.fitted(*chosen[-1])
        folds.check()
        for fold, (key, penalty) in enumerate(chosen[:-1]):
            trial.predict(fold, search[key], penalty, whole, out)


class _Trial:
    """A plan on its rows: steps and density learned from all of them, features and fits."""

    def __init__(self, plan: FeaturePlan, folds: Folds):
        self.plan, self.folds = plan, folds
        self.rows: LearningRows = folds.rows.seen_by(plan.takes_limits, folds.density)
        self.before = make_pipeline(*map(clone, plan.before))
        self.table = self._prepared(self.rows.table, learn=True)
        if plan.density is not folds.settings.density:  # such as a mixture, by EM from the start
            folds.check(10 * folds.density_seconds)
        some = folds.sample(DENSITY_ROWS)
        weights = None if self.rows.weights is None else self.rows.weights[some]
        self.density: Any = fit_density(plan.density, self.table[some], weights)

    def widths(self) -> list[float]:
        """Return the widths to try."""
        scale = resolve_gamma("scale", self.density.prior_, "euclidean")
        return [float(width) for width in scale * _STEPS]

    def fits(self, key: Key, pool: IntArray, penalties: tuple[float, ...]) -> Fits:
        """Fit a map to a pool of rows, and the models on it without folds and pairs of folds."""
        self.folds.check()
        rows, features = self.rows[pool], self._features(key)
        Z = features.fit_transform(self.table[pool])
        tests = [np.flatnonzero(np.isin(pool, test)) for _, _, test in self.folds.splits]
        first = tests[: len(self.folds.first)]
        everything = np.arange(len(pool))
        pairs = list(combinations(range(len(first)), 2))
        if len(pool) > _THOROUGH_ROWS:  # each fold with the next
            pairs = [(a, b) for a, b in pairs if b - a in (1, len(first) - 1)]
        sets = [np.concatenate([first[a], first[b]]) for a, b in pairs]
        if not all(rows.can_train(np.setdiff1d(everything, each)) for each in sets):
            pairs, sets = [], []
        refits = Refits(Z, rows.y, rows.row_weights, rows.n_classes, [*tests, *sets])
        shape = (len(penalties), len(pool))
        found, nested = np.full(shape, np.nan), [np.full(shape, np.nan) for _ in first if pairs]
        coefficients: list[FloatArray] = []

        for k, penalty in enumerate(penalties):
            self.folds.check()
            coefficients.append(refits.fit(penalty, coefficients[-1] if coefficients else None))
            answers = rows.answers_of(refits.scores(coefficients[-1]))
            loss = losses(answers, rows.y, rows.task)
            for fold, test in enumerate(first):
                found[k, test] = loss[fold, test]
            for own, (a, b) in zip(loss[len(tests) :], pairs, strict=True):
                nested[a][k, first[b]] = own[first[b]]
                nested[b][k, first[a]] = own[first[a]]
        return Fits(features, Z, penalties, coefficients, found, nested)

    def choose(self, search: Mapping[Key, Fits], pool: IntArray) -> list[tuple[Key, float]]:
        """Return map and penalty for each fold of all repeats, and last those for new rows."""
        all_fits = list(search.values())
        candidates = Candidates(
            np.concatenate([fits.found for fits in all_fits]),
            None if self.rows.weights is None else self.rows.weights[pool],
            [np.concatenate(parts) for parts in zip(*(f.nested for f in all_fits), strict=True)],
        )
        places = [
            candidates.for_fold(fold, np.flatnonzero(np.isin(pool, test)))
            for fold, (_, _, test) in enumerate(self.folds.splits)
        ]
        pairs = [(key, penalty) for key, fits in search.items() for penalty in fits.penalties]
        return [pairs[place] for place in [*places, candidates.without([])]]

    def enough_components(self, key: Key, *penalties: float) -> int:
        """Return how many Fourier features lower the loss, each number on eight times the rows."""
        for fewer, more in pairwise(_COMPONENTS):
            pool = self.folds.sample(8 * more)
            if len(pool) < 4 * more:
                return fewer
            few, many = (
                np.nanmean(self.fits(key._replace(n_components=n), pool, penalties).found)
                for n in (fewer, more)
            )
            if many > (1 - _WORTHWHILE) * few:
                return fewer
        return _COMPONENTS[-1]

    def fitted(self, key: Key, penalty: float) -> FittedMember:
        """Return the member with these parameters, fitted to all rows."""
        plan, rows = self.plan, self.rows
        shared: dict[str, Any] = {}
        steps, table = self.before.steps, cast("Any", self.table)
        kinds: tuple[Any, Any] = Ridge, LinearLogisticRegression
        if plan.is_kernel:
            kinds = (KernelRidge, LogisticRegression)
            shared |= {"gamma": key.gamma, "mask_weight": plan.masks[key.mask]}
            shared |= {"density": FrozenEstimator(self.density), "n_jobs": plan.n_jobs}
        else:
            means = self._features(key)
            table, steps = means.fit_transform(table), [*steps, ("means", means)]
        if key.n_components:
            kinds = (LargeScaleRidge, LargeScaleLogisticRegression)
            shared |= {"n_components": key.n_components, "random_state": plan.seed}
        if rows.n_classes is not None:
            machine = kinds[1](C=penalty, tol=1e-4, **shared)
        else:
            shared |= {} if kinds[0] is KernelRidge else {"fit_intercept": False}
            machine = kinds[0](alpha=penalty, **shared)
        fit_weighted(machine, table, rows.y, rows.weights)
        model = Pipeline([*steps, ("machine", machine)])
        return FittedMember(plan.name, model, plan.averages, rows.n_classes)

    def predict(
        self, fold: int, fits: Fits, penalty: float, pool: IntArray, out: OutOfFold
    ) -> None:
        """Predict the rows of a fold, as they are and with more hidden."""
        folds = self.folds
        coefficients = fits.coefficients[fits.penalties.index(penalty)][fold]
        for level, rows in folds.rows_to_predict(fold):
            at = np.searchsorted(pool, rows).clip(max=len(pool) - 1)
            if level == 0 and (pool[at] == rows).all():
                Z = fits.Z[at]
            else:
                Z = fits.features.transform(self._prepared(folds.tables[level][rows]))
            scores = Z @ coefficients[:-1] + coefficients[-1]
            out.add(fold, level, rows, self.rows.answers_of(scores))

    def _prepared(self, table: Table, *, learn: bool = False) -> Table:
        """Return rows after the steps before the density."""
        if not learn:
            table = rows_for(self.plan.takes_limits, table, self.folds.density)
        taken = table if self.plan.takes_limits else table.array
        return as_rows(self.before.fit_transform(taken) if learn else self.before.transform(taken))

    def _features(self, key: Key) -> GramFeatures | BeliefFeatures:
        plan, density = self.plan, FrozenEstimator(self.density)
        if not plan.is_kernel:
            return BeliefMeans(density=density)
        own: Any = {"gamma": key.gamma, "mask_weight": plan.masks[key.mask], "n_jobs": plan.n_jobs}
        if not key.n_components:
            return GramFeatures(self.density, **own)
        return FourierFeatures(key.n_components, density=density, random_state=plan.seed, **own)
