"""Small tables of numbers and categories with holes in both, and densities of them."""

from __future__ import annotations

import numpy as np

from absentia import MixedDensity


def mixed_table(n=60, missing=0.25, seed=0):
    """Return numbers in columns 0 and 2, categories in columns 1 (3 values) and 3 (2 values)."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=n)
    X = np.column_stack(
        [
            rng.normal(2.0 * kind),
            np.where(rng.random(n) < 0.8, kind, rng.integers(3, size=n)),
            rng.normal(-kind) + 0.5 * rng.normal(size=n),
            10.0 + (rng.random(n) < 0.3 + 0.2 * kind),
        ]
    )
    X[rng.random(X.shape) < missing] = np.nan
    return X


def fitted(X, n_components=2, **params):
    return MixedDensity(n_components, categories=[1, 3], random_state=0, **params).fit(X)
