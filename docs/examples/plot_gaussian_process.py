"""
A Gaussian process with missing inputs
======================================

A Gaussian process says how far off its prediction may be. Where the input that matters is missing,
in training or in prediction, its error bars should grow, and by the right amount.
"""

import matplotlib.pyplot as plt
import numpy as np

from absentia import GaussianProcessRegressor

rng = np.random.default_rng(0)


def draw(size):
    """Return two related columns, 30 % of the values missing, and a sine of the first."""
    X = rng.multivariate_normal([0, 0], [[2.0, 1.4], [1.4, 2.0]], size=size)
    y = np.sin(1.5 * X[:, 0]) + 0.1 * rng.normal(size=size)
    return np.where(rng.random(X.shape) < 0.3, np.nan, X), y


X, y = draw(150)
X_test, y_test = draw(600)
machine = GaussianProcessRegressor().fit(X, y)
for name, log_value in zip(machine.hyperparameter_names_, machine.theta_, strict=True):
    print(f"{name} = {np.exp(log_value):.3g}")

# %%
# Error and error bar by what was observed. ``z`` is the error in units of its bar; its spread
# should be one in every group. ``predict_uncertainty`` asks the function that was learned, and
# knows that the second column does not matter; ``return_std`` is about all functions that were
# possible before training, and is too cautious where that column is missing.

cautious, cautious_std = machine.predict(X_test, return_std=True)
doubt = machine.predict_uncertainty(X_test, by_column=False)
mean, std = doubt.prediction, np.sqrt(doubt.total)
first, second = ~np.isnan(X_test).T
groups = {
    "both observed": first & second,
    "second missing": first & ~second,
    "first missing": ~first & second,
    "both missing": ~first & ~second,
}
print("                 rows    rmse   mean bar   spread of z   the same by return_std")
for name, which in groups.items():
    error = y_test[which] - mean[which]
    z, cautious_z = error / std[which], (y_test - cautious)[which] / cautious_std[which]
    print(
        f"{name:15} {which.sum():5} {np.sqrt((error**2).mean()):7.2f} {std[which].mean():10.2f}"
        f" {z.std():13.2f} {cautious_z.std():24.2f}"
    )

# %%
# Left: the second column is missing, the first runs along the axis. Right: the first is missing,
# and only what the second says about it is left.

line = np.linspace(-4, 4, 200)
nothing = np.full_like(line, np.nan)
cases = {
    "second column missing": (np.column_stack([line, nothing]), groups["second missing"], 0),
    "first column missing": (np.column_stack([nothing, line]), groups["first missing"], 1),
}
figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for axes, (title, (rows, which, column)) in zip(panels, cases.items(), strict=True):
    doubt = machine.predict_uncertainty(rows, by_column=False)
    centre, width = doubt.prediction, np.sqrt(doubt.total)
    axes.fill_between(line, centre - 2 * width, centre + 2 * width, color="C0", alpha=0.2, lw=0)
    axes.plot(line, centre, color="C0")
    axes.plot(X_test[which, column], y_test[which], ".", color="C1", ms=4)
    axes.set(title=title, xlabel="the column that is observed")
panels[0].set_ylabel("target; two standard deviations")
