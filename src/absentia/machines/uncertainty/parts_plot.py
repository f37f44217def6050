"""Pictures of an uncertainty; matplotlib is needed only here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from absentia.pictures import FAINT, INK, MISSING, MODEL, pyplot, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

if TYPE_CHECKING:
    from absentia.machines.uncertainty.parts import Uncertainty

__all__ = ["draw_columns", "draw_parts"]

_COLOURS = {"noise": FAINT, "model": MODEL, "missing": MISSING}
_LABEL = {"variance": "variance of the target", "entropy": "entropy of the class (nats)"}


def draw_parts(doubt: Uncertainty) -> Figure:
    """Draw one stacked bar per row, one panel per output."""
    plt = pyplot()
    outputs = 1 if doubt.total.ndim == 1 else doubt.total.shape[1]
    figure, panels = plt.subplots(
        outputs, 1, figsize=(7.5, 2.6 * outputs + 0.6), squeeze=False, layout="constrained"
    )
    rows = np.arange(len(doubt))
    for k, axes in enumerate(panels[:, 0]):
        base = np.zeros(len(doubt))
        for name, colour in _COLOURS.items():
            part = getattr(doubt, name).reshape(len(doubt), -1)[:, k]
            axes.bar(rows, part, bottom=base, color=colour, label=name, width=0.85)
            base = base + part
        axes.set(ylabel=_LABEL[doubt.unit], xlabel="row")
        tidy(axes)
    panels[0, 0].legend(
        frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), fontsize="small"
    )
    return figure


def draw_columns(doubt: Uncertainty, row: int, max_columns: int) -> Figure:
    """Draw what each missing column of a row would remove, against all of them together."""
    plt = pyplot()
    shares = doubt.by_column[row].reshape(len(doubt.columns), -1).sum(axis=1)
    order = [j for j in np.argsort(-shares, kind="stable") if shares[j] > 0][:max_columns]
    figure, axes = plt.subplots(figsize=(6.5, 1.3 + 0.3 * max(1, len(order))), layout="constrained")
    places = np.arange(len(order))[::-1]
    axes.barh(places, shares[order], color=_COLOURS["missing"], height=0.7)
    axes.set_yticks(places, [doubt.columns[j] for j in order], parse_math=False)
    missing = float(np.sum(doubt.missing[row]))
    axes.axvline(missing, color=_COLOURS["missing"], linestyle=":", linewidth=1.2)
    axes.axvline(float(np.sum(doubt.total[row])), color=INK, linestyle=":", linewidth=1.2)
    axes.set_xlabel(f"{_LABEL[doubt.unit]} that measuring the column would remove")
    axes.set_title(
        f"row {row}; dotted lines: all missing values together ({missing:.3g}) and the total "
        f"({float(np.sum(doubt.total[row])):.3g})",
        fontsize="small",
    )
    tidy(axes)
    return figure
