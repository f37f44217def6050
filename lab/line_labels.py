"""Labels beside the ends of lines in a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def label_ends(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write the names of lines beside their right ends, moved apart where they would overlap.

    Parameters
    ----------
    axes : matplotlib Axes
        With its limits as they will stay.
    ends : sequence of (value, name, colour)
        Where each line ends on the vertical axis.
    """
    low, high = axes.get_ylim()
    height = axes.get_window_extent().height / axes.figure.dpi * 72
    step = (high - low) * min(11 / height, 1 / max(len(ends), 1))
    ordered = sorted(ends)
    places = [value for value, _, _ in ordered]
    for k in range(1, len(places)):
        places[k] = max(places[k], places[k - 1] + step)
    # Labels above the top move down again, and push those below them.
    ceiling = high
    for k in reversed(range(len(places))):
        places[k] = min(places[k], ceiling)
        ceiling = places[k] - step
    for place, (_, name, colour) in zip(places, ordered, strict=True):
        axes.annotate(
            name,
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color=colour,
            annotation_clip=False,
        )
