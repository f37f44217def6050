"""Draw suspicious.png: the p-values of all cells of a table with two typed errors.

Run ``python docs/guide/suspicious_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from absentia import amputation, suspicious_cells


def main() -> None:
    """Draw minus the logarithm of the p-values by column, suspicious cells in red."""
    X = load_wine(as_frame=True).data
    X = amputation.mcar(X, 0.3, random_state=0)
    X.loc[7, "alcohol"] = 1.43
    X.loc[20, "flavanoids"] = 24.1
    found = suspicious_cells("gaussian", X)
    height = -np.log10(np.maximum(found.all_p_values, 1e-60))
    figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    rng = np.random.default_rng(0)
    places = np.arange(X.shape[1]) + rng.uniform(-0.3, 0.3, size=X.shape)
    axes.scatter(places, height, s=6, color="#9aa7b4", linewidths=0)
    mask = found.mask
    axes.scatter(places[mask], height[mask], s=26, color="#c8553d", linewidths=0)
    for at in range(len(found)):
        i, j = found.rows[at], found.columns[at]
        label = f"{found.values[at]:g}, not {found.expected[at]:.3g}"
        axes.annotate(
            label, (places[i, j], height[i, j]), (6, -3), textcoords="offset points", fontsize=8
        )
    axes.set_xticks(range(X.shape[1]), X.columns, rotation=30, ha="right", fontsize=8)
    axes.set(ylabel="− log₁₀ p of the cell", yscale="symlog")
    axes.set_ylim(-0.2, 110)
    axes.set_yticks([0, 1, 3, 10, 30, 60], ["0", "1", "3", "10", "30", "60"])
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(
        Path(__file__).with_name("suspicious.png"), dpi=90, pil_kwargs={"optimize": True}
    )


if __name__ == "__main__":
    main()
