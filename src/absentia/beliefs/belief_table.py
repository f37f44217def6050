"""Beliefs as tables: completed values with their spread, for data frames and notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.engine.slices import bounded_slices
from absentia.tables import FloatArray

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs

__all__ = ["completed_frame", "html_table", "spread_of"]

_SHOWN_ROWS, _SHOWN_COLUMNS = 8, 20


def spread_of(beliefs: Beliefs) -> FloatArray:
    """Return the standard deviation of each value, shape (n_samples, n_features)."""
    out = np.empty(beliefs.shape)
    for part in bounded_slices(len(beliefs), beliefs.n_components * beliefs.n_features**2):
        variances = np.diagonal(beliefs[part].covariance(), axis1=1, axis2=2)
        out[part] = np.sqrt(np.maximum(variances, 0.0))
    return out


def completed_frame(beliefs: Beliefs, index: Any) -> Any:
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
