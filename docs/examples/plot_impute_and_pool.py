"""
Impute a mixed table, and estimate a slope with an honest interval
==================================================================

A study has missing ages, wards and doses. A regression needs a complete table, and its standard
errors must say that part of the table was guessed: the table is completed several times, each
completed table is analysed, and the results are pooled (Rubin's rules).
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from absentia import DensityImputer, GaussianDensity, multiple_imputations, pooled

# %%
# Recovery takes 20 days, 3 less in the second ward, and 2 more per unit of dose. Doses go missing
# more often where recovery took long, so that complete rows are not typical.

rng = np.random.default_rng(0)
n = 250
age = rng.normal(55, 12, n)
ward = np.where(rng.random(n) < 0.5, "north", "south")
dose = 0.05 * (age - 55) + 0.8 * (ward == "south") + rng.normal(size=n)
days = 20 + 2 * dose - 3 * (ward == "south") + 0.1 * (age - 55) + 2 * rng.normal(size=n)
complete = pd.DataFrame({"dose": dose, "age": age.round(), "ward": ward})
table = complete.copy()
table.loc[rng.random(n) < 1 / (1 + np.exp(0.8 - (days - 20) / 2)), "dose"] = np.nan
table.loc[rng.random(n) < 0.15, "age"] = np.nan
table.loc[rng.random(n) < 0.15, "ward"] = None
print(table.head(6).round(2).to_string())

# %%
# One completed table, for a model that needs numbers: words stay words, and what was observed stays
# as it was.

imputed = DensityImputer("mixed", random_state=0).fit_transform(table)
print(imputed.head(6).round(2).to_string())

# %%
# Several completed tables are what an interval needs. They agree where a value was observed, and
# differ where it was not:

tables = multiple_imputations("mixed", table.assign(days=days), m=3, random_state=0)
some = table.index[table["dose"].isna()][:5]
draws = pd.concat(
    {f"draw {i + 1}": drawn.loc[some, "dose"] for i, drawn in enumerate(tables)}, axis=1
)
print(draws.assign(true=complete.loc[some, "dose"]).round(2).to_string())

# %%
# :func:`absentia.pooled` does it all in one call. A table with words needs an analysis of your own:
# a callable that returns coefficients and their covariance, or a result of statsmodels.

NAMES = ["intercept", "dose", "age", "south"]


def regression(X, y):
    """Return the coefficients of least squares and their covariance."""
    south = np.asarray(X["ward"]) == "south"
    design = np.column_stack([np.ones(len(X)), X["dose"], X["age"], south]).astype(float)
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ y
    noise = ((y - design @ coefficients) ** 2).sum() / (len(y) - design.shape[1])
    return coefficients, noise * inverse


found = pooled(regression, table, days, density="mixed", m=20, random_state=0)
print(found.to_frame().set_axis(NAMES).iloc[:, :4].round(3).to_string())

# %%
# The slope of the dose, which is 2, by four ways:

seen = table.notna().all(axis=1)
means = table.fillna({"dose": table["dose"].mean(), "age": table["age"].mean(), "ward": "north"})
ways = {
    "all values": (complete, days),
    "complete rows only": (table[seen], days[seen]),
    "means and the first ward": (means, days),
}
slopes = {}
for name, (rows, y) in ways.items():
    coefficients, covariance = regression(rows, y)
    half = 1.97 * np.sqrt(covariance[1, 1])
    slopes[name] = coefficients[1], coefficients[1] - half, coefficients[1] + half
slopes["20 imputations, pooled"] = found.estimates[1], *found.interval()[1]

figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
for at, (name, (slope, low, high)) in enumerate(slopes.items()):
    colour = "C1" if "pooled" in name else "C0"
    axes.plot([low, high], [-at, -at], color=colour, linewidth=2)
    axes.plot(slope, -at, "o", color=colour)
    print(f"{name:26} {slope:.2f}  {low:.2f} to {high:.2f}")
axes.axvline(2, color="0.6", linestyle=":", zorder=0)
axes.set_yticks(-np.arange(len(slopes)), list(slopes))
axes.set(xlabel="slope of the dose and its 95 % interval; the true slope is 2")

# %%
# Correlations and principal components of an incomplete table
# ------------------------------------------------------------
# Nothing needs to be filled in for these. Correlations have intervals from fits to the rows with
# random weights; the components are those of the fitted covariance, and every row has a belief
# about its scores.

numbers = table[["dose", "age"]].assign(days=days)
density = GaussianDensity().fit(numbers)
found = density.correlation(numbers, ci=0.95, n_bootstrap=50)
print(found.to_frame().round(2).to_string())
found.plot()

# %%

scale = np.sqrt(np.diag(density.covariance_))
shares, vectors = np.linalg.eigh(density.covariance_ / np.outer(scale, scale))
components = vectors[:, ::-1].T[:2] / scale
print("share of the variance:", (shares[::-1] / shares.sum()).round(2))
scores = density.condition(numbers).transform(components, -components @ density.mean_)
first, second = scores.mean().T
doubt = scores.spread()[:, 0]

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.errorbar(first, second, xerr=doubt, fmt=".", ms=4, lw=0.6, color="C0", ecolor="0.7")
axes.set(xlabel="first component, with its standard deviation", ylabel="second component")
plt.show()
