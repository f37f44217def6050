"""The cells of a raw table that are least likely given the rest of their rows, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from absentia.densities.suspicious_cells import suspicious_cells
from absentia.hidden_warnings import hidden_warnings
from absentia.tables.column_plan import ColumnPlan

if TYPE_CHECKING:
    import pandas as pd

#: Rows times the cube of the columns up to which cells are judged.
_PATIENCE = 3e7


def suspects(
    frame: pd.DataFrame, kinds: Mapping[str, str] | None = None, most: int = 10
) -> list[dict[str, Any]]:
    """Return the most suspicious cells: row (counted from 1), column, value and expected value.

    Empty where there are none, and where the table is too large or holds nothing to judge them by.
    """
    if len(frame) < 10 or len(frame) * frame.shape[1] ** 3 > _PATIENCE:
        return []
    try:
        with hidden_warnings():
            plan = ColumnPlan.of(frame, kinds=dict(kinds or {}))
            found = suspicious_cells("gaussian", plan.read(frame))
    except ValueError:
        return []
    return [
        {
            "row": int(found.rows[k]) + 1,
            "column": found.names[found.columns[k]],
            "value": _text(found.values[k]),
            "expected": _text(found.expected[k]),
        }
        for k in range(min(most, len(found)))
    ]


def _text(value: Any) -> str:
    if hasattr(value, "isoformat"):
        return str(value.isoformat()[:10])
    return f"{value:.4g}" if isinstance(value, float) else str(value)
