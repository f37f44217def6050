"""Features of many rows: against ``RBFSampler``, and against the exact kernel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler

from absentia import FourierFeatures, GaussianDensity, GenRBF, Nystroem
from lab.speed.em import table
from lab.speed.ratio import Row, best_seconds


def transform() -> Iterator[Row]:
    """Time the features of rows, from the table on, with the conditioning that they need."""
    n, d, n_components = 200_000, 23, 512
    complete, X = table(n, d, 0.05)
    density = GaussianDensity().fit(X)
    sampler = RBFSampler(gamma=1 / d, n_components=n_components, random_state=0).fit(complete)
    theirs = best_seconds(lambda: sampler.transform(complete), repeats=3)
    features = FourierFeatures(
        n_components, gamma=1 / d, density=FrozenEstimator(density), random_state=0
    ).fit(X)
    note = "RBFSampler.transform of the complete rows"
    for rows, how, bar, aim in (
        (X, "5 % missing", 1.5, 1.1),
        (complete, "complete", 1.2, 1.05),
    ):
        yield Row(
            f"FourierFeatures.transform, n=200000, d=23, {how}, 512 features",
            best_seconds(partial(features.transform, rows), repeats=3),
            theirs,
            bar=bar,
            aim=aim,
            note=note,
        )
    beliefs = density.condition(X)
    yield Row(
        "the same, 5 % missing, of beliefs (conditioning not counted)",
        best_seconds(lambda: features.transform(beliefs), repeats=3),
        theirs,
        note=note,
    )


def against_the_kernel() -> Iterator[Row]:
    """Time features of 5000 rows against their Gram matrix, and tell how far they are from it."""
    _, X = table(5_000, 14, 0.2)
    density = GaussianDensity().fit(X)
    beliefs = density.condition(X)
    theirs = best_seconds(lambda: GenRBF()(beliefs), repeats=1)
    K = GenRBF()(beliefs)
    for n_components in (256, 1024):
        for features in (
            FourierFeatures(n_components, random_state=0),
            FourierFeatures(n_components, orthogonal=False, random_state=0),
            Nystroem(n_components, random_state=0),
        ):
            Z = features.fit(beliefs).transform(beliefs)
            error = np.sqrt(np.mean((Z @ Z.T - K) ** 2))
            name = type(features).__name__
            if name == "FourierFeatures" and not features.orthogonal:
                name += ", not orthogonal"
            yield Row(
                f"{name}, n=5000, d=14, 20 % missing, {n_components} features",
                best_seconds(partial(features.transform, beliefs), repeats=1),
                theirs,
                note=f"the exact Gram matrix; root mean square error of its entries {error:.4f}",
            )


def rows() -> Iterator[Row]:
    """Run the suite."""
    yield from transform()
    yield from against_the_kernel()
