"""How many threads to use, and running compiled blocks on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

__all__ = ["n_threads", "row_blocks", "run_blocks", "run_single_threaded_blas", "triangle_blocks"]


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads a Gram matrix may use.

    A number is taken as joblib takes it. ``None`` means every core, as BLAS does it, but one
    thread inside a joblib worker (the cores are taken) and never more than ``OMP_NUM_THREADS``.
    """
    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    backend, _ = get_active_backend()
    if getattr(backend, "nesting_level", 0):
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cpu_count(), int(limit))) if limit.isdigit() else int(cpu_count())


def run_blocks(
    function: Callable[..., Any], blocks: Sequence[tuple[int, int]], threads: int, *args: Any
) -> None:
    """Call ``function(start, stop, *args)`` for each block, on several threads where it pays."""
    if threads == 1 or len(blocks) == 1:
        for start, stop in blocks:
            function(start, stop, *args)
    else:
        Parallel(n_jobs=threads, backend="threading")(
            delayed(function)(start, stop, *args) for start, stop in blocks
        )


def run_single_threaded_blas(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], threads: int
) -> None:
    """Call ``function(*task)`` for each task on our threads, each with a BLAS of one thread.

    Many small matrix products on the threads of BLAS wait for each other more than they work.
    """
    if threads == 1 or len(tasks) == 1:
        for task in tasks:
            function(*task)
    else:
        with threadpool_limits(limits=1, user_api="blas"):
            Parallel(n_jobs=threads, backend="threading", batch_size="auto")(
                delayed(function)(*task) for task in tasks
            )


def row_blocks(start: int, stop: int, n_blocks: int, unit: int) -> list[tuple[int, int]]:
    """Cut rows into about ``n_blocks`` blocks of equal height, multiples of ``unit``."""
    height = max(1, -(-(stop - start) // max(1, n_blocks)))
    height = -(-height // unit) * unit
    return [(first, min(first + height, stop)) for first in range(start, stop, height)]


def triangle_blocks(start: int, stop: int, n_blocks: int, unit: int) -> list[tuple[int, int]]:
    """Cut rows into blocks of about equal *area below the diagonal*, largest first."""
    area = stop**2 - start**2
    edges = [start]
    for b in range(1, n_blocks):
        edge = int((start**2 + area * b / n_blocks) ** 0.5)
        edges.append(start + (edge - start) // unit * unit)
    edges.append(stop)
    blocks = [(a, b) for a, b in pairwise(edges) if b > a]
    return blocks[::-1]
