"""Tables and priors that the tests of densities share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from absentia.beliefs import Prior


def random_prior(rng, n_components, n_features):
    roots = rng.standard_normal((n_components, n_features, n_features + 2))
    covariances = roots @ roots.transpose(0, 2, 1) / n_features
    weights = rng.dirichlet(np.full(n_components, 5.0))
    return Prior(weights, rng.standard_normal((n_components, n_features)), covariances)


def with_holes(rng, X, rate):
    """Punch holes, leaving every column with a value."""
    holes = rng.random(X.shape) < rate
    holes[rng.integers(len(X), size=X.shape[1]), np.arange(X.shape[1])] = False
    return np.where(holes, np.nan, X)


def gaussian_table(rng, n_samples, n_features, rate):
    """Correlated rows with holes, columns of different scales and centres."""
    mixing = rng.standard_normal((n_features, n_features))
    X = rng.standard_normal((n_samples, n_features)) @ mixing
    return with_holes(rng, 3.0 + X * np.geomspace(0.1, 10, n_features), rate)


@st.composite
def tables(draw, max_rows=40, max_columns=6):
    """Tables of any shape and share of holes, from one seed: correlated, sometimes degenerate."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, max_columns))
    X = gaussian_table(rng, n, d, draw(st.sampled_from([0.0, 0.2, 0.5, 0.8])))
    if draw(st.booleans()):
        X[:, 0] = np.where(np.isnan(X[:, 0]), np.nan, draw(st.sampled_from([0.0, 7.0, 1e8])))
    return X
