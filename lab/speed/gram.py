"""Gram matrices of rows with holes against scikit-learn's ``rbf_kernel`` of the complete rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from absentia import Beliefs, GenRBF
from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition
from lab.speed.ratio import Row, best_rival_seconds, best_seconds

NOTE = "gram: genRBF, theirs is sklearn.metrics.pairwise.rbf_kernel on the complete rows"
GAMMA = 0.02


def prior_of(rng: np.random.Generator, d: int, n_components: int = 1) -> Prior:
    """Make a well-conditioned prior at random."""
    roots = rng.normal(size=(n_components, d, d))
    covariances = roots @ roots.transpose(0, 2, 1) / d + 0.3 * np.eye(d)
    means = rng.normal(size=(n_components, d))
    return Prior(np.full(n_components, 1 / n_components), means, covariances)


def table_of(
    rng: np.random.Generator, n: int, d: int, rate: float, n_patterns: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return a complete table and the same with holes, from few patterns where asked."""
    complete = rng.normal(size=(n, d))
    if n_patterns is None:
        mask = rng.random((n, d)) < rate
    else:
        mask = (rng.random((n_patterns, d)) < rate)[rng.integers(n_patterns, size=n)]
    return complete, np.where(mask, np.nan, complete)


def beliefs_of(
    n: int, d: int, rate: float, n_patterns: int | None = None, n_components: int = 1
) -> tuple[np.ndarray, Beliefs]:
    """Return complete rows, and the beliefs about them once they have holes."""
    rng = np.random.default_rng(0)
    prior = prior_of(rng, d, n_components)
    complete, holed = table_of(rng, n, d, rate, n_patterns)
    return complete, condition(prior, holed)[0]


def rows() -> Iterator[Row]:
    """Time the rows of the tables in docs/engine.md."""
    kernel = GenRBF(GAMMA)
    for name, n, d, rate, n_patterns, bar, aim in (
        ("n=2000, d=34, 30 % missing, all patterns differ", 2000, 34, 0.3, None, 4, 2),
        ("n=2000, d=34, 60 % missing, all patterns differ", 2000, 34, 0.6, None, 6, 3),
        ("n=2000, d=34, 90 % missing", 2000, 34, 0.9, None, None, None),
        ("n=4000, d=14, 30 % missing", 4000, 14, 0.3, None, 4, 2),
        ("n=4000, d=34, complete", 4000, 34, 0.0, None, 1.2, 1.05),
        ("n=4000, d=34, 20 patterns", 4000, 34, 0.3, 20, 2, 1.3),
    ):
        complete, P = beliefs_of(n, d, rate, n_patterns)
        yield Row(
            name,
            best_seconds(partial(kernel, P)),
            best_rival_seconds(partial(rbf_kernel, complete, gamma=GAMMA)),
            bar,
            aim,
            NOTE,
        )
    complete, P = beliefs_of(5500, 34, 0.3)
    yield Row(
        "500 x 5000, d=34, 30 % missing",
        best_seconds(lambda: kernel(P[:500], P[500:])),
        best_rival_seconds(lambda: rbf_kernel(complete[:500], complete[500:], gamma=GAMMA)),
        None,
        None,
        NOTE,
    )
    _, single = beliefs_of(1000, 20, 0.3)
    _, mixture = beliefs_of(1000, 20, 0.3, n_components=3)
    yield Row(
        "n=1000, d=20, 30 %, mixture of 3 against one Gaussian",
        best_seconds(lambda: kernel(mixture), repeats=3),
        best_seconds(lambda: kernel(single), repeats=3),
        12,
        9,
        NOTE,
    )
