"""Draw imputation.png: a slope from an incomplete column, by six ways to treat missing values.

Run ``python docs/guide/imputation_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression

from absentia import DensityImputer, GaussianDensity, pooled


def table(n: int = 200, seed: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return incomplete rows, the target, and the complete rows; both slopes are one."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    z = 0.6 * x + 0.8 * rng.normal(size=n)
    y = 1 + x + z + rng.normal(size=n)
    complete = np.column_stack([x, z])
    holes = complete.copy()
    holes[rng.random(n) < 1 / (1 + np.exp(1.2 - (x + y) / 1.5)), 1] = np.nan
    return holes, y, complete


def main() -> None:
    """Draw the slope of the incomplete column with its interval, one line per method."""
    X, y, complete = table()
    seen = ~np.isnan(X[:, 1])
    whole = {"m": 2, "random_state": 0, "density": GaussianDensity()}
    many = {"m": 20, "random_state": 0, "density": GaussianDensity()}
    model = LinearRegression()
    joined = np.column_stack([X, y])
    single = DensityImputer(GaussianDensity()).fit_transform(joined)[:, :2]
    found = {
        "all values": pooled(model, complete, y, **whole),
        "complete rows only": pooled(model, X[seen], y[seen], **whole),
        "means of columns": pooled(model, SimpleImputer().fit_transform(X), y, **whole),
        "conditional means, once": pooled(model, single, y, **whole),
        "20 draws, fixed parameters": pooled(model, X, y, proper=False, **many),
        "20 draws, proper": pooled(model, X, y, **many),
    }
    figure, axes = plt.subplots(figsize=(7.5, 2.8), layout="constrained")
    for at, (name, estimates) in enumerate(found.items()):
        low, high = estimates.interval()[2]
        proper = name == "20 draws, proper"
        colour = "#c8553d" if proper else "#51606e"
        axes.plot([low, high], [-at, -at], color=colour, linewidth=2)
        axes.plot(estimates.estimates[2], -at, "o", color=colour)
        axes.annotate(f"{high - low:.2f} wide", (high, -at), (6, -3), textcoords="offset points",
                      fontsize=8)  # fmt: skip
    axes.axvline(1, color="#9aa7b4", linestyle=":", zorder=0)
    axes.set_yticks(-np.arange(len(found)), list(found))
    axes.set(xlabel="slope of the incomplete column and its 95 % interval; the true slope is 1")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(
        Path(__file__).with_name("imputation.png"), dpi=90, pil_kwargs={"optimize": True}
    )
    for name, estimates in found.items():
        print(f"{name:28}", estimates.estimates[2].round(3), estimates.interval()[2].round(3))


if __name__ == "__main__":
    main()
