"""The first fit after installation: a fresh process, and nothing compiled yet."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from lab.speed.ratio import Row

NOTE = "first_fit: processor time of a fresh process, imports included, in units of one second"

PROGRAM = """
import time
import numpy as np
from absentia import SVC
rng = np.random.default_rng(0)
X = rng.normal(size=({n}, {d}))
y = X[:, 0] + X[:, 1] ** 2 > 0.5
X[rng.random(X.shape) < 0.2] = np.nan
SVC().fit(X, y)
print(time.process_time())
"""


def rows() -> Iterator[Row]:
    """Time a small table, which compiles nothing, and a larger one, at first and once more."""
    for n, d, bar, aim in ((200, 5, 5.0, 2.0), (1000, 20, None, None)):
        with TemporaryDirectory() as cache:
            for name in ("nothing compiled", "once more"):
                yield Row(
                    f"SVC().fit, {n} x {d}, 20 % missing, {name}",
                    _processor_seconds(n, d, cache),
                    1.0,
                    bar,
                    aim,
                    NOTE,
                )


def _processor_seconds(n: int, d: int, cache: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(n=n, d=d)],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)
