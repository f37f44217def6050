"""
How similar is a row with a missing value?
==========================================

Three ways to compare an incomplete row with every point of the plane: fill in the conditional mean
and take the RBF kernel, average the RBF kernel over what the row could be
(:class:`absentia.ExpectedRBF`), and normalise that average (:class:`absentia.GenRBF`).
"""

import matplotlib.pyplot as plt
import numpy as np

from absentia import ExpectedRBF, GaussianDensity, GenRBF

rng = np.random.default_rng(0)
X = rng.multivariate_normal([0, 0], [[1.0, 0.5], [0.5, 1.0]], size=400)
density = GaussianDensity().fit(X)
row = density.condition([[1.0, np.nan]])
filled = density.condition(row.mean())
print(f"the missing value: {row.mean()[0, 1]:.2f} +- {row.spread()[0, 1]:.2f}")

# %%
# The same row compared with a few points. The filled-in row is certain of a value that nobody saw.

points = np.array([[1.0, 0.5], [1.0, 2.0], [1.0, -1.0], [-1.0, 0.5]])
gamma = 1.0
kernels = {
    "mean filled in, RBF": (GenRBF(gamma), filled),
    "ExpectedRBF": (ExpectedRBF(gamma), row),
    "GenRBF": (GenRBF(gamma), row),
}
print(f"{'':20}" + "".join(f"{tuple(p.tolist())!s:>14}" for p in points))
for name, (kernel, belief) in kernels.items():
    values = kernel(belief, density.condition(points))[0]
    print(f"{name:20}" + "".join(f"{value:14.3f}" for value in values))

# %%
# Over the whole plane. The bar is the belief: mean and two standard deviations.

line = np.linspace(-3, 3, 80)
grid = density.condition(np.stack(np.meshgrid(line, line), axis=2).reshape(-1, 2))
figure, panels = plt.subplots(1, 3, figsize=(9.5, 3.4), sharey=True, layout="constrained")
for axes, (name, (kernel, belief)) in zip(panels, kernels.items(), strict=True):
    values = kernel(belief, grid).reshape(80, 80)
    shades = axes.contourf(line, line, values, levels=np.linspace(0, 1, 11), cmap="Blues")
    axes.errorbar(1.0, row.mean()[0, 1], 2 * row.spread()[0, 1], fmt="o", color="C1", capsize=4)
    axes.set(title=name, xlabel="observed column", aspect="equal")
panels[0].set_ylabel("missing column")
figure.colorbar(shades, ax=panels, label="similarity", shrink=0.8)
