"""Tables of every kind from a seed: shapes, types, scales, holes, redundancy, outliers."""

from __future__ import annotations

import numpy as np
import pandas as pd


def examine_all(examine, seeds):
    """Examine a table for each seed; name all those that fail."""
    failures = []
    for seed in seeds:
        try:
            examine(seed)
        except Exception as error:
            failures.append(f"seed {seed}: {type(error).__name__}: {error}")
    assert not failures, "\n".join(failures)


def numbers(rng):
    """Make a complete table of float64."""
    n, d = int(rng.integers(2, 41)), int(rng.integers(1, 8))
    kind = rng.integers(6)
    if kind == 0:
        X = rng.standard_normal((n, d))
    elif kind == 1:
        X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))  # of low rank
    elif kind == 2:
        X = np.exp(2 * rng.standard_normal((n, d)))
    elif kind == 3:
        X = rng.integers(-2, 3, (n, d)).astype(np.float64)
    elif kind == 4:
        X = rng.dirichlet(np.full(d, 2.0), n)  # proportions, which sum to one
    else:
        X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    for _ in range(rng.integers(4)):
        _spoil(rng, X)
    reach = rng.choice([0, 0, 0, 3, 8, 40, 110])
    X *= 10.0 ** rng.uniform(-reach, reach, 1 if rng.random() < 0.5 else d)
    return X


def _spoil(rng, X):
    """Add one of the things that tables have."""
    n, d = X.shape
    i, j, k = rng.integers(n), rng.integers(d), rng.integers(d)
    kind = rng.integers(7)
    if kind == 0:
        X[:, j] = rng.choice([0.0, 1.0, -3.5, 1e8, 1e-8])  # constant
    elif kind == 1:
        X[:, j] = X[:, k]
    elif kind == 2:
        X[:, j] = X.sum(axis=1)
    elif kind == 3:
        X[rng.integers(n, size=n // 2)] = X[i]  # repeated rows
    elif kind == 4:
        X[i, j] += 10.0 ** rng.integers(3, 13)  # an outlier
    elif kind == 5:
        X[:, j] += 10.0 ** rng.integers(2, 9)  # far from zero
    else:
        X[:, j] = np.round(X[:, j])


def with_holes(rng, X):
    """Remove values at random, by few patterns, by value, or whole rows and columns."""
    X = X.copy()
    n, d = X.shape
    rate = rng.choice([0.0, 0.1, 0.3, 0.6, 0.9])
    kind = rng.integers(4)
    if kind == 0:
        mask = rng.random((n, d)) < rate
    elif kind == 1:
        mask = (rng.random((3, d)) < rate)[rng.integers(3, size=n)]
    elif kind == 2:
        mask = np.quantile(X, rate, axis=0) > X
    else:
        mask = np.arange(d) >= rng.integers(1, d + 1, n)[:, None]  # rows that break off
    if rng.random() < 0.1:
        mask[:, rng.integers(d)] = True
    if rng.random() < 0.2:
        mask[rng.integers(n)] = True
    mask[0, rng.integers(d)] = False  # something to learn from
    X[mask] = np.nan
    return X


def as_given(rng, X):
    """Return the table as a user might give it, and the float64 that it holds."""
    kind = rng.integers(7)
    if kind == 0:
        largest = np.finfo(np.float32).max
        X = np.clip(X, -largest, largest).astype(np.float32)
        return X, X.astype(np.float64)
    if kind == 1:
        return np.asfortranarray(X), X
    if kind == 2:
        return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]), X
    if kind == 3:
        return [[None if np.isnan(x) else x for x in row] for row in X.tolist()], X
    if kind == 4:
        return np.ma.masked_invalid(X), X
    if kind == 5 and np.abs(np.nan_to_num(X)).max() < 2**31:
        whole = np.round(X)
        return pd.DataFrame(whole).astype("Int64"), whole
    return X, X


def make(seed):
    """Return a random generator, a table as a user might give it, and its values."""
    rng = np.random.default_rng(seed)
    given, values = as_given(rng, with_holes(rng, numbers(rng)))
    return rng, given, values


def limits(rng, X):
    """Return limits of some missing values: of detection, of rounding, on one side or on both."""
    lower, upper = np.full(X.shape, -np.inf), np.full(X.shape, np.inf)
    with np.errstate(all="ignore"):
        centre = np.where(np.isnan(X).all(axis=0), 0.0, np.nan_to_num(X).max(axis=0))
        width = np.abs(centre) * 10.0 ** rng.uniform(-3, 2) + 1e-3
    kind = rng.integers(4)
    some = rng.random(X.shape) < rng.choice([0.2, 1.0])
    if kind == 0:
        upper = np.where(some, centre, np.inf)
    elif kind == 1:
        lower = np.where(some, centre, -np.inf)
    elif kind == 2:
        lower, upper = np.where(some, centre - width, -np.inf), np.where(some, centre, np.inf)
    else:
        reach = width * rng.random(X.shape)
        lower, upper = np.where(some, -reach, -np.inf), np.where(some, reach, np.inf)
    return lower, upper


def frame(rng, X):
    """Return a frame of the numbers with columns of words, dates and flags beside them."""
    n = len(X)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    kinds = rng.permutation(4)[: rng.integers(1, 4)]
    for kind in kinds:
        if kind == 0:
            values = rng.choice(["red", "green", "blue, or so", "été"], n).astype(object)
        elif kind == 1:
            values = np.array([f"id{i}" for i in range(n)], dtype=object)
        elif kind == 2:
            values = rng.choice([True, False], n).astype(object)
        else:
            values = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), "D")
            values = values.to_numpy().astype("datetime64[ns]").astype(object)
            values = np.array(pd.to_datetime(values), dtype=object)
        values = np.where(rng.random(n) < rng.choice([0.0, 0.3]), None, values)
        table[f"w{kind}"] = values
    return table
