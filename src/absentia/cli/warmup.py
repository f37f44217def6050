"""Compiling beforehand what a first fit would compile."""

from __future__ import annotations

import numpy as np

from absentia.densities import GaussianDensity, LowRankDensity, MixtureDensity
from absentia.engine.compiling import always_compiled
from absentia.features import FourierFeatures
from absentia.kernels import ExpectedRBF, GenRBF

__all__ = ["warm_up"]


def warm_up() -> None:
    """Compile the loops of densities, kernels and features, and leave them in Numba's cache.

    On tables that need all of them: rows of a pattern that many share, rows of patterns of their
    own, a row by itself, complete rows, known measurement errors, mixtures, many columns with few
    factors and without.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    holed = X.copy()
    holed[100:][rng.random((100, 4)) < 0.5] = np.nan
    with always_compiled():
        for table in (X, holed):
            for density in (GaussianDensity(), MixtureDensity(2, max_iter=2, random_state=0)):
                beliefs = density.fit(table).condition(table)
                GenRBF()(beliefs)
                GenRBF()(beliefs[:9], beliefs)
                GenRBF()(beliefs[-1:], beliefs)
        wide = np.tile(holed, 10)
        GenRBF()(LowRankDensity(1, tol=1.0).fit(wide).condition(wide))
        wide = np.where(rng.random((40, 100)) < 0.3, np.nan, rng.normal(size=(40, 100)))
        GenRBF()(GaussianDensity(shrinkage=0.5, tol=1.0).fit(wide).condition(wide))
        measured = GaussianDensity().fit(holed).condition(holed).transform(np.eye(4))
        ExpectedRBF()(measured)
        FourierFeatures(n_components=16, random_state=0).fit(holed).transform(holed)
