"""Shapley values of one row of boosted trees, against shapiq's ``GaussianImputer``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec

from lab.speed.ratio import Row
from lab.studies.shapley_values import METHODS, N_DRAWS, Law

_COLUMNS = 12


def rows() -> Iterator[Row]:
    """Yield one row of 12 columns, all coalitions enumerated by both with as many model calls."""
    if find_spec("shapiq") is None:
        return
    law = Law(_COLUMNS)
    ours, theirs = (_seconds(law, name) for name in ("absentia", "shapiq, `GaussianImputer`"))
    name = f"explain, one row, {_COLUMNS} columns, boosted trees, {N_DRAWS} draws"
    note = f"explain: theirs is shapiq's GaussianImputer, all {2**_COLUMNS} coalitions"
    yield Row(name, ours, theirs, bar=1.0, aim=0.3, note=note)


def _seconds(law: Law, method: str) -> float:
    METHODS[method](law, law.rows[:1], law.rows)
    started = time.process_time()
    METHODS[method](law, law.rows[1:2], law.rows)
    return time.process_time() - started
