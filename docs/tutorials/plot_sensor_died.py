"""
My model is in production and a sensor died
===========================================

A plant predicts the quality of its product from eight sensors, with a boosted model that was
trained last year on complete records. Tonight a sensor stopped. The model still answers, for it
accepts NaN; how good are its answers, and what can be done before somebody with a ladder arrives?

This tutorial goes from the log file to a decision, and does not train the model again.
"""

import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

from absentia import (
    ConformalRegressor,
    GaussianDensity,
    MarginalRegressor,
    describe_missingness,
    measure_next,
)

SENSORS = ["inlet", "outlet", "jacket", "pressure", "flow", "feed", "stirrer", "torque"]


def log_file(rows, seed):
    """Return the text of a log: two hidden states of the plant move all sensors."""
    rng = np.random.default_rng(seed)
    heat, load = rng.normal(size=(2, rows))
    values = {
        "inlet": 60 + 5 * heat + rng.normal(size=rows),
        "outlet": 75 + 6 * heat + 2 * load + rng.normal(size=rows),
        "jacket": 90 + 4 * heat + 2 * rng.normal(size=rows),
        "pressure": 3 + 0.4 * heat + 0.3 * load + 0.2 * rng.normal(size=rows),
        "flow": 12 + 2 * load + 0.8 * rng.normal(size=rows),
        "feed": 8 + 1.5 * load + 0.5 * rng.normal(size=rows),
        "stirrer": 200 + 15 * load + 10 * rng.normal(size=rows),
        "torque": 30 + 3 * load - 2 * heat + 2 * rng.normal(size=rows),
    }
    frame = pd.DataFrame(values)
    frame["quality"] = (
        80
        - 1.5 * (frame["outlet"] - 75) / 6
        - 4 * np.maximum(frame["pressure"] - 3.3, 0) / 0.5
        + 2 * np.tanh((frame["flow"] - 12) / 2)
        + 0.5 * rng.normal(size=rows)
    )
    frame["time"] = pd.date_range("2024-03-01", periods=rows, freq="10min").astype(str)
    return frame.round(3).to_csv(index=False)


# %%
# The model as it is in production
# --------------------------------
# Last year's log is complete. The first half trains the model; of the rest, 300 records are for
# calibration and 300 to see what would have happened. In your own plant the first step is done
# already, by somebody else, with any library.

history = pd.read_csv(io.StringIO(log_file(1200, seed=0)))
X, y = history[SENSORS], history["quality"]
model = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(X[:600], y[:600])
X_calibration, y_calibration = X[600:900], y[600:900]
X_new, y_new = X[900:], y[900:].to_numpy()


def rmse(predicted):
    """Return the root mean squared error on the new records."""
    return float(np.sqrt(np.mean((predicted - y_new) ** 2)))


print(f"all sensors at work: rmse {rmse(model.predict(X_new)):.2f}")

# %%
# Tonight
# -------
# The pressure sensor is dead, and the flow meter drops out now and then.

tonight = X_new.copy()
tonight["pressure"] = np.nan
tonight.loc[np.random.default_rng(1).random(len(tonight)) < 0.4, "flow"] = np.nan
print(describe_missingness(tonight, mcar_test=False))

# %%
# What the model does about it
# ----------------------------
# Each tree of a boosted model sends NaN to one side at every split. No training row had NaN, so
# nothing was learned about which side is right. A density of the sensors, fitted to last year's
# log, knows what the dead sensor would probably say, and how sure that is;
# :class:`absentia.MarginalRegressor` averages the model over it.

density = GaussianDensity().fit(X[:600])
rescued = MarginalRegressor(
    FrozenEstimator(model), density=FrozenEstimator(density), n_draws=32, random_state=0
).fit(X[:600])
conditional_means = density.impute(tonight)
answers = {
    "model, NaN as it comes": model.predict(tonight),
    "model, mean of the column": model.predict(tonight.fillna(X[:600].mean())),
    "model, conditional mean": model.predict(conditional_means),
    "averaged over what it could be": rescued.predict(tonight),
}
for name, predicted in answers.items():
    print(f"{name:32} rmse {rmse(predicted):.2f}")

# %%
# A filled-in table gives one number per record. The average also knows how much the answer varies
# with what is missing, and which sensor that is due to (variances; ``by_flow`` is what a working
# flow meter would remove):

doubt = rescued.predict_uncertainty(tonight[:6])
columns = ["prediction", "missing", "by_pressure", "by_flow"]
print(doubt.to_frame()[columns].round(2).to_string())

# %%
# An interval for tonight
# -----------------------
# :class:`absentia.ConformalRegressor` finds the margin on records the model has not seen, by hiding
# in them what tonight's record misses. Records that miss more get wider intervals, and each kind is
# covered as often as promised: 90 %.

conformal = ConformalRegressor(FrozenEstimator(rescued), method="exact", random_state=0)
intervals = conformal.fit(X_calibration, y_calibration).predict_interval(tonight)
covered = intervals.covers(y_new)
without_flow = tonight["flow"].isna().to_numpy()
for name, which in (("pressure missing", ~without_flow), ("pressure and flow", without_flow)):
    print(
        f"{name:18} {which.sum():4} records, width {intervals.width[which].mean():.2f},"
        f" covered {covered[which].mean():.1%}"
    )
complete = conformal.predict_interval(X_new)
print(
    f"{'all sensors':18} {len(X_new):4} records, width {complete.width.mean():.2f},"
    f" covered {complete.covers(y_new).mean():.1%}"
)

# %%
# Which repair first?
# -------------------
# Where both sensors are out: which repair is worth more to the prediction? The pressure sensor
# costs three times as much to replace.

both = tonight[without_flow][:40]
found = measure_next(rescued, both, costs={"pressure": 3.0, "flow": 1.0}).to_frame()
print(found.groupby("column")[["gain", "cost", "gain_per_cost"]].mean().round(3).to_string())

# %%
# The decision
# ------------
# Records whose interval reaches below 76 are held back for the laboratory; the others are released.
# The picture shows the first forty of the night, in order of the prediction.

limit = 76.0
held, bad = intervals.lower < limit, y_new < limit
naive = answers["model, NaN as it comes"]
print(f"{bad.sum()} of {len(bad)} records were below {limit:.0f} in truth")
for name, stopped in (("interval reaches below", held), ("NaN as it comes, number", naive < limit)):
    print(f"{name:24} {stopped.sum():3} held back, {np.sum(bad & ~stopped):2} bad ones released")

# %%

first = np.argsort(answers["averaged over what it could be"][:40])
place = np.arange(len(first))
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
for label, which, colour in (("released", ~held, "C0"), ("held back", held, "C1")):
    some = which[first]
    ends = intervals.lower[first][some], intervals.upper[first][some]
    axes.vlines(place[some], *ends, color=colour, label=label)
axes.plot(place, y_new[first], ".", color="0.2", label="truth")
axes.axhline(limit, color="0.6", lw=0.8)
axes.set(xlabel="records of the night, by prediction", ylabel="quality", xticks=[])
axes.legend(frameon=False, ncols=3)
