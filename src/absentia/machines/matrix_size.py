"""Whether a Gram matrix fits into the memory of this computer, asked before anything is computed.

An allocation of 80 gigabytes often succeeds, and the process is killed once it is written to.
"""

from __future__ import annotations

import os
from numbers import Integral
from pathlib import Path

from absentia.tables import MemoryRows, TableLike
from absentia.tables.phrases import counted

__all__ = ["check_matrix_size", "memory_of_computer"]

#: What a process may use in a container (control groups, version 2).
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
#: The machine that learns the same from features, at a cost linear in the rows.
_LARGE_SCALE = {
    "SVC": "LargeScaleSVC",
    "NuSVC": "LargeScaleSVC",
    "SVCCV": "LargeScaleSVC",
    "LogisticRegression": "LargeScaleLogisticRegression",
    "LogisticRegressionCV": "LargeScaleLogisticRegression",
    "GaussianProcessClassifier": "LargeScaleLogisticRegression",
    "SVR": "LargeScaleRidge",
    "NuSVR": "LargeScaleRidge",
    "SVRCV": "LargeScaleRidge",
    "KernelRidge": "LargeScaleRidge",
    "KernelRidgeCV": "LargeScaleRidge",
    "GaussianProcessRegressor": "LargeScaleRidge",
}


def memory_of_computer() -> int | None:
    """Return how many bytes of memory a process may use, None where that is not known."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # systems without sysconf, such as Windows
        return None
    try:
        limit = _CONTAINER_LIMIT.read_text(encoding="ascii").strip()
    except OSError:
        limit = ""
    return min(total, int(limit)) if limit.isdigit() else total


def check_matrix_size(X: TableLike, machine: str) -> None:
    """Raise MemoryError where the Gram matrix of rows takes over half of the memory.

    Half, because solvers work on a copy. Asked before rows are read, which takes a while for many
    of them.

    Parameters
    ----------
    X : array-like, frame or rows
    machine : str
        The name of the estimator.

    Examples
    --------
    >>> from absentia.machines.matrix_size import check_matrix_size
    >>> check_matrix_size([[1.0], [2.0]], "SVC")
    """
    shape = getattr(X, "shape", None)
    n_rows = shape[0] if shape else len(X) if isinstance(X, list | tuple | MemoryRows) else 0
    memory = memory_of_computer()
    # Dask does not always know its number of rows; the door says what is wrong with its tables.
    if memory is None or not isinstance(n_rows, Integral) or 16 * int(n_rows) ** 2 <= memory:
        return
    most = int((memory / 16) ** 0.5) // 1000 * 1000
    other = _LARGE_SCALE.get(machine)
    instead = (
        f"Use {other}, which needs no such matrix, or"
        if other
        else "Use Nystroem features in front of a linear model, or"
    )
    raise MemoryError(
        f"{machine} holds a kernel value for every pair of rows: "
        f"{8e-9 * int(n_rows) ** 2:,.0f} GB for {counted(int(n_rows), 'row')}, on a computer with "
        f"{1e-9 * memory:,.0f} GB. {instead} a sample of at most {most:,} rows."
    )
