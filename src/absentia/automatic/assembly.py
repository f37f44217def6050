"""From a table to a committee: try members, weigh them, and say how good the average is."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from absentia.automatic.blending import blend_weights, fit_temperature, losses, tempered
from absentia.automatic.committee import Committee
from absentia.automatic.expected_time import expected_seconds, quick_first
from absentia.automatic.member_library import plan_members
from absentia.automatic.member_plans import (
    FittedMember,
    LearningRows,
    MemberPlan,
    SearchPlan,
)
from absentia.automatic.member_table import MemberTable
from absentia.automatic.novelty import MissingNorm
from absentia.automatic.out_of_fold import Folds, HiddenLevels, make_splits
from absentia.beliefs.draws import DrawPoints
from absentia.densities import GaussianDensity
from absentia.densities.fit_density import DensityLike, fit_density, shared_fits
from absentia.hidden_warnings import hidden_warnings
from absentia.progress import progress_bar, report
from absentia.tables import FloatArray

__all__ = [
    "Assembled",
    "Ground",
    "Plan",
    "Tried",
    "assemble",
    "cut_folds",
    "prepare",
    "try_member",
    "weigh",
]

_DRAWS = 32
#: Rows with more hidden are judged on a sample of this size, smaller in wide tables: what such a
#: row costs grows with the square of its columns and more.
_MOST_HIDDEN_ROWS, _MOST_HIDDEN_CELLS = 600, 120_000
#: This part of the time is for trying members; the rest is weighing and the unforeseen.
_SHARE_FOR_MEMBERS = 0.9
#: Columns from which the density of a table is fitted to fewer digits: 5 steps instead of 45 on 480
#: rows of 590 columns, and an objective that is lower by 0.1 per row of 193.
_WIDE, _TOL_OF_WIDE = 100, 1e-2
_LATE = "left out, the time was up"


@dataclass(frozen=True)
class Plan:
    """What the user asked for."""

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
class Assembled:
    """A committee, what was tried, and out-of-fold answers with all choices from other folds.

    Attributes
    ----------
    committee : Committee
    table : MemberTable
    out_of_fold : ndarray of shape (n_levels, n_samples, n_outputs)
        NaN for rows that were not judged.
    levels : HiddenLevels
        The rows that were answered out of fold.
    """

    committee: Committee
    table: MemberTable
    out_of_fold: FloatArray
    levels: HiddenLevels


@dataclass(frozen=True, eq=False)
class Ground:
    """What all members are tried on: the same folds, densities and draws."""

    plans: list[MemberPlan]
    folds: Folds
    norm: MissingNorm
    density: BaseEstimator
    points: DrawPoints


@dataclass(frozen=True, eq=False)
class Tried:
    """A member after it was tried.

    Attributes
    ----------
    name, description : str
    found : tuple or None
        Out-of-fold answers (n_levels, n_samples, n_outputs), and the member fitted to all rows.
    seconds : float
    remark : str
        Why nothing was found.
    nested : ndarray of shape (n_levels, n_samples, n_outputs) or None
        The answers of the first repeat alone, which are those that say how good the average is: its
        folds have parameters that were chosen without their targets.
    """

    name: str
    description: str
    found: tuple[FloatArray, FittedMember] | None
    seconds: float
    remark: str
    nested: FloatArray | None = None


def cut_folds(
    rows: LearningRows,
    plan: Plan,
    norm: MissingNorm,
    points: DrawPoints,
    groups: ArrayLike | None = None,
) -> Folds:
    """Cut folds as often as planned, and hide cells at every level."""
    most = min(_MOST_HIDDEN_ROWS, _MOST_HIDDEN_CELLS // max(1, rows.table.shape[1]))
    levels = HiddenLevels.of(rows.table, plan.hidden, max(100, most), plan.seed)
    repeats = [
        make_splits(rows, plan.n_splits, groups, plan.seed + repeat)
        for repeat in range(plan.n_repeats)
    ]
    return Folds(rows, repeats, levels, norm, plan.density, points)


def prepare(rows: LearningRows, plan: Plan, groups: ArrayLike | None = None) -> Ground:
    """Choose members to try, cut folds and hide cells; arguments as of :func:`assemble`."""
    plan = replace(plan, density=_density_for(rows, plan.density))
    settings = {"seed": plan.seed, "n_jobs": plan.n_jobs, "density": plan.density}
    plans = plan_members(plan.members, rows, settings)
    norm = MissingNorm.of(rows.table.unknown)
    density = fit_density(plan.density, rows.table, rows.weights)
    n_columns = len(getattr(density, "columns_", range(rows.table.shape[1])))
    points = DrawPoints.sobol(_DRAWS, n_columns, plan.seed)
    folds = cut_folds(rows, plan, norm, points, groups)
    return Ground(plans, folds, norm, density, points)


def _density_for(rows: LearningRows, density: DensityLike) -> DensityLike:
    """Return the density that is fitted to the table and to every fold.

    On a wide table most steps of EM are for digits that no answer shows, and they would take most
    of the time that members have.
    """
    wide = rows.table.shape[1] > _WIDE
    by_name = isinstance(density, str) and density == "gaussian"
    return GaussianDensity(tol=_TOL_OF_WIDE) if wide and by_name else density


def assemble(rows: LearningRows, plan: Plan, groups: ArrayLike | None = None) -> Assembled:
    """Try the members, choose their weights at every level of hidden cells, and keep the best.

    Parameters
    ----------
    rows : LearningRows
        Numbers in units of their own spread.
    plan : Plan
    groups : array-like of shape (n_samples,), optional
        Rows of one group are never on both sides of a fold.
    """
    started = time.monotonic()
    ground = prepare(rows, plan, groups)
    folds = ground.folds
    deadline = None
    if plan.time_budget is not None:
        deadline = started + _SHARE_FOR_MEMBERS * plan.time_budget
    tried: list[Tried] = []
    order = list(range(len(ground.plans)))
    if deadline is not None:
        order = quick_first([member.name for member in ground.plans])
    total = len(ground.plans) * (len(folds) + 1)
    with shared_fits(), progress_bar(total, shown=plan.progress, title="automatic") as bar:
        # Members that begin with the same density, fitted to the same folds, share the fits.
        for member in (ground.plans[k] for k in order):
            # The first member is tried whatever the budget: one answer is better than none. A
            # later one is not begun when it would probably come too late.
            taken = {each.name: each.seconds for each in tried if each.found}
            on_features = not isinstance(member, SearchPlan)
            seconds = expected_seconds(member.name, taken, on_features=on_features)
            ready = time.monotonic() + seconds
            if tried and deadline is not None and ready >= deadline:
                tried.append(Tried(member.name, member.description, None, 0.0, _LATE))
            else:
                tried.append(try_member(member, ground, bar, deadline if tried else None))
    tried = [tried[order.index(k)] for k in range(len(order))]  # as they were asked for
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
    table = _summary(rows, folds.levels, tried, all_weights)
    return Assembled(committee, table, blended, folds.levels)


def try_member(member: Any, ground: Ground, bar: Any, deadline: float | None) -> Tried:
    """Tune a member, and let it answer the rows of every fold that it did not learn from."""
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
    # A member that converges slowly, or a column that is constant in a fold, is judged by its
    # answers.
    with hidden_warnings():
        try:
            rows = folds.rows.seen_by(member.takes_limits, ground.density)
            choices, fitted = member.tuned(rows, folds.first)
            bar.advance(member.name)
            if deadline is not None and time.monotonic() >= deadline:
                return outcome(None, _LATE)
            for fold in range(len(folds)):
                begun = time.monotonic()
                folds.answers(choices, fold, sums, counts)
                if fold == len(folds.first) - 1:
                    nested = np.where(counts[..., None] > 0, sums, np.nan)
                bar.advance(member.name)
                now = time.monotonic()
                left = len(folds.first) - fold - 1
                if deadline is not None and now + left * (now - begun) > deadline:
                    if left > 0:
                        return outcome(None, _LATE)
                    break  # further repeats are a luxury
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

    Parameters
    ----------
    rows : LearningRows
    weighting : str
        As of :func:`~absentia.automatic.blending.blend_weights`.
    answers : ndarray of shape (n_members, n_levels, n_samples, n_outputs)
        Out of fold; NaN for rows that were not judged.
    folds : Folds
    nested : ndarray of the same shape, optional
        What is blended to judge the average, where that are not all answers.

    Returns
    -------
    blended : ndarray of shape (n_levels, n_samples, n_outputs)
        Averages with the weights that the other folds would choose.
    weights : ndarray of shape (n_levels, n_members)
    temperatures, excess : ndarray of shape (n_levels,)
        ``excess`` is how much more rows of each level miss than training rows do.
    """
    row_weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    to_blend = answers if nested is None else nested
    n_levels = answers.shape[1]
    weights, temperatures, excess = [], np.ones(n_levels), np.zeros(n_levels)
    blended = np.full(answers.shape[1:], np.nan)
    fold_of_row = np.full(len(rows.y), -1)
    for fold, (_, test) in enumerate(folds.first):
        fold_of_row[test] = fold
    for level in range(n_levels):
        own = answers[:, level]
        judged = np.isfinite(own).all(axis=(0, 2)) & (row_weights > 0)

        def choose(chosen: Any, own: FloatArray = own) -> tuple[FloatArray, float]:
            found = blend_weights(
                weighting, own[:, chosen], rows.y[chosen], row_weights[chosen], rows.task
            )
            if rows.n_classes is None:
                return found, 1.0
            mean = np.tensordot(found, own[:, chosen], axes=1)
            return found, fit_temperature(mean, rows.y[chosen], row_weights[chosen])

        found, temperatures[level] = choose(judged)
        weights.append(found)
        if level:
            mask = folds.levels.tables[level].unknown[judged]
            mean_excess = float(folds.norm.excess(mask).mean())
            # Levels must increase, also where training rows missed so much that nothing is new.
            excess[level] = max(mean_excess, excess[level - 1] + 1e-3)
        for fold in range(len(folds.first)):
            asked = judged & (fold_of_row == fold)
            others = judged & (fold_of_row != fold)
            if asked.any() and others.any():
                theirs, temperature = choose(others)
                mean = np.tensordot(theirs, to_blend[:, level, asked], axes=1)
                blended[level, asked] = (
                    mean
                    if rows.n_classes is None
                    else tempered(mean, np.full(len(mean), temperature))
                )
    return blended, np.stack(weights), temperatures, excess


