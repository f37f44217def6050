"""Scores of all methods in all trials, and what they say over tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from absentia.automatic.blending import losses
from lab.experiments.scoring import crps_of_normal
from lab.experiments.suites.realholes import HOLED_TABLES
from lab.studies.automatic.answers import expected_members, path_of, read
from lab.studies.automatic.methods import Answered, Scene, all_methods
from lab.studies.automatic.rivals import PROGRAMS
from lab.studies.automatic.trials import SHIFT_TABLES, Trial, trial

#: Smaller differences of means count as none: the file keeps four digits of each score.
_LEAST = 5e-5
#: Columns of the file of scores.
KEPT = ["experiment", "table", "repeat", "test", "method", "score", "loss", "seconds"]
TESTS = ("as they are", "60 % hidden")


def score_all(store: Path, data: str, repeats: int) -> pd.DataFrame:
    """Return one line per table, repetition, method and kind of test rows; whole trials only.

    Programs belong to the trials in which they were run.
    """
    lines: list[dict[str, Any]] = []
    for name in (*HOLED_TABLES, *SHIFT_TABLES):
        for repeat in range(repeats):
            if not any(store.glob(f"{name}-{repeat}-*.npz")):
                continue
            split = trial(name, repeat, data)
            members = expected_members(split)
            found = {each: read(store, split, each) for each in (*members, *PROGRAMS)}
            known = {each: answers for each, answers in found.items() if answers is not None}
            tried = [
                each in known or path_of(store, split, each).with_suffix(".failed").exists()
                for each in members
            ]
            if not all(tried):
                continue
            scene, facts = Scene(split, known), facts_of(split)
            seconds = {each: answers.seconds for each, answers in known.items()}
            seconds["automatic"] = sum(seconds.get(each, 0.0) for each in members)
            for method, make in all_methods(scene).items():
                own = {**facts, "method": method, "seconds": seconds.get(method, np.nan)}
                lines += [{**own, **line} for line in _scored(split, make())]
    return pd.DataFrame(lines)


def facts_of(split: Trial) -> dict[str, Any]:
    """Return what is known of a trial before anything is learned."""
    mask = np.isnan(split.rows.table)
    return {
        "table": split.name,
        "repeat": split.repeat,
        "experiment": "shift" if split.name in SHIFT_TABLES else "real-holes",
        "task": split.rows.task,
        "rows": len(split.rows.y),
        "columns": split.rows.table.shape[1],
        "missing": float(mask.mean()),
        "informative": _is_informative(mask, split),
    }


def _is_informative(mask: np.ndarray, split: Trial) -> bool:
    """Tell whether absence alone predicts the target: the best column, Bonferroni's correction."""
    from scipy.stats import chi2_contingency, mannwhitneyu

    columns = [j for j in range(mask.shape[1]) if 5 <= mask[:, j].sum() <= len(mask) - 5]
    y, chances = split.rows.y, [1.0]
    for column in columns:
        absent = mask[:, column]
        if split.rows.n_classes is None:
            chances.append(float(mannwhitneyu(y[absent], y[~absent]).pvalue))
        else:
            counts = [np.bincount(y[part], minlength=split.rows.n_classes) for part in
                      (absent, ~absent)]  # fmt: skip
            table = np.array(counts)
            chances.append(float(chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue))
    return min(chances) * max(1, len(columns)) < 0.01


def _scored(split: Trial, answered: Answered) -> list[dict[str, Any]]:
    lines = []
    for k, answers in enumerate(answered.tests):
        loss = losses(answers, split.y, split.rows.task)
        if split.rows.n_classes is None:
            score = 1.0 - loss.mean() / np.var(split.y)
            assert answered.spreads is not None
            spread = np.maximum(answered.spreads[k], 1e-9)
            doubt = float(crps_of_normal(split.y, answers[:, 0], spread).mean())
        else:
            score = float((answers.argmax(axis=1) == split.y).mean())
            doubt = float(loss.mean())
        lines.append({"test": TESTS[k], "score": float(score), "loss": doubt})
    return lines


def by_table(frame: pd.DataFrame, test: str, measure: str, experiment: str) -> pd.DataFrame:
    """Return tables by methods: means over repetitions, methods that all tables have."""
    chosen = frame[(frame["test"] == test) & (frame["experiment"] == experiment)]
    return chosen.pivot_table(index="table", columns="method", values=measure)


def mean_ranks(table: pd.DataFrame, methods: list[str], *, lower_is_better: bool) -> pd.Series:
    """Return the mean rank of each method over the tables."""
    known = table[methods].dropna().round(4)  # as many digits as the file keeps
    return known.rank(axis=1, ascending=lower_is_better).mean().sort_values()


def compared(
    table: pd.DataFrame, method: str, other: str, *, lower_is_better: bool
) -> dict[str, Any]:
    """Return how a method compares with another over tables: wins, losses, difference, p-value."""
    both = table[[method, other]].dropna()
    gain = (both[other] - both[method]) * (1 if lower_is_better else -1)
    gain = gain.to_numpy()
    differs = np.abs(gain) > _LEAST
    return {
        "won": int((gain > _LEAST).sum()),
        "lost": int((gain < -_LEAST).sum()),
        "difference": float(gain.mean()),
        "error": float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else float("nan"),
        "p": float(wilcoxon(gain[differs]).pvalue) if differs.sum() > 5 else float("nan"),
        "tables": len(gain),
    }
