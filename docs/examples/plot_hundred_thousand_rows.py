"""
A hundred thousand rows
=======================

An exact Gram matrix of 100 000 rows would take 80 GB. :class:`absentia.LargeScaleRidge` uses random
Fourier features of beliefs, whose cost is linear in the number of rows, and reads a table in chunks
that need not fit into memory.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator

from absentia import Chunks, GaussianDensity, LargeScaleRidge

COLUMNS = 6


def chunk(seed, size=10_000):
    """Return rows with 20 % of the values missing, and their targets; a file would do as well."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(size, 1))
    X = 0.7 * shared + 0.7 * rng.normal(size=(size, COLUMNS))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=size)
    return np.where(rng.random(X.shape) < 0.2, np.nan, X), y


rows = Chunks(lambda: (chunk(seed) for seed in range(10)))
X_test, y_test = chunk(99, size=2_000)

# %%
# The density is fitted to the first 20 000 rows; the machine passes over all 100 000.

started = time.perf_counter()
density = GaussianDensity().fit(np.vstack([chunk(0)[0], chunk(1)[0]]))
machine = LargeScaleRidge(
    n_components=256, gamma=0.2, density=FrozenEstimator(density), random_state=0
).fit(rows)
seconds = time.perf_counter() - started
print(f"100,000 rows in {seconds:.1f} s, R² = {machine.score(X_test, y_test):.3f}")

# %%
# The error falls with the number of rows and of features. (A row that misses one of the first three
# columns cannot be predicted well by anybody: that is the ceiling.)

sizes = (1_000, 5_000, 20_000)
X, y = (np.concatenate(part) for part in zip(chunk(0), chunk(1), strict=True))
figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
print("R² on new rows   " + "".join(f"{size:>9,} rows" for size in sizes))
for features in (64, 256):
    scores = [
        LargeScaleRidge(
            n_components=features, gamma=0.2, density=FrozenEstimator(density), random_state=0
        )
        .fit(X[:size], y[:size])
        .score(X_test, y_test)
        for size in sizes
    ]
    print(f"{features:4} features    " + "".join(f"{score:14.3f}" for score in scores))
    axes.semilogx(sizes, scores, "o-", label=f"{features} features")
axes.set(xlabel="rows", ylabel="R² on new rows")
axes.legend(frameon=False)
