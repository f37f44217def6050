"""One style for every picture: colours, a figure of small panels, text that is shown literally.

The colours are those of Okabe and Ito, which stay apart for colour-blind readers; the three that
carry meaning (known, missing, model) differ in lightness as well, so that they survive grey print.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from absentia.optional_imports import optional_import

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Text and axes, lines that guide the eye, what was observed, what is missing, what was learned.
INK, FAINT, KNOWN, MISSING, MODEL = "#33415c", "#c9d1d9", "#0b3954", "#d55e00", "#56b4e9"
#: For classes and other kinds without an order.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f", "#4d4d4d")


def pyplot() -> ModuleType:
    """Return ``matplotlib.pyplot``, or raise an error that names its extra."""
    plt: ModuleType = optional_import("matplotlib.pyplot", "plot", "A plot")
    return plt


def grid_of_panels(
    number: int, *, across: int = 4, width: float = 2.3, height: float = 1.7
) -> tuple[Any, list[Any]]:
    """Return a figure of small panels, at most ``across`` side by side, and its list of axes.

    The size of a panel is in inches; places that are left over stay empty.
    """
    across = min(across, number)
    down = -(-number // across)
    figure, grid = pyplot().subplots(
        down,
        across,
        figsize=(max(3.2, width * across), height * down + 0.4),
        squeeze=False,
        layout="constrained",
    )
    panels = [tidy(axes) for axes in grid.ravel()]
    for axes in panels[number:]:
        axes.set_visible(False)
    return figure, panels[:number]


def tidy(axes: Axes) -> Any:
    """Remove the frame of a panel, and set the colours of its text."""
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize="small", length=3, color=FAINT)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
        text.set_color(INK)
        text.set_fontsize("small")
    return axes
