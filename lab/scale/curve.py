"""Time and memory by the number of rows, up to ten million, made in chunks and never held.

Times are processor time, and ratios to what scikit-learn's ``RBFSampler`` and the normal equations
take for the same number of complete rows in the same process.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics import r2_score

from absentia import Chunks, GaussianDensity, LargeScaleRidge
from absentia.tables import FloatArray
from lab.scale.tables import made_rows, versions

_CHUNK = 100_000
_FEATURES = 256


class MadeChunks:
    """A fresh iterator over chunks of made rows at each call; counts the time that making takes."""

    def __init__(self, n_rows: int):
        self.n_rows = n_rows
        self.seconds = 0.0

    def __call__(self) -> Iterator[Any]:
        for seed, start in enumerate(range(0, self.n_rows, _CHUNK)):
            begin = time.process_time()
            chunk = made_rows(min(_CHUNK, self.n_rows - start), seed)
            self.seconds += time.process_time() - begin
            yield chunk


def yardstick(X: FloatArray, y: FloatArray) -> float:
    """Return the seconds of random features and normal equations of complete rows."""
    sampler = RBFSampler(gamma=0.1, n_components=_FEATURES, random_state=0).fit(X)
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        Z = sampler.transform(X)
        Z.T @ Z, Z.T @ y
        best = min(best, time.process_time() - start)
    return float(best)


def main() -> None:
    """Print ratios to the yardstick, seconds, R^2 and the peak memory so far."""
    print(f"{versions()}; 20 columns, 5 % missing, chunks of {_CHUNK} rows, ridge on {_FEATURES}")
    print("Fourier features (gamma=0.1, alpha=0.1); making the rows is not counted\n")
    heads = ("rows", "density", "passes of EM", "features and ridge", "RBFSampler and normal")
    print(f"| {' | '.join(heads)} equations, s | test R² | peak MB so far |")
    print("|---|---|---|---|---|---|---|")
    X_test, y_test = made_rows(20_000, seed=987_654)
    X, y = made_rows(_CHUNK, seed=1, rate=0.0)
    _fit(2 * _CHUNK)  # compiles
    for n in (100_000, 1_000_000, 10_000_000):
        of_chunk = yardstick(X, y)
        density, density_seconds, machine, ridge_seconds = _fit(n)
        # Before and after: what else the machine does changes in the minutes between.
        unit = min(of_chunk, yardstick(X, y)) * n / _CHUNK
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {n:,} | {density_seconds / unit:.2f} ({density_seconds:.1f} s) | "
            f"{density.n_iter_} | {ridge_seconds / unit:.2f} ({ridge_seconds:.1f} s) | "
            f"{unit:.1f} | {r2_score(y_test, machine.predict(X_test)):.4f} | {peak:.0f} |",
            flush=True,
        )


def _fit(n: int) -> tuple[GaussianDensity, float, LargeScaleRidge, float]:
    """Fit a density and a ridge to made rows; return them with their seconds."""
    source = MadeChunks(n)
    start = time.process_time()
    density = GaussianDensity().fit(Chunks(source))
    density_seconds = time.process_time() - start - source.seconds
    source.seconds = 0.0
    start = time.process_time()
    machine = LargeScaleRidge(
        "fourier",
        _FEATURES,
        gamma=0.1,
        alpha=0.1,
        density=FrozenEstimator(density),
        random_state=0,
    ).fit(Chunks(source))
    return density, density_seconds, machine, time.process_time() - start - source.seconds
