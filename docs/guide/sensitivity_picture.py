"""Draw sensitivity.png: a decision under shifts of what is missing, and a shift that is true.

Run ``python docs/guide/sensitivity_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from absentia import LogisticRegression, MarginalRegressor, sensitivity, tipping_point
from absentia.pictures import FAINT, INK, MISSING, MODEL, tidy

COLUMNS = ["mean radius", "mean texture", "mean smoothness", "mean concavity"]


def main() -> None:
    """Draw a patient of whom two values are missing, and a column that hides its large values."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    _draw_patient(left)
    _draw_censored(right)
    figure.savefig(Path(__file__).with_name("sensitivity.png"), dpi=90)


def _draw_patient(axes: plt.Axes) -> None:
    data = load_breast_cancer(as_frame=True)
    table = data.data[COLUMNS]
    benign = data.target.map({0: "malignant", 1: "benign"})
    model = LogisticRegression(C=10.0).fit(table[::2], benign[::2])
    rows = table[1::2].copy()
    rows[["mean radius", "mean concavity"]] = np.nan
    found = tipping_point(model, rows)
    # A patient whose decision one value can change, and the other cannot within two deviations.
    row = int(np.argmin(np.abs(found.worst - 0.7)))
    curves = sensitivity(model, rows.iloc[[row]], deltas=np.linspace(-2, 2, 17))
    for j, colour in zip(range(len(curves.columns)), (MISSING, MODEL), strict=True):
        probability = curves.predictions[j, :, 0, 1]
        axes.plot(curves.deltas, probability, color=colour, label=curves.columns[j])
        if abs(found.delta[row, j]) < 2:
            axes.plot(found.delta[row, j], 0.5, "o", color=colour)
    axes.axhline(0.5, color=INK, linestyle=":", linewidth=1.0)
    axes.axvline(0.0, color=FAINT, linewidth=1.0)
    axes.set(
        title="One patient, two values missing",
        xlabel="shift of the missing value, in its deviations",
        ylabel="probability of malignant",
        ylim=(0, 1),
    )
    axes.legend(frameon=False, fontsize="small")
    tidy(axes)


def _draw_censored(axes: plt.Axes) -> None:
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(2), [[1.0, 0.5], [0.5, 1.0]], size=3000)
    y = X[:, 0] + 2 * X[:, 1]
    model = LinearRegression().fit(X[:500], y[:500])
    for steepness, colour in ((0.0, FAINT), (1.0, MODEL), (2.0, MISSING)):
        holes = X.copy()
        chance = 1 / (1 + np.exp(-steepness * (X[:, 1] - 0.5)))
        holes[rng.random(3000) < chance, 1] = np.nan
        averaged = MarginalRegressor(FrozenEstimator(model), random_state=0).fit(holes)
        lacking = np.flatnonzero(np.isnan(holes[:, 1]))[:300]
        found = sensitivity(averaged, holes[lacking], deltas=np.linspace(-2, 2, 9), columns=[1])
        error = found.predictions[0, :, :, 0].mean(axis=1) - y[lacking].mean()
        axes.plot(found.deltas, error, color=colour, label=f"{steepness:g}")
        axes.plot(np.interp(0.0, error, found.deltas), 0.0, "o", color=colour)
    axes.axhline(0.0, color=INK, linestyle=":", linewidth=1.0)
    axes.set(
        title="Large values are missing",
        xlabel="assumed shift, in deviations",
        ylabel="error of the mean prediction",
    )
    axes.legend(
        frameon=False,
        fontsize="small",
        title="logit of missing, per deviation",
        title_fontsize="small",
    )
    tidy(axes)


if __name__ == "__main__":
    main()
