"""The style of the gallery's figures: the colours and frames of the library's own pictures."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt

from absentia.pictures import COLOURS, FAINT, INK


def set_style(gallery_conf: dict[str, Any], example: str) -> None:
    """Prepare matplotlib before each example; sphinx-gallery calls this."""
    plt.rcParams.update(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": FAINT,
            "axes.labelcolor": INK,
            "axes.titlecolor": INK,
            "axes.titlesize": "medium",
            "axes.prop_cycle": plt.cycler(color=COLOURS),
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
        }
    )