def _summary(
    rows: LearningRows, levels: HiddenLevels, tried: list[Tried], weights: FloatArray
) -> MemberTable:
    found = np.full(weights.shape, np.nan)
    scores = np.full(len(tried), np.nan)
    row_weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    for k, member in enumerate(tried):
        if member.found is None:
            continue
        answers, _ = member.found
        for level, own in enumerate(answers):
            judged = np.isfinite(own).all(axis=1) & (row_weights > 0)
            loss = losses(own[judged], rows.y[judged], rows.task)
            found[k, level] = np.average(loss, weights=row_weights[judged])
        judged = np.isfinite(answers[0]).all(axis=1) & (row_weights > 0)
        if rows.n_classes is None:
            spread = np.average(
                (rows.y - np.average(rows.y, weights=row_weights)) ** 2, weights=row_weights
            )
            scores[k] = 1.0 - found[k, 0] / (spread or 1.0)
        else:
            right = answers[0][judged].argmax(axis=1) == rows.y[judged]
            scores[k] = np.average(right, weights=row_weights[judged])
    return MemberTable(
        names=tuple(member.name for member in tried),
        descriptions=tuple(member.description for member in tried),
        weights=weights,
        losses=found,
        scores=scores,
        seconds=np.array([member.seconds for member in tried]),
        hidden=levels.shares,
        remarks=tuple(member.remark for member in tried),
        measure="R²" if rows.n_classes is None else "accuracy",
    )
