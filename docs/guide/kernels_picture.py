"""Draw kernels.png: what each kernel makes of one row that misses a value.

Run ``python docs/guide/kernels_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from absentia import (
    EmbeddingRBF,
    ExpectedDistanceRBF,
    ExpectedLinear,
    ExpectedPolynomial,
    ExpectedRBF,
    GammaRBF,
    GaussianDensity,
    GenRBF,
)

GAMMA = 0.5
SPAN = 3.2
PANELS = [
    ("the mean filled in, then RBF", EmbeddingRBF(ExpectedLinear(), theta=GAMMA)),
    ("ExpectedRBF", ExpectedRBF(GAMMA)),
    ("GenRBF", GenRBF(GAMMA)),
    ("ExpectedDistanceRBF (ESD)", ExpectedDistanceRBF(GAMMA)),
    ("GammaRBF (EGK)", GammaRBF(GAMMA)),
    ("EmbeddingRBF(ExpectedRBF)", EmbeddingRBF(ExpectedRBF(GAMMA), theta=2.0)),
    ("ExpectedLinear", ExpectedLinear()),
    ("ExpectedPolynomial", ExpectedPolynomial(2, gamma=0.5, coef0=1.0)),
]


def main() -> None:
    """Draw one panel to a kernel: its value between the row and each point of the plane."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.7], [0.7, 2.0]], size=400)
    density = GaussianDensity().fit(X)
    row = density.condition([[1.0, np.nan]])
    mean, deviation = row.mean()[0], np.sqrt(row.covariance()[0, 1, 1])
    axis = np.linspace(-SPAN, SPAN, 81)
    points = density.condition(np.array([(x, y) for y in axis for x in axis]))

    figure, panels = plt.subplots(2, 4, figsize=(11, 5.5), sharex=True, sharey=True)
    for panel, (title, kernel) in zip(panels.flat, PANELS, strict=True):
        values = kernel(row, points).reshape(len(axis), len(axis))
        bounded = np.abs(values).max() <= 1.0
        largest = 1.0 if bounded else np.abs(values).max()
        levels = np.linspace(0.0 if bounded else -largest, largest, 11 if bounded else 13)
        colours = "Blues" if bounded else "PuOr"
        filled = panel.contourf(axis, axis, values, levels=levels, cmap=colours)
        panel.contour(axis, axis, values, levels=levels, colors="white", linewidths=0.4)
        panel.plot(X[:, 0], X[:, 1], ".", color="black", markersize=1.2, alpha=0.25)
        ends = [mean[1] - 2 * deviation, mean[1] + 2 * deviation]
        panel.plot([mean[0]] * 2, ends, color="crimson", linewidth=2)
        panel.plot(*mean, "o", color="crimson", markersize=5)
        panel.set_title(f"{title}\nlargest value {values.max():.2f}", fontsize=9)
        panel.set_aspect("equal")
        panel.set(xlim=(-SPAN, SPAN), ylim=(-SPAN, SPAN))
        panel.tick_params(labelsize=7)
        bar = figure.colorbar(filled, ax=panel, fraction=0.046, pad=0.03)
        bar.ax.tick_params(labelsize=6)
    for panel in panels[1]:
        panel.set_xlabel("observed", fontsize=8)
    for panel in panels[:, 0]:
        panel.set_ylabel("missing", fontsize=8)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("kernels.png"), dpi=80, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
