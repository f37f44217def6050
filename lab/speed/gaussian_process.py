"""Gaussian process regression, evidence and all, against scikit-learn's on the complete rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor as CompleteProcess
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils._testing import ignore_warnings

from absentia import GaussianProcessRegressor
from lab.speed.ratio import Row, best_rival_seconds, best_seconds


def rows() -> Iterator[Row]:
    """Yield the comparisons: width, scale and noise chosen by the evidence, d=10."""
    yield from _rows_of(500, repeats=3)
    yield from _rows_of(1500, repeats=1)


def _rows_of(n: int, repeats: int) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * X[:, 3] + 0.2 * rng.normal(size=n)
    holed = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    kernel = ConstantKernel(1.0) * RBF(np.sqrt(5.0)) + WhiteKernel(0.1)

    @ignore_warnings(category=ConvergenceWarning)
    def theirs() -> None:
        CompleteProcess(kernel, normalize_y=True, alpha=0.0).fit(X, y)

    theirs_seconds = best_rival_seconds(theirs, repeats)
    for name, table in (("complete rows", X), ("30 % missing, every pattern different", holed)):
        yield Row(
            name=f"GaussianProcessRegressor.fit with optimisation, n={n}, d=10, {name}",
            ours_seconds=best_seconds(partial(GaussianProcessRegressor().fit, table, y), repeats),
            theirs_seconds=theirs_seconds,
            bar=3.0,
            aim=1.0,
            note="against scikit-learn's with ConstantKernel * RBF + WhiteKernel, complete rows",
        )
