"""The automatic machines against the minute that a fit may take."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from absentia import AutoClassifier, AutoRegressor
from lab.speed.machines import example
from lab.speed.ratio import Row

_MINUTE = 60.0
_NOTE = (
    "theirs: the minute that a fit of an automatic machine may take; ours is processor time of all "
    "threads, which a busy machine does not change as much"
)


def rows() -> Iterator[Row]:
    """Time a fit with all defaults, after one of few rows that compiles."""
    X, classes = example(1000, 20)
    numbers = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2
    for kind, y in ((AutoClassifier, classes), (AutoRegressor, numbers)):
        kind(random_state=0).fit(X[:80], y[:80])
        started = time.process_time()
        kind(random_state=0).fit(X, y)
        seconds = time.process_time() - started
        name = f"{kind.__name__}.fit, 1000 x 20, 30 % missing, defaults"
        yield Row(name, seconds, _MINUTE, 1.0, 0.5, _NOTE)
