"""Tables of hundreds of columns against scikit-learn's complete kernel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from absentia import GenRBF, LowRankDensity
from absentia.beliefs import LowRankPrior
from absentia.beliefs.conditioning import condition
from absentia.tables import FloatArray
from lab.speed.gram import beliefs_of
from lab.speed.ratio import Row, best_rival_seconds, best_seconds

NOTE = "wide: genRBF, theirs is rbf_kernel on the complete rows"


def factor_table(n: int, d: int, q: int) -> tuple[LowRankPrior, FloatArray, FloatArray]:
    """Make a density of ``q`` factors, rows of it, and the same with three tenths missing."""
    rng = np.random.default_rng(0)
    loadings = 0.5 * rng.standard_normal((1, d, q))
    noises = rng.uniform(0.3, 1.0, (1, d))
    prior = LowRankPrior.of(np.ones(1), np.zeros((1, d)), loadings, noises)
    X = rng.standard_normal((n, q)) @ loadings[0].T
    X += np.sqrt(noises[0]) * rng.standard_normal((n, d))
    return prior, X, np.where(rng.random(X.shape) < 0.3, np.nan, X)


def rows() -> Iterator[Row]:
    """Run the suite."""
    # At 300 columns the bar is that of a density of few factors, below.
    for n, d, full_bar, full_aim in ((1000, 100, 25, 15), (500, 300, None, None)):
        complete, beliefs = beliefs_of(n, d, 0.3)
        gamma = 1 / float(np.trace(beliefs.prior.covariances[0]))
        yield Row(
            f"Gram, n={n}, d={d}, 30 % missing, a full density",
            best_seconds(partial(GenRBF(gamma), beliefs)),
            best_rival_seconds(partial(rbf_kernel, complete, gamma=gamma)),
            full_bar,
            full_aim,
            NOTE,
        )
    for q, bar, aim in ((5, 60, 20), (10, 60, 20), (20, None, None)):
        prior, complete, holed = factor_table(500, 300, q)
        beliefs = condition(prior, holed)[0]
        gamma = 1 / float(np.trace(prior.covariances[0]))
        yield Row(
            f"Gram, n=500, d=300, 30 % missing, {q} factors",
            best_seconds(partial(GenRBF(gamma), beliefs)),
            best_rival_seconds(partial(rbf_kernel, complete, gamma=gamma)),
            bar,
            aim,
            NOTE,
        )
    _, complete, holed = factor_table(1500, 600, 10)
    yield Row(
        "LowRankDensity(10).fit, n=1500, d=600, 30 % missing",
        best_seconds(lambda: LowRankDensity(10).fit(holed), repeats=1),
        best_rival_seconds(lambda: np.cov(complete, rowvar=False)),
        None,
        None,
        "wide: theirs is np.cov of the complete rows",
    )
