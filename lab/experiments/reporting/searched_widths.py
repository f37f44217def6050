"""Kernel widths that the inner cross-validation chose, and how often on the edge of its grid."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def searched_widths(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a table of the chosen widths, a row for each method that searched for one.

    Parameters
    ----------
    cells : DataFrame
        The cells of a run: ``method``, ``error`` and the dictionary ``facts`` of each.
    """
    import pandas as pd

    rows = []
    for method, part in cells[cells["error"] == ""].groupby("method"):
        facts = list(part["facts"])
        chosen = [f for f in facts if "inner_score" in f and isinstance(f.get("gamma"), float)]
        gammas = sorted(f["gamma"] for f in chosen)
        if not gammas:
            continue
        edges = Counter(f.get("gamma_edge", "") for f in facts)
        masked = sum(bool(f.get("mask_weight")) for f in facts)
        rows.append(
            {
                "method": method,
                "median gamma": gammas[len(gammas) // 2],
                "smallest": gammas[0],
                "largest": gammas[-1],
                "best on low edge, %": 100 * edges["low"] / len(facts),
                "best on high edge, %": 100 * edges["high"] / len(facts),
                "mask kernel chosen, %": 100 * masked / len(facts),
            }
        )
    return pd.DataFrame(rows)
