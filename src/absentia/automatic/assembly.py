"""From a table to a committee: try members, choose their weights, and score the average."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from absentia.automatic.blending import fit_temperature, shrunk_weights, tempered
from absentia.automatic.committee import Committee, MemberTable, summarise
from absentia.automatic.folds import Folds, OutOfFold, Settings, TimeUpError, density_for
from absentia.automatic.member_specs import SPECS, plan_members
from absentia.automatic.member_tuning import ROWS_FOR_THREADS, LearningRows, MemberPlan
from absentia.densities.fit_density import shared_fits
from absentia.engine.threads import one_blas_thread
from absentia.hidden_warnings import hidden_warnings
from absentia.progress import progress_bar, report
from absentia.tables import FloatArray

#: The share of the time for trying members; the rest is for weights and the unforeseen.
_SHARE_FOR_MEMBERS = 0.9
_LATE, _INTERRUPTED = "left out, the time was up", "left out, the fit was interrupted"


@dataclass(frozen=True, eq=False)
class Assembled:
    """A committee, the table of its members, and out-of-fold predictions by nested selection.

    ``out_of_fold`` has the shape (n_levels, n_samples, n_outputs), NaN for rows without one.
    """

    committee: Committee
    table: MemberTable
    out_of_fold: FloatArray
    folds: Folds


def assemble(rows: LearningRows, settings: Settings, groups: ArrayLike | None = None) -> Assembled:
    """Try the members, choose their weights at every level of hidden cells, and average them.

    Targets that are numbers are in units of their own spread.
    """
    started = time.monotonic()
    settings = replace(settings, density=density_for(rows.table.shape[1], settings.density))
    plans = plan_members(rows, settings)
    order = list(range(len(plans)))
    if settings.time_budget is not None:  # cheap members first, users' estimators last
        ranks = {name: rank for rank, name in enumerate(SPECS)}
        order.sort(key=lambda k: ranks.get(plans[k].name, len(ranks)))
    folds = Folds(rows, settings, groups)
    tried: dict[int, OutOfFold] = {}
    total = len(plans) * len(folds.splits)
    few = len(rows.y) < ROWS_FOR_THREADS
    with (
        # Members that begin with the same density, fitted to the same rows, share the fit.
        shared_fits(),
        # Threads of BLAS on small matrices wait for each other more than they work.
        one_blas_thread() if few else nullcontext(),
        progress_bar(total, shown=settings.progress, title="automatic") as folds.bar,
    ):
        _ = folds.density  # an error of its fit is not one of a member
        remark = ""
        for k in order:
            found = any(not each.remark for each in tried.values())
            # Until there is a member the budget does not count: one is better than none.
            if found and settings.time_budget is not None:
                folds.deadline = started + _SHARE_FOR_MEMBERS * settings.time_budget
            try:
                tried[k] = try_member(plans[k], folds, remark)
            except KeyboardInterrupt:
                if settings.on_interrupt != "keep" or not found:
                    raise
                remark = _INTERRUPTED
                tried[k] = try_member(plans[k], folds, remark)
    return _averaged([tried[k] for k in range(len(plans))], folds)


def try_member(plan: MemberPlan, folds: Folds, remark: str = "") -> OutOfFold:
    """Let a member choose its parameters and predict the held-out rows of every fold.

    A ``remark`` says why it is not tried.
    """
    started, out = time.monotonic(), OutOfFold(folds, plan)
    # A member that converges slowly, or a column that is constant in a fold, shows in its loss.
    with hidden_warnings():
        try:
            if not remark:
                folds.check()
                plan.run(folds, out)
                if np.isinf(out.answers).any() or np.isnan(out.nested[0]).all():
                    remark = "failed: answers are not finite"
        except TimeUpError:
            remark = "" if out.is_complete else _LATE  # further repeats are not needed
        except (ValueError, np.linalg.LinAlgError, FloatingPointError, MemoryError) as error:
            remark = f"failed: {error}"
    out.remark, out.seconds = remark, time.monotonic() - started
    report("%s: %.1f s%s", plan.name, out.seconds, f", {remark}" if remark else "")
    return out


def _averaged(tried: list[OutOfFold], folds: Folds) -> Assembled:
    """Weigh the members that were not left out."""
    usable = [k for k, member in enumerate(tried) if not member.remark]
    if not usable:
        raise ValueError(f"No member could be fitted; the first one: {tried[0].remark}")
    answers = np.stack([tried[k].answers for k in usable])
    nested = np.stack([tried[k].nested for k in usable])
    blended, weights, temperatures, excess = weigh(folds, answers, nested)
    kept = np.flatnonzero(weights.max(axis=0) > 0)
    members = tuple(fitted for k in kept if (fitted := tried[usable[k]].fitted) is not None)
    all_weights = np.zeros((len(tried), len(excess)))
    all_weights[usable] = weights.T
    committee = Committee(
        members, excess, weights[:, kept], temperatures, folds.norm, folds.density, folds.points
    )
    table = summarise(folds.rows, folds.judged, folds.shares, tried, all_weights)
    return Assembled(committee, table, blended, folds)


def weigh(
    folds: Folds,
    answers: FloatArray,
    nested: FloatArray | None = None,
    weights_of: Callable[..., FloatArray] = shrunk_weights,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Choose weights and temperatures at each level of hidden cells.

    ``answers`` are out-of-fold predictions (n_members, n_levels, n_samples, n_outputs), NaN for
    rows without one; ``nested``, by default the same, are blended to score the average. Returned
    are averages with the weights that the other folds would choose (n_levels, n_samples,
    n_outputs), weights (n_levels, n_members), temperatures, and how much more rows of each level
    miss than training rows do (n_levels,).
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
            found = weights_of(own[:, chosen], y, row_weights, rows.task)
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
