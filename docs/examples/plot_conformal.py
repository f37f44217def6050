"""
Intervals whose coverage holds for every missing pattern
========================================================

A split conformal interval covers 90 % of all rows, but not 90 % of the rows that miss the important
column. :class:`absentia.ConformalRegressor` hides values in the calibration rows until they miss
what the test row misses, and so gives the coverage per pattern.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator

from absentia import ConformalRegressor, KernelRidge

rng = np.random.default_rng(0)


def draw(size):
    """Return rows of three columns with 40 % of the values missing, and their targets."""
    X = rng.normal(size=(size, 3))
    y = X @ [2.0, 1.0, 0.5] + 0.5 * rng.normal(size=size)
    X[rng.random(X.shape) < 0.4] = np.nan
    return X, y


model = KernelRidge(kernel="linear", alpha=0.1).fit(*draw(300))
X_calibration, y_calibration = draw(1000)
X_test, y_test = draw(4000)

# %%
# The same model and the same calibration rows, two methods. A pattern is written with one letter
# per column, ``-`` where it is missing.

letters = np.where(np.isnan(X_test), "-", np.array(["a", "b", "c"]))
patterns = np.array(["".join(row) for row in letters])
shown = sorted(set(patterns), key=lambda pattern: (pattern.count("-"), pattern))
found = {}
for method in ("split", "nested*"):
    conformal = ConformalRegressor(FrozenEstimator(model), method=method, random_state=0)
    intervals = conformal.fit(X_calibration, y_calibration).predict_interval(X_test)
    covered = intervals.covers(y_test)
    found[method] = [
        (covered[patterns == p].mean(), intervals.width[patterns == p].mean()) for p in shown
    ]
    print(f"{method:8} coverage over all rows {covered.mean():.3f}")
print("\npattern  rows     split: coverage, width    nested*: coverage, width")
for i, p in enumerate(shown):
    (a, b), (c, d) = found["split"][i], found["nested*"][i]
    print(f"{p:7} {(patterns == p).sum():5} {a:18.3f} {b:8.2f} {c:19.3f} {d:8.2f}")

# %%
# Split conformal prediction gives every row the same width: too wide for complete rows, too narrow
# where column ``a`` is missing. The method per pattern needs enough calibration rows: with 400, not
# 1000, too few of them are complete, and complete rows get intervals as wide as those of split.

figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for method, values in found.items():
    axes.plot(shown, [100 * coverage for coverage, _ in values], "o", label=method)
axes.axhline(90, color="0.6", lw=0.8)
axes.set(xlabel="observed columns", ylabel="coverage, %", ylim=(60, 101))
axes.legend(frameon=False)
