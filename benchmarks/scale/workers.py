"""Strong scaling: the same table on one and on two worker processes of a local Dask cluster."""

from __future__ import annotations

import time
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np

from absentia import FourierFeatures, GaussianDensity, LargeScaleRidge
from benchmarks.scale.tables import made_rows, versions

_ROWS, _PARTITION = 400_000, 25_000


def part(seed: int) -> Any:
    """Make the rows and the targets of one partition, side by side, on the worker."""
    X, y = made_rows(_PARTITION, seed)
    return np.column_stack([X, y])


def main() -> None:
    """Print seconds by the number of workers, one thread each."""
    print(f"{versions()}, Dask {dask.__version__}; {_ROWS} rows of 20 columns, 5 % missing, in")
    print(f"partitions of {_PARTITION}, held by the workers; one thread to a worker\n")
    print("| workers | density (steps of EM) | ridge on 512 Fourier features, all in all |")
    print("|---|---|---|")
    with dask.config.set({"distributed.worker.daemon": True}):
        for n_workers in (1, 2):
            with (
                distributed.LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                ) as cluster,
                distributed.Client(cluster) as client,
            ):
                blocks = [
                    da.from_delayed(dask.delayed(part)(s), (_PARTITION, 21), dtype=float)
                    for s in range(_ROWS // _PARTITION)
                ]
                whole = da.concatenate(blocks).persist()
                distributed.wait(whole)
                X, y = whole[:, :20], whole[:, 20]
                # Once on a little, so that the workers have compiled.
                LargeScaleRidge("fourier", 64, random_state=0).fit(X[:_PARTITION], y[:_PARTITION])
                client.run(warm)
                start = time.perf_counter()
                density = GaussianDensity().fit(X)
                fitted = time.perf_counter()
                LargeScaleRidge("fourier", 512, gamma=0.1, alpha=0.1, random_state=0).fit(X, y)
                done = time.perf_counter()
                print(
                    f"| {n_workers} | {fitted - start:.1f} s ({density.n_iter_}) | "
                    f"{done - fitted:.1f} s |",
                    flush=True,
                )


def warm() -> None:
    """Compile on every worker, whatever partitions it was given before."""
    X, _ = made_rows(2000, 0)
    FourierFeatures(64, random_state=0).fit_transform(X)
