"""Beliefs as tables: completed values with their spread, for data frames and notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from absentia.beliefs.beliefs import Beliefs

__all__ = ["completed_frame", "html_table", "summary"]

_SHOWN_ROWS, _SHOWN_COLUMNS = 8, 20


def summary(beliefs: Beliefs) -> str:
    """Return how many rows, columns and components there are, and where they come from."""
    n, d = beliefs.shape
    k = beliefs.n_components
    n_patterns = beliefs.covariances.n_groups
    origin = (
        f"{n_patterns} pattern{'s' * (n_patterns != 1)}"
        if beliefs.covariances.is_conditioned
        else "from moments"
    )
    return (
        f"Beliefs of {n} row{'s' * (n != 1)} in {d} column{'s' * (d != 1)}, "
        f"{k} component{'s' * (k != 1)}, {origin}"
    )


def completed_frame(beliefs: Beliefs, index: Any) -> pd.DataFrame:
    """Return means and spreads side by side; see :meth:`Beliefs.to_frame`."""
    import pandas as pd

    values = np.stack([beliefs.mean(), beliefs.spread()], axis=2).reshape(len(beliefs), -1)
    names = [name for label in beliefs.labels for name in (label, f"{label} ±")]
    return pd.DataFrame(values, columns=names, index=index)


def html_table(beliefs: Beliefs) -> str:
    """Return the first rows and columns as HTML; every name is escaped."""
    few = beliefs[:_SHOWN_ROWS]
    wide = few.n_features > _SHOWN_COLUMNS
    head = "".join(f"<th>{escape(name)}</th>" for name in few.labels[:_SHOWN_COLUMNS])
    lines = []
    for i, (means, spreads) in enumerate(zip(few.mean(), few.spread(), strict=True)):
        cells = "".join(
            f"<td><b>{mean:.4g} ± {spread:.2g}</b></td>" if spread else f"<td>{mean:.4g}</td>"
            for mean, spread in list(zip(means, spreads, strict=True))[:_SHOWN_COLUMNS]
        )
        lines.append(f"<tr><th>{i}</th>{cells}{'<td>…</td>' if wide else ''}</tr>")
    more = "<p>…</p>" if len(beliefs) > len(few) else ""
    return (
        f"<div><p>{escape(repr(beliefs))}; what is uncertain in bold, mean ± standard deviation"
        f"</p><table><thead><tr><th></th>{head}{'<th>…</th>' if wide else ''}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>{more}</div>"
    )
