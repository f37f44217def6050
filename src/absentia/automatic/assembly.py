"""From a table to a committee: try members, choose their weights, and score the average."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from absentia.automatic.blending import blend_weights, fit_temperature, tempered
from absentia.automatic.committee import (
    Committee,
    MemberTable,
    MissingNorm,
    answer_with_holes,
    hide_cells,
    summarise,
)
from absentia.automatic.member_specs import (
    Settings,
    expected_seconds,
    plan_members,
    quick_first,
)
from absentia.automatic.member_tuning import FittedMember, LearningRows, MemberPlan, SearchPlan
from absentia.automatic.nested_selection import Candidates, Splits
from absentia.beliefs.draws import DrawPoints
from absentia.densities import GaussianDensity
from absentia.densities.fit_density import DensityLike, fit_density, shared_fits
from absentia.hidden_warnings import hidden_warnings
from absentia.progress import progress_bar, report
from absentia.tables import FloatArray, Table

_DRAWS = 32
#: Rows with more hidden are scored on a sample of this size, smaller in wide tables: the cost of
#: such a row grows at least with the square of its columns.
_MOST_HIDDEN_ROWS, _MOST_HIDDEN_CELLS = 600, 120_000
#: The share of the time for trying members; the rest is for weights and the unforeseen.
_SHARE_FOR_MEMBERS = 0.9
#: Columns from which the density of a table is fitted to fewer digits: 5 steps instead of 45 on 480
#: rows of 590 columns, and an objective that is lower by 0.1 per row of 193.
_WIDE, _TOL_OF_WIDE = 100, 1e-2
_LATE = "left out, the time was up"


@dataclass(frozen=True)
class Plan:
    """The parameters of an automatic machine."""

    members: Any
    weighting: str
    density: DensityLike
    hidden: tuple[float, ...]
    n_splits: int
    n_repeats: int
    time_budget: float | None
    progress: bool
    n_jobs: int | None
    seed: int


@dataclass(frozen=True, eq=False)
class HiddenLevels:
    """The same rows with more and more cells hidden; the first level hides nothing.

    Attributes
    ----------
    shares : tuple of float
        Share of the observed cells that is hidden at each level.
    tables : tuple of Table, each of shape (n_samples, n_features)
    judged : ndarray of bool, shape (n_samples,)
        The rows that are scored at the levels that hide something: a sample of many.
    """

    shares: tuple[float, ...]
    tables: tuple[Table, ...]
    judged: np.ndarray

    @classmethod
    def of(cls, table: Table, shares: tuple[float, ...], most_rows: int, seed: int) -> HiddenLevels:
        """Hide cells at random, more at each level."""
        tables = (table, *(hide_cells(table, share, seed) for share in shares))
        judged = np.zeros(len(table), dtype=bool)
        judged[np.random.default_rng(seed).permutation(len(table))[:most_rows]] = True
        return cls((0.0, *shares), tables, judged)


class Folds:
    """Repeated folds of training rows, with a density per fold that is fitted when needed."""

    def __init__(
        self,
        rows: LearningRows,
        repeats: list[Splits],
        levels: HiddenLevels,
        norm: MissingNorm,
        density: DensityLike,
        points: DrawPoints,
    ):
        self.rows, self.levels, self.norm, self.points = rows, levels, norm, points
        self.splits = [
            (repeat, train, test) for repeat, splits in enumerate(repeats) for train, test in splits
        ]
        self.first = repeats[0]
        self._density = density
        self._densities: dict[int, BaseEstimator] = {}

    def __len__(self) -> int:
        """Return how many fits a member takes."""
        return len(self.splits)

    def add_predictions(
        self, candidates: Candidates, fold: int, sums: FloatArray, counts: FloatArray
    ) -> None:
        """Fit a member to one fold, and add its predictions of the held-out rows.

        The candidate is the one that all rows but the held-out ones would choose. ``sums`` of
        predictions (n_levels, n_samples, n_outputs) and their ``counts`` (n_levels, n_samples)
        are added to.
        """
        repeat, train, test = self.splits[fold]
        candidate = candidates.for_fold(fold, test)
        plan = candidates.plan_of(candidate)
        rows, centre = self.rows[train].centred()
        limited = rows.table.lower is not None
        density = self._density_of(fold) if plan.averages or limited else None
        # A fit of the search saw means within limits that come from the density of all rows.
        member = None if limited else candidates.fits.get((candidate, fold))
        if member is None:
            member = plan.fitted(rows.seen_by(plan.takes_limits, density))
        for level, table in enumerate(self.levels.tables):
            if level and repeat:
                break  # once is enough for rows with more hidden
            some = test if level == 0 else test[self.levels.judged[test]]
            if not len(some):
                continue
            sums[level, some] += centre + answer_with_holes(
                member, table[some], self.norm, density, self.points
            )
            counts[level, some] += 1

    def _density_of(self, fold: int) -> BaseEstimator:
        if fold not in self._densities:
            train = self.splits[fold][1]
            self._densities[fold] = fit_density(self._density, self.rows.table[train])
        return self._densities[fold]


@dataclass(frozen=True, eq=False)
class Assembled:
    """A committee, the table of its members, and out-of-fold predictions by nested selection.

    ``out_of_fold`` has the shape (n_levels, n_samples, n_outputs), NaN for rows without one, and
    ``levels`` the rows that were predicted.
    """

    committee: Committee
    table: MemberTable
    out_of_fold: FloatArray
    levels: HiddenLevels


@dataclass(frozen=True, eq=False)
class Ground:
    """Members to try, and the folds, density and draws that they share."""

    plans: list[MemberPlan]
    folds: Folds
    norm: MissingNorm
    density: BaseEstimator
    points: DrawPoints


@dataclass(frozen=True, eq=False)
class Tried:
    """A member after it was tried, with a remark if it was left out.

    ``found`` are its out-of-fold predictions (n_levels, n_samples, n_outputs), and the member
    fitted to all rows. ``nested`` are the predictions of the first repeat alone, whose parameters
    were chosen without the targets of the fold: they score the average.
    """

    name: str
    description: str
    found: tuple[FloatArray, FittedMember] | None
    seconds: float
    remark: str
    nested: FloatArray | None = None


def make_splits(rows: LearningRows, n_splits: int, groups: ArrayLike | None, seed: int) -> Splits:
    """Return shuffled folds, stratified by class; rows of one group stay together.

    The only row of a class is in every training set, so that every fold has every class.
    """
    y, n = rows.y, len(rows.y)
    classifies = rows.n_classes is not None
    alone = np.zeros(n, dtype=bool)
    if classifies:
        counts = np.bincount(y, minlength=rows.n_classes or 0)
        alone = counts[y] < 2
        rarest = int(counts[counts > 1].min(initial=n))
        n_splits = min(n_splits, max(2, rarest))
    n_splits = max(2, min(n_splits, n))
    kind: type[BaseEstimator] = StratifiedKFold if classifies else KFold
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ValueError("groups has one group only: expected at least two, one per fold.")
        kind, n_splits = StratifiedGroupKFold if classifies else GroupKFold, min(n_splits, n_groups)
    splitter = kind(n_splits, shuffle=True, random_state=seed)
    with hidden_warnings("The least populated class"):
        found = list(splitter.split(np.zeros((n, 1)), y, groups))
    lonely = np.flatnonzero(alone)
    return [
        (np.union1d(train, lonely), np.setdiff1d(test, lonely))
        for train, test in found
        if len(np.setdiff1d(test, lonely))
    ]


def cut_folds(
    rows: LearningRows,
    plan: Plan,
    norm: MissingNorm,
    points: DrawPoints,
    groups: ArrayLike | None = None,
) -> Folds:
    """Return repeated folds, and the rows with cells hidden at every level."""
    most = min(_MOST_HIDDEN_ROWS, _MOST_HIDDEN_CELLS // max(1, rows.table.shape[1]))
    levels = HiddenLevels.of(rows.table, plan.hidden, max(100, most), plan.seed)
    repeats = [
        make_splits(rows, plan.n_splits, groups, plan.seed + repeat)
        for repeat in range(plan.n_repeats)
    ]
    return Folds(rows, repeats, levels, norm, plan.density, points)


def prepare(rows: LearningRows, plan: Plan, groups: ArrayLike | None = None) -> Ground:
    """Plan members, cut folds and hide cells; parameters as of :func:`assemble`."""
    plan = replace(plan, density=_density_for(rows, plan.density))
    plans = plan_members(plan.members, rows, Settings(plan.seed, plan.n_jobs, plan.density))
    norm = MissingNorm.of(rows.table.unknown)
    density = fit_density(plan.density, rows.table, rows.weights)
    n_columns = len(getattr(density, "columns_", range(rows.table.shape[1])))
    points = DrawPoints.sobol(_DRAWS, n_columns, plan.seed)
    return Ground(plans, cut_folds(rows, plan, norm, points, groups), norm, density, points)


def _density_for(rows: LearningRows, density: DensityLike) -> DensityLike:
    """Return the density that is fitted to the table and to every fold.

    On a wide table most steps of EM are for digits that no prediction shows, and they would take
    most of the time that members have.
    """
    wide = rows.table.shape[1] > _WIDE
    by_name = isinstance(density, str) and density == "gaussian"
    return GaussianDensity(tol=_TOL_OF_WIDE) if wide and by_name else density


def assemble(rows: LearningRows, plan: Plan, groups: ArrayLike | None = None) -> Assembled:
    """Try the members, choose their weights at every level of hidden cells, and average them.

    Targets that are numbers are in units of their own spread. Rows of one group are never on both
    sides of a fold.
    """
    started = time.monotonic()
    ground = prepare(rows, plan, groups)
    folds, deadline = ground.folds, None
    order = list(range(len(ground.plans)))
    if plan.time_budget is not None:
        deadline = started + _SHARE_FOR_MEMBERS * plan.time_budget
        order = quick_first([member.name for member in ground.plans])
    tried: list[Tried] = []
    total = len(ground.plans) * (len(folds) + 1)
    # Members that begin with the same density, fitted to the same folds, share the fits.
    with shared_fits(), progress_bar(total, shown=plan.progress, title="automatic") as bar:
        for member in (ground.plans[k] for k in order):
            # The first member is tried whatever the budget: one is better than none. A later one
            # is not begun when it would probably come too late.
            taken = {each.name: each.seconds for each in tried if each.found}
            on_features = not isinstance(member, SearchPlan)
            seconds = expected_seconds(member.name, taken, on_features=on_features)
            ready = time.monotonic() + seconds
            if tried and deadline is not None and ready >= deadline:
                tried.append(Tried(member.name, member.description, None, 0.0, _LATE))
            else:
                tried.append(try_member(member, ground, bar, deadline if tried else None))
    tried = [tried[order.index(k)] for k in range(len(order))]  # in the order of the parameter
    usable = [k for k, member in enumerate(tried) if member.found is not None]
    found = [member.found for member in tried if member.found is not None]
    if not found:
        raise ValueError(f"No member could be fitted; the first one: {tried[0].remark}")
    answers = np.stack([own for own, _ in found])
    nested = np.stack([member.nested for member in tried if member.nested is not None])
    blended, weights, temperatures, excess = weigh(rows, plan.weighting, answers, folds, nested)
    kept = np.flatnonzero(weights.max(axis=0) > 0)
    members = tuple(found[k][1] for k in kept)
    all_weights = np.zeros((len(tried), len(excess)))
    all_weights[usable] = weights.T
    committee = Committee(
        members, excess, weights[:, kept], temperatures, ground.norm, ground.density, ground.points
    )
    table = summarise(rows, folds.levels.shares, tried, all_weights)
    return Assembled(committee, table, blended, folds.levels)


def try_member(member: Any, ground: Ground, bar: Any, deadline: float | None) -> Tried:
    """Tune a member, and let it predict the held-out rows of every fold."""
    started, folds = time.monotonic(), ground.folds

    def outcome(
        found: tuple[FloatArray, FittedMember] | None,
        remark: str,
        nested: FloatArray | None = None,
    ) -> Tried:
        seconds = time.monotonic() - started
        report("%s: %.1f s%s", member.name, seconds, f", {remark}" if remark else "")
        return Tried(member.name, member.description, found, seconds, remark, nested)

    n_outputs = folds.rows.n_classes or 1
    sums = np.zeros((len(folds.levels.tables), len(folds.rows.y), n_outputs))
    counts = np.zeros(sums.shape[:2])
    # A member that converges slowly, or a column that is constant in a fold, shows in its loss.
    with hidden_warnings():
        try:
            rows = folds.rows.seen_by(member.takes_limits, ground.density)
            candidates, fitted = member.tuned(rows, folds.first)
            bar.advance(member.name)
            if deadline is not None and time.monotonic() >= deadline:
                return outcome(None, _LATE)
            for fold in range(len(folds)):
                begun = time.monotonic()
                folds.add_predictions(candidates, fold, sums, counts)
                if fold == len(folds.first) - 1:
                    nested = np.where(counts[..., None] > 0, sums, np.nan)
                bar.advance(member.name)
                now = time.monotonic()
                left = len(folds.first) - fold - 1
                if deadline is not None and now + left * (now - begun) > deadline:
                    if left > 0:
                        return outcome(None, _LATE)
                    break  # further repeats are not needed
        except (ValueError, np.linalg.LinAlgError, FloatingPointError, MemoryError) as error:
            return outcome(None, f"failed: {error}")
    with np.errstate(invalid="ignore"):
        answers = sums / counts[..., None]
    if not np.isfinite(answers[counts > 0]).all():
        return outcome(None, "failed: answers are not finite")
    return outcome((answers, fitted), "", nested)


def weigh(
    rows: LearningRows,
    weighting: str,
    answers: FloatArray,
    folds: Folds,
    nested: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Choose weights and temperatures at each level of hidden cells.

    ``answers`` are out-of-fold predictions (n_members, n_levels, n_samples, n_outputs), NaN for
    rows without one; ``nested``, by default the same, are blended to score the average.

    Returns
    -------
    blended : ndarray of shape (n_levels, n_samples, n_outputs)
        Averages with the weights that the other folds would choose.
    weights : ndarray of shape (n_levels, n_members)
    temperatures, excess : ndarray of shape (n_levels,)
        ``excess`` is how much more rows of each level miss than training rows do.
    """
    to_blend = answers if nested is None else nested
    n_levels = answers.shape[1]
    weights, temperatures, excess = [], np.ones(n_levels), np.zeros(n_levels)
    blended = np.full(answers.shape[1:], np.nan)
    fold_of_row = np.full(len(rows.y), -1)
    for fold, (_, test) in enumerate(folds.first):
        fold_of_row[test] = fold
    for level in range(n_levels):
        own = answers[:, level]
        scored = np.isfinite(own).all(axis=(0, 2)) & (rows.row_weights > 0)

        def choose(chosen: Any, own: FloatArray = own) -> tuple[FloatArray, float]:
            y, row_weights = rows.y[chosen], rows.row_weights[chosen]
            found = blend_weights(weighting, own[:, chosen], y, row_weights, rows.task)
            if rows.n_classes is None:
                return found, 1.0
            mean = np.tensordot(found, own[:, chosen], axes=1)
            return found, fit_temperature(mean, y, row_weights)

        found, temperatures[level] = choose(scored)
        weights.append(found)
        if level:
            mask = folds.levels.tables[level].unknown[scored]
            mean_excess = float(folds.norm.excess(mask).mean())
            # Levels must increase, also where training rows missed so much that nothing is new.
            excess[level] = max(mean_excess, excess[level - 1] + 1e-3)
        for fold in range(len(folds.first)):
            inside, others = scored & (fold_of_row == fold), scored & (fold_of_row != fold)
            if inside.any() and others.any():
                theirs, temperature = choose(others)
                mean = np.tensordot(theirs, to_blend[:, level, inside], axes=1)
                if rows.n_classes is not None:
                    mean = tempered(mean, np.full(len(mean), temperature))
                blended[level, inside] = mean
    return blended, np.stack(weights), temperatures, excess
