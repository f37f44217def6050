"""Predictions of every member in a trial, kept in files, so that averages can be studied later.

One file per table, repetition and member; what is there is not computed again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from absentia.automatic.assembly import try_member
from absentia.automatic.committee import answer_with_holes
from absentia.automatic.folds import Folds, Settings
from absentia.automatic.member_specs import plan_members
from absentia.tables import FloatArray
from lab.studies.automatic.trials import Trial

LEVELS = (0.3, 0.6)
#: All members that are tried, those that make no difference on complete rows, and the one that is
#: not fitted to wide tables.
MEMBERS = (
    "forest", "extra-trees", "boosting", "linear", "beliefs", "indicators", "beliefs-mask",
    "beliefs-scores", "beliefs-mixture",
)  # fmt: skip
_ONLY_WITH_HOLES = ("indicators", "beliefs-mask")
_ONLY_NARROW, _MOST_COLUMNS = ("beliefs-mixture",), 50


def expected_members(trial: Trial) -> list[str]:
    """Return the members that the automatic machine tries on a table by default."""
    left_out: tuple[str, ...] = ()
    if trial.rows.table.shape[1] > _MOST_COLUMNS:
        left_out += _ONLY_NARROW
    if not np.isnan(trial.rows.table).any():
        left_out += _ONLY_WITH_HOLES
    return [name for name in MEMBERS if name not in left_out]


@dataclass(frozen=True, eq=False)
class MemberAnswers:
    """Answers of one member.

    Attributes
    ----------
    out_of_fold : ndarray of shape (n_levels, n_train, n_outputs)
    tests : ndarray of shape (2, n_test, n_outputs)
        For rows as they are and with cells hidden; rows with new holes as an average over draws
        where the member does so.
    plain : ndarray of shape (2, n_test, n_outputs)
        The same without that average: NaN as it comes.
    seconds : float
        Of processor time.
    """

    out_of_fold: FloatArray
    tests: FloatArray
    plain: FloatArray
    seconds: float


def folds_of(trial: Trial, members: object = ()) -> Folds:
    """Return folds, densities and draws of a trial, the same for all members."""
    n_repeats = 1 + (len(trial.rows.y) <= 400)
    settings = Settings(members, hidden=LEVELS, n_repeats=n_repeats, n_jobs=1, seed=trial.seed)
    return Folds(trial.rows, settings)


def path_of(store: Path, trial: Trial, member: str) -> Path:
    """Return the file of a member's answers."""
    return store / f"{trial.name}-{trial.repeat}-{member}.npz"


def compute(trial: Trial, member: str, store: Path) -> str:
    """Try a member in a trial, keep its answers, and return a line on it."""
    path = path_of(store, trial, member)
    folds = folds_of(trial, [member])
    started = time.process_time()
    (plan,) = plan_members(trial.rows, folds.settings)
    tried = try_member(plan, folds)
    if tried.fitted is None or tried.remark:
        path.with_suffix(".failed").write_text(tried.remark)
        return f"{path.stem}: {tried.remark}"
    answers, fitted = tried.answers, tried.fitted
    tests = [
        answer_with_holes(fitted, table, folds.norm, folds.density, folds.points)
        for table in trial.tests
    ]
    seconds = time.process_time() - started
    plain = [fitted.answer(table) for table in trial.tests] if fitted.averages else tests
    write(path, answers, tests, plain, seconds)
    return f"{path.stem}: {seconds:.1f} s"


def write(path: Path, out_of_fold: Any, tests: Any, plain: Any, seconds: float) -> None:
    """Keep answers in a file that is there whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(
            file, out_of_fold=out_of_fold, tests=tests, plain=plain, seconds=seconds
        )
    part.replace(path)


def read(store: Path, trial: Trial, member: str) -> MemberAnswers | None:
    """Return a member's answers, or None where there are none."""
    path = path_of(store, trial, member)
    if not path.is_file():
        return None
    with np.load(path) as found:
        return MemberAnswers(
            found["out_of_fold"], found["tests"], found["plain"], float(found["seconds"])
        )
