"""From a table to a committee: try members, choose their weights, and score the average."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from absentia.automatic.blending import blend_weights, fit_temperature, tempered
from absentia.automatic.committee import Committee, MemberTable, summarise
from absentia.automatic.folds import Folds, density_for
from absentia.automatic.member_specs import Settings, expected_seconds, plan_members, quick_first
from absentia.automatic.member_tuning import FittedMember, LearningRows, SearchPlan
from absentia.densities.fit_density import shared_fits
from absentia.hidden_warnings import hidden_warnings
from absentia.progress import Bar, progress_bar, report
from absentia.tables import FloatArray

#: The share of the time for trying members; the rest is for weights and the unforeseen.
_SHARE_FOR_MEMBERS = 0.9
_LATE = "left out, the time was up"


@dataclass(frozen=True, eq=False)
class Assembled:
    """A committee, the table of its members, and out-of-fold predictions by nested selection.

    ``out_of_fold`` has the shape (n_levels, n_samples, n_outputs), NaN for rows without one.
    """

    committee: Committee
    table: MemberTable
    out_of_fold: FloatArray
    folds: Folds


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


def assemble(rows: LearningRows, settings: Settings, groups: ArrayLike | None = None) -> Assembled:
    """Try the members, choose their weights at every level of hidden cells, and average them.

    Targets that are numbers are in units of their own spread.
    """
    started = time.monotonic()
    settings = replace(settings, density=density_for(rows.table.shape[1], settings.density))
    plans = plan_members(rows, settings)
    folds, deadline = Folds(rows, settings, groups), None
    density = folds.density  # an error of its fit is not one of a member
    order = list(range(len(plans)))
    if settings.time_budget is not None:
        deadline = started + _SHARE_FOR_MEMBERS * settings.time_budget
        order = quick_first([member.name for member in plans])
    tried: list[Tried] = []
    total = len(plans) * (len(folds.splits) + 1)
    # Members that begin with the same density, fitted to the same folds, share the fits.
    with shared_fits(), progress_bar(total, shown=settings.progress, title="automatic") as bar:
        for member in (plans[k] for k in order):
            # The first member is tried whatever the budget: one is better than none. A later one
            # is not begun when it would probably come too late.
            taken = {each.name: each.seconds for each in tried if each.found}
            on_features = not isinstance(member, SearchPlan)
            seconds = expected_seconds(member.name, taken, on_features=on_features)
            ready = time.monotonic() + seconds
            if tried and deadline is not None and ready >= deadline:
                tried.append(Tried(member.name, member.description, None, 0.0, _LATE))
            else:
                tried.append(try_member(member, folds, bar, deadline if tried else None))
    tried = [tried[order.index(k)] for k in range(len(order))]  # in the order of the parameter
    usable = [k for k, member in enumerate(tried) if member.found is not None]
    found = [member.found for member in tried if member.found is not None]
    if not found:
        raise ValueError(f"No member could be fitted; the first one: {tried[0].remark}")
    answers = np.stack([own for own, _ in found])
    nested = np.stack([member.nested for member in tried if member.nested is not None])
    blended, weights, temperatures, excess = weigh(folds, settings.weighting, answers, nested)
    kept = np.flatnonzero(weights.max(axis=0) > 0)
    members = tuple(found[k][1] for k in kept)
    all_weights = np.zeros((len(tried), len(excess)))
    all_weights[usable] = weights.T
    committee = Committee(
        members, excess, weights[:, kept], temperatures, folds.norm, density, folds.points
    )
    return Assembled(committee, summarise(rows, folds.shares, tried, all_weights), blended, folds)


def try_member(member: Any, folds: Folds, bar: Bar, deadline: float | None) -> Tried:
    """Tune a member, and let it predict the held-out rows of every fold."""
    started = time.monotonic()

    def outcome(
        found: tuple[FloatArray, FittedMember] | None,
        remark: str,
        nested: FloatArray | None = None,
    ) -> Tried:
        seconds = time.monotonic() - started
        report("%s: %.1f s%s", member.name, seconds, f", {remark}" if remark else "")
        return Tried(member.name, member.description, found, seconds, remark, nested)

    sums = np.zeros((len(folds.tables), len(folds.rows.y), folds.rows.n_classes or 1))
    counts = np.zeros(sums.shape[:2])
    # A member that converges slowly, or a column that is constant in a fold, shows in its loss.
    with hidden_warnings():
        try:
            rows = folds.rows.seen_by(member.takes_limits, folds.density)
            candidates, fitted = member.tuned(rows, folds.first)
            bar.advance(member.name)
            if deadline is not None and time.monotonic() >= deadline:
                return outcome(None, _LATE)
            for fold in range(len(folds.splits)):
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
    folds: Folds, weighting: str, answers: FloatArray, nested: FloatArray | None = None
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
    rows, to_blend = folds.rows, answers if nested is None else nested
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
            mean_excess = float(folds.norm.excess(folds.tables[level].unknown[scored]).mean())
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
