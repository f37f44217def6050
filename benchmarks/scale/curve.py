"""Time and memory by the number of rows, up to ten million, made in chunks and never held."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score

from absentia import Chunks, GaussianDensity, LargeScaleRidge
from benchmarks.scale.tables import made_rows, versions

_CHUNK = 100_000


class MadeChunks:
    """A fresh iterator over chunks of made rows at each call; counts the time that making takes."""

    def __init__(self, n_rows: int):
        self.n_rows = n_rows
        self.seconds = 0.0

    def __call__(self) -> Iterator[Any]:
        for seed, start in enumerate(range(0, self.n_rows, _CHUNK)):
            begin = time.perf_counter()
            chunk = made_rows(min(_CHUNK, self.n_rows - start), seed)
            self.seconds += time.perf_counter() - begin
            yield chunk


def main() -> None:
    """Print seconds without those of making the rows, passes, R^2 and the peak memory so far."""
    print(f"{versions()}; 20 columns, 5 % missing, chunks of {_CHUNK} rows, ridge on 256 Fourier")
    print("features (gamma=0.1, alpha=0.1); making the rows is not counted\n")
    print("| rows | density, s | passes of EM | features and ridge, s | test R² | peak MB so far |")
    print("|---|---|---|---|---|---|")
    X_test, y_test = made_rows(20_000, seed=987_654)
    for n in (100_000, 1_000_000, 10_000_000):
        source = MadeChunks(n)
        start = time.perf_counter()
        density = GaussianDensity().fit(Chunks(source))
        density_seconds = time.perf_counter() - start - source.seconds
        source.seconds = 0.0
        start = time.perf_counter()
        machine = LargeScaleRidge(
            "fourier",
            256,
            gamma=0.1,
            alpha=0.1,
            density=FrozenEstimator(density),
            random_state=0,
        ).fit(Chunks(source))
        ridge_seconds = time.perf_counter() - start - source.seconds
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {n:,} | {density_seconds:.1f} | {density.n_iter_} | {ridge_seconds:.1f} | "
            f"{r2_score(y_test, machine.predict(X_test)):.4f} | {peak:.0f} |",
            flush=True,
        )
