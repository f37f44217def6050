"""BLAS on one thread, for work that is many small products of matrices."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread inside a ``with`` block.

    Small products on several threads wait for each other more than they work, the more so on a
    machine that is busy; threads over blocks of rows (``n_jobs``) do better.
    """
    limited: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="blas")
    return limited


@cache
def _thread_pools() -> ThreadpoolController:
    """Find the libraries that have threads, once: it takes longer than a small fit."""
    return ThreadpoolController()
