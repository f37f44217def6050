"""Rows in slices, so that a workspace stays within a bound."""

from __future__ import annotations

__all__ = ["bounded_slices"]


def bounded_slices(n_rows: int, floats_per_row: int, budget: int = 2**22) -> list[slice]:
    """Cut ``n_rows`` into slices of at most ``budget`` floats each (32 MB by default)."""
    # As integers of Python: a small one of NumPy cannot be compared with the budget.
    step = max(1, budget // max(1, int(floats_per_row)))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
