"""
A missing value as a belief
===========================

A row with a missing value is not a point but a distribution: the density of the table, conditioned
on what was observed. This example looks at two such rows, and at one wine of which half the
measurements are missing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from absentia import GaussianDensity, MixtureDensity, amputation

# %%
# Two clusters, and rows of which only the first column is known.

rng = np.random.default_rng(0)
X = np.vstack([rng.normal([-2, -1], 0.6, (150, 2)), rng.normal([1.5, 2], [1.0, 0.5], (150, 2))])
rows = np.array([[-2.0, np.nan], [-0.3, np.nan]])
densities = {
    "one Gaussian": GaussianDensity().fit(X),
    "mixture of two": MixtureDensity(2, random_state=0).fit(X),
}
for name, density in densities.items():
    beliefs = density.condition(rows)
    for row, mean, spread in zip(rows, beliefs.mean(), beliefs.spread(), strict=True):
        print(f"{name:15} x0 = {row[0]:4.1f}:  x1 = {mean[1]:5.2f} +- {spread[1]:.2f}")

# %%
# The mixture knows to which cluster the first row belongs; the second lies between the two, and its
# belief has two peaks. Draws from both beliefs:

figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
for axes, (name, density) in zip(panels, densities.items(), strict=True):
    draws = density.condition(rows).sample(1000, random_state=0)
    axes.plot(*X.T, ".", color="0.8", ms=4)
    for i, colour in enumerate(("C0", "C1")):
        axes.axvline(rows[i, 0], color=colour, lw=0.8, ls=":")
        counts, edges = np.histogram(draws[:, i, 1], bins=40, range=(-4, 5), density=True)
        axes.fill_betweenx(
            edges[:-1], rows[i, 0], rows[i, 0] + counts, color=colour, alpha=0.6, step="post"
        )
    axes.set(title=name, xlabel="x0, observed", xlim=(-4, 5))
panels[0].set_ylabel("x1, missing")

# %%
# One wine with half of its values missing. Dots are known values, curves what the missing ones
# could be; :meth:`absentia.Beliefs.to_frame` has the same as numbers.

wine = load_wine(as_frame=True).data
holes = amputation.mcar(wine, rate=0.5, random_state=0)
beliefs = GaussianDensity().fit(holes).condition(holes)
figure = beliefs.plot(0)
print(beliefs[:1].to_frame().round(2).T.to_string(header=False))
