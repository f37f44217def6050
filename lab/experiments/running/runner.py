"""Run the unfinished cells of a protocol, on several processes, storing each result at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from absentia.optional_imports import optional_import
from absentia.progress import progress_bar
from lab.experiments.running.cells import Cell, CellResult, Context, Protocol
from lab.experiments.running.store import VERIFIED, Results
from lab.experiments.running.workers import attempt, run_in_processes


def duration(seconds: float) -> str:
    """Return a time in words, such as "1 min 15 s"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


@dataclass(frozen=True)
class RunSummary:
    """The outcome of a run: cells done, failed, and finished in earlier runs."""

    done: int
    failed: int
    skipped: int
    seconds: float

    def __str__(self) -> str:
        before = f", {self.skipped} were finished before" if self.skipped else ""
        failed = f", {self.failed} of them failed" if self.failed else ""
        return f"{self.done} cells in {duration(self.seconds)}{failed}{before}."


def run(
    protocol: Protocol,
    results: Results,
    context: Context,
    *,
    jobs: int = 1,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    wanted: Callable[[Cell], bool] | None = None,
    retry_failed: bool = False,
    time_limit: float | None = None,
    dask: str | None = None,
    progress: bool = True,
    settings: dict[str, object] | None = None,
) -> RunSummary:
    """Run the cells of a protocol that the results do not have yet.

    Each result is written at once. Stop the run in any way, call this again, and it goes on.

    Parameters
    ----------
    protocol : Protocol
    results : Results
    context : Context
    jobs : int, default=1
        Processes. With 1 and no time limit the cells are run in this process.
    methods, datasets : sequences of str, optional
        Run only these.
    wanted : callable, optional
        Run only the cells for which it is true.
    retry_failed : bool, default=False
        Run cells again that ended in an error.
    time_limit : float, optional
        Seconds after which a cell is abandoned, and recorded as failed.
    dask : str, optional
        The address of a Dask scheduler to run the cells on, ``"tcp://host:8786"``. Its workers
        need absentia, and the data folder (also that of ``ABSENTIA_DATA``) under the same path.
        Without ``jobs`` and ``time_limit``.
    progress : bool, default=True
        Show a bar with the time left.
    settings : dict, optional
        What else to record with the run.

    Returns
    -------
    RunSummary
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, found {jobs}.")
    if time_limit is not None and not time_limit > 0:  # NaN, too
        raise ValueError(f"time_limit must be a positive number of seconds, found {time_limit:g}.")
    if dask is not None and (jobs > 1 or time_limit is not None):
        raise ValueError(
            "jobs and time limits apply to processes on this computer, and a Dask cluster has its "
            "own: give one or the other."
        )
    cells = list(filter(wanted, protocol.cells(context)))
    cells = _wanted(cells, methods, datasets)
    finished = results.finished(protocol.name, context, failed_too=not retry_failed)
    pending = [cell for cell in cells if cell.key not in finished]
    skipped = len(cells) - len(pending)
    if not pending:
        return RunSummary(0, 0, skipped, 0.0)
    own = {
        "jobs": jobs,
        "time_limit": time_limit,
        "dask": bool(dask),
        "cells": len(cells),
        VERIFIED: context.verify,
    }
    number = results.start_run(protocol.name, context, {**own, **(settings or {})})
    started = time.perf_counter()
    done = failed = 0
    with progress_bar(
        len(cells), shown=progress, title=protocol.name, unit="cell", initial=skipped
    ) as bar:
        for result in _results(protocol, pending, context, jobs, time_limit, dask):
            results.add(number, context, result)
            done += 1
            failed += result.failed
            bar.advance(f"{failed} failed" if failed else "")
    return RunSummary(done, failed, skipped, time.perf_counter() - started)


def _results(
    protocol: Protocol,
    cells: Sequence[Cell],
    context: Context,
    jobs: int,
    time_limit: float | None,
    dask: str | None,
) -> Iterable[CellResult]:
    if dask is not None:
        return _on_dask(protocol, cells, context, dask)
    if jobs > 1 or time_limit is not None:
        return run_in_processes(protocol.run, cells, context, jobs=jobs, time_limit=time_limit)
    return _in_this_process(protocol, cells, context)


def _in_this_process(
    protocol: Protocol, cells: Sequence[Cell], context: Context
) -> Iterator[CellResult]:
    # With the one thread that each of several processes has, so that seconds mean the same.
    with threadpool_limits(limits=1):
        for cell in cells:
            yield attempt(protocol.run, cell, context)


def self_contained(context: Context) -> Context:
    """Return a context that means the same on machines with another environment.

    Where no folder was given, the data is in the folder that ``ABSENTIA_DATA`` names here; workers
    of a cluster may have no such variable, or another one.
    """
    named = os.environ.get("ABSENTIA_DATA")
    if context.folder is not None or not named:
        return context
    return replace(context, folder=str(Path(named).resolve()))


def _on_dask(
    protocol: Protocol, cells: Sequence[Cell], context: Context, address: str
) -> Iterator[CellResult]:
    distributed = optional_import("distributed", "dask", "Running on Dask")
    context = self_contained(context)
    with distributed.Client(address, timeout="20s") as client:
        futures = {
            client.submit(attempt, protocol.run, cell, context, pure=False): cell for cell in cells
        }
        for future in distributed.as_completed(futures):
            error = future.exception()
            yield (
                future.result()
                if error is None
                else CellResult(futures[future], 0.0, error=f"{type(error).__name__}: {error}")
            )
            # Forgetting a future frees the memory of its result on the cluster.
            del futures[future]
            future.release()


def _wanted(
    cells: Sequence[Cell], methods: Sequence[str] | None, datasets: Sequence[str] | None
) -> list[Cell]:
    for wanted, kind in ((methods, "method"), (datasets, "dataset")):
        known = {getattr(cell, kind) for cell in cells}
        unknown = sorted(set(wanted or ()) - known)
        if unknown:
            raise ValueError(
                f"The protocol has no {kind} {unknown[0]!r}; it has {', '.join(sorted(known))}."
            )
    return [
        cell
        for cell in cells
        if (methods is None or cell.method in methods)
        and (datasets is None or cell.dataset in datasets)
    ]
