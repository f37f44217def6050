"""Draw large_scale.png: seconds of the curve on the page about scaling.

Run ``python docs/guide/large_scale_picture.py``; it needs the ``plot`` extra. The seconds are those
of docs/scaling.md, which ``python -m lab.scale`` measures.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from absentia.pictures import COLOURS

ROWS = (100_000, 1_000_000, 10_000_000)
DENSITY, RIDGE = (0.5, 6.2, 56.1), (0.5, 5.3, 52.5)


def main() -> None:
    """Draw both parts and their sum on logarithmic axes."""
    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    total = [d + r for d, r in zip(DENSITY, RIDGE, strict=True)]
    for name, seconds, style in (
        ("together", total, "o-"),
        ("density", DENSITY, "s--"),
        ("features and ridge", RIDGE, "^:"),
    ):
        axes.plot(ROWS, seconds, style, color=COLOURS[("s--", "^:", "o-").index(style)], label=name)
    for rows, seconds in zip(ROWS, total, strict=True):
        axes.annotate(
            f"{seconds:.0f} s", (rows, seconds), (0, 8), textcoords="offset points", ha="center"
        )
    axes.set(
        xscale="log", yscale="log", xlabel="rows", ylabel="seconds of one thread", ylim=(0.3, 300)
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    target = Path(__file__).with_name("large_scale.png")
    figure.savefig(target, dpi=90, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
