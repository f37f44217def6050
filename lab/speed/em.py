"""Fitting and conditioning densities: EM against ``np.cov`` and ``IterativeImputer``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (makes it importable)
from sklearn.impute import IterativeImputer
from sklearn.metrics.pairwise import rbf_kernel

from absentia import GaussianDensity
from absentia.beliefs import Prior
from absentia.densities.em.expectation import Expectation
from absentia.engine.threads import one_blas_thread
from absentia.tables import FloatArray
from lab.speed.ratio import Row, best_rival_seconds, best_seconds


def table(n: int, d: int, rate: float, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Make correlated rows of unit variance, complete and with holes."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((d, 5))
    X = rng.standard_normal((n, 5)) @ loadings.T + rng.standard_normal((n, d))
    X = np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))
    return X, np.where(rng.random(X.shape) < rate, np.nan, X)


def one_step() -> Iterator[Row]:
    """Time one step of EM on many rows, once they are arranged by pattern."""
    complete, X = table(200_000, 23, 0.05)
    d = X.shape[1]
    prior = Prior(np.ones(1), np.zeros((1, d)), np.cov(complete, rowvar=False)[None])
    theirs = best_rival_seconds(lambda: np.cov(complete, rowvar=False))
    for sum_patterns, how in ((True, "patterns summed"), (False, "row by row")):
        expectation = Expectation(X, sum_patterns=sum_patterns)

        def step(expectation: Expectation = expectation) -> None:
            # A new prior each time, so that its inverse is part of what is timed.
            with one_blas_thread():  # as a fit does
                expectation(Prior(prior.weights, prior.means, prior.covariances))

        yield Row(
            f"EM, one step, n=200000, d=23, 5 % missing, {how}",
            best_seconds(step),
            theirs,
            bar=8,
            aim=4,
            note="np.cov of the complete rows",
        )


def whole_fit() -> Iterator[Row]:
    """Time a fit from the table to the density."""
    _, X = table(10_000, 30, 0.3)
    ours = best_seconds(lambda: GaussianDensity().fit(X), repeats=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()  # once: it takes long enough not to need more
        with one_blas_thread():  # the threads of BLAS would slow its small regressions down
            IterativeImputer().fit(X)
        theirs = time.perf_counter() - start
    yield Row(
        "GaussianDensity.fit, n=10000, d=30, 30 % missing",
        ours,
        theirs,
        bar=1 / 10,
        aim=1 / 20,
        note="IterativeImputer().fit on the same rows, one run",
    )


def acceleration() -> Iterator[Row]:
    """Time plain against extrapolated EM; the notes tell the steps."""
    for rate in (0.3, 0.6):
        _, X = table(2_000, 20, rate)
        quick = GaussianDensity(shrinkage=0.0, max_iter=100_000)
        plain = GaussianDensity(shrinkage=0.0, max_iter=100_000, accelerate=False)
        ours = best_seconds(partial(quick.fit, X), repeats=3)
        theirs = best_seconds(partial(plain.fit, X), repeats=1)
        yield Row(
            f"EM to convergence, n=2000, d=20, {rate:.0%} missing",
            ours,
            theirs,
            note=f"EM without acceleration: {plain.n_iter_} steps, with it {quick.n_iter_}",
        )


def conditioning() -> Iterator[Row]:
    """Time conditioning where every row has its own pattern, and of one row."""
    for rate in (0.3, 0.6):
        complete, X = table(2_000, 34, rate)
        density = GaussianDensity().fit(X)
        theirs = best_rival_seconds(partial(rbf_kernel, complete))
        yield Row(
            f"condition, n=2000, d=34, {rate:.0%} missing, own patterns",
            best_seconds(partial(density.condition, X)),
            theirs,
            note="rbf_kernel of the complete rows, the next thing that a machine would do",
        )
    yield Row(
        "condition, one new row, d=34",
        best_seconds(lambda: density.condition(X[:1]), repeats=200),
        best_rival_seconds(lambda: rbf_kernel(complete[:1], complete), repeats=200),
        note="rbf_kernel of one complete row against 2000",
    )


def rows() -> Iterator[Row]:
    """Run the suite."""
    yield from one_step()
    yield from conditioning()
    yield from acceleration()
    yield from whole_fit()
