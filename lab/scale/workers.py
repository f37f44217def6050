"""Strong scaling: the same table on one and on two worker processes of a local Dask cluster.

Wall clocks tell about scaling only on a machine with nothing else to do. Processor time tells on
any:
what all processes take together must not grow with the workers, and none of them may have much more
of it than the others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np

from absentia import FourierFeatures, GaussianDensity, LargeScaleRidge
from lab.scale.tables import made_rows, versions

_ROWS, _PARTITION, _REPEATS = 400_000, 25_000, 3


@dataclass(frozen=True)
class Taken:
    """Cost of a fit: wall time, and processor time of the client and each worker."""

    elapsed: float
    client: float
    workers: tuple[float, ...]

    @property
    def critical(self) -> float:
        """Processor time of the client and its busiest worker, which wait for each other."""
        return self.client + max(self.workers)

    @property
    def together(self) -> float:
        """Processor time of all processes."""
        return self.client + sum(self.workers)


def part(seed: int) -> Any:
    """Make the rows and the targets of one partition, side by side, on the worker."""
    X, y = made_rows(_PARTITION, seed)
    return np.column_stack([X, y])


def main() -> None:
    """Print processor time and seconds by the number of workers, one thread each."""
    print(f"{versions()}, Dask {dask.__version__}; {_ROWS} rows of 20 columns, 5 % missing, in")
    print(f"partitions of {_PARTITION}, held by the workers; one thread to a worker; load before")
    print(f"{os.getloadavg()[0]:.1f}; best of {_REPEATS}\n")
    print("| workers | what | all processes | client and busiest worker | seconds on the clock |")
    print("|---|---|---|---|---|")
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
                for name, fit in jobs(client).items():
                    taken = [measured(client, fit) for _ in range(_REPEATS)]
                    together = min(each.together for each in taken)
                    critical = min(each.critical for each in taken)
                    elapsed = min(each.elapsed for each in taken)
                    print(
                        f"| {n_workers} | {name} | {together:.1f} s | {critical:.1f} s | "
                        f"{elapsed:.1f} s |",
                        flush=True,
                    )


def jobs(client: distributed.Client) -> dict[str, Callable[[], Any]]:
    """Put the rows on the workers, compile there, and return what is measured."""
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
    ridge = LargeScaleRidge("fourier", 512, gamma=0.1, alpha=0.1, random_state=0)
    return {
        "density": lambda: GaussianDensity().fit(X),
        "density, features and ridge": lambda: ridge.fit(X, y),
    }


def measured(client: distributed.Client, fit: Callable[[], Any]) -> Taken:
    """Run once; the processor time of each worker is that of its whole process."""
    before, own, start = client.run(time.process_time), time.process_time(), time.perf_counter()
    fit()
    elapsed, own = time.perf_counter() - start, time.process_time() - own
    after = client.run(time.process_time)
    return Taken(elapsed, own, tuple(after[worker] - before[worker] for worker in before))


def warm() -> None:
    """Compile on every worker, whatever partitions it was given before."""
    X, _ = made_rows(2000, 0)
    FourierFeatures(64, random_state=0).fit_transform(X)
