"""
Measurement error and bounds
============================

A missing value is one that is known badly. A value with an error bar, or one of which only a bound
is known ("below the detection limit"), is known somewhat better and is the same kind of thing:
:meth:`absentia.Beliefs.from_moments` takes means and variances, and every machine takes beliefs.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm, truncnorm

from absentia import Beliefs, GaussianProcessRegressor

rng = np.random.default_rng(0)


def measure(size):
    """Return true values, readings with their errors, and the target."""
    truth = rng.normal(size=size)
    error = np.where(rng.random(size) < 0.5, 0.1, 1.0)  # a good instrument and a bad one
    reading = truth + error * rng.normal(size=size)
    return truth, reading, error, np.sin(2 * truth) + 0.1 * rng.normal(size=size)


_, reading, error, y = measure(160)
truth_new, reading_new, error_new, y_new = measure(400)

# %%
# **Error bars.** Values are drawn from N(0, 1), so a reading ``r`` with error ``e`` leaves the
# belief with mean ``r / (1 + e²)`` and variance ``e² / (1 + e²)``. The process that knows this is
# compared with one that takes every reading as exact.


def believe(reading, error):
    """Return the beliefs about values with a standard normal prior, given their readings."""
    shrink = 1 / (1 + error**2)
    return Beliefs.from_moments((shrink * reading)[:, None], variances=(error**2 * shrink)[:, None])


aware = GaussianProcessRegressor().fit(believe(reading, error), y)
naive = GaussianProcessRegressor().fit(reading[:, None], y)
answers = {
    "errors known": aware.predict(believe(reading_new, error_new), return_std=True),
    "taken as exact": naive.predict(reading_new[:, None], return_std=True),
}
print("                  rmse: good, bad instrument    mean log density")
for name, (mean, std) in answers.items():
    squares = (y_new - mean) ** 2
    good, bad = (np.sqrt(squares[error_new == e].mean()) for e in (0.1, 1.0))
    print(f"{name:16} {good:14.2f} {bad:8.2f} {norm.logpdf(y_new, mean, std).mean():20.2f}")

figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for axes, (name, (mean, std)) in zip(panels, answers.items(), strict=True):
    for e, colour, label in ((1.0, "C1", "bad instrument"), (0.1, "C0", "good instrument")):
        some = np.flatnonzero(error_new == e)[:60]
        axes.errorbar(
            y_new[some], mean[some], std[some], fmt="o", ms=3, lw=0.8, color=colour, label=label
        )
    axes.plot([-1.2, 1.2], [-1.2, 1.2], color="0.6", lw=0.8)
    axes.set(title=name, xlabel="truth")
panels[0].set_ylabel("prediction, one standard deviation")
panels[0].legend(frameon=False)

# %%
# **Bounds.** Of a value below the limit of -0.5 nothing is known but that it lies below. Under the
# same prior it is a normal distribution cut off at the limit; its mean and variance make the
# belief. (A Gaussian with these moments stands in for the one-sided shape.)

limit = -0.5
cut = truncnorm(-np.inf, limit)
print(f"below {limit}: mean {cut.mean():.2f}, standard deviation {cut.std():.2f}")
below = truth_new < limit
mean = np.where(below, cut.mean(), truth_new)[:, None]
variance = np.where(below, cut.var(), 0.0)[:, None]
ways = {
    "bound as a belief": Beliefs.from_moments(mean, variances=variance),
    "limit filled in": Beliefs.from_moments(np.maximum(truth_new, limit)[:, None], variances=0.0),
}
for name, rows in ways.items():
    predicted, std = aware.predict(rows[below], return_std=True)
    z = (y_new[below] - predicted) / std
    rmse = np.sqrt(((y_new[below] - predicted) ** 2).mean())
    print(f"{name:18} rmse {rmse:.2f}, spread of z {z.std():.2f} (one is right)")
