"""Choosing the value to measure next, against the predictions that it takes at least."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from absentia import LogisticRegression, measure_next
from lab.speed.machines import example
from lab.speed.ratio import Row, best_seconds


def rows() -> Iterator[Row]:
    """Time one row with 20 missing columns, 21 trial values each."""
    X, y = example(1000, 24)
    machine = LogisticRegression(kernel="expected_rbf").fit(X, y)
    row = np.full((1, 24), np.nan)
    row[0, :4] = 0.5
    trials = np.repeat(row, 420, axis=0)
    column = 4 + np.arange(420) // 21
    trials[np.arange(420), column] = np.random.default_rng(0).normal(size=420)
    yield Row(
        "measure_next, one row, 20 missing columns, n=1000",
        best_seconds(lambda: measure_next(machine, row), repeats=10),
        best_seconds(lambda: machine.predict_proba(trials), repeats=10),
        2.0,
        1.2,
        "theirs: one call of predict_proba on the 420 rows that are tried",
    )
