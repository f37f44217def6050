"""Tables with holes that the tests of the comparators share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def two_classes():
    """Make rows of two classes with a given share of holes."""

    def make(rate, n=60, d=4, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, d))
        X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
        y = (X[:, 0] + X[:, 2] ** 2 + 0.3 * rng.standard_normal(n) > 0.7).astype(int)
        X[rng.uniform(size=X.shape) < rate] = np.nan
        return X, y

    return make
