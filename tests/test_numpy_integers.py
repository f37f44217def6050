"""Integers of NumPy, as np.arange in a grid search gives them, are integers."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import (
    SVC,
    GaussianDensity,
    KernelPCA,
    LogisticRegression,
    MarginalClassifier,
    measure_next,
    predict_uncertainty,
)

KINDS = [np.int8, np.uint8, np.int16, np.int64]

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
y = (X[:, 0] > 0).astype(int)
X[::4, 1] = np.nan


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_draws(kind):
    model = LogisticRegression().fit(X, y)
    row = [[0.1, np.nan, np.nan]]
    wrapped = MarginalClassifier(model, random_state=0)
    for number, answer in (
        (64, lambda n: wrapped.set_params(n_draws=n).fit(X, y).predict_proba(X[:5])),
        (100, lambda n: measure_next(model, row, n_draws=n).gain),
        (64, lambda n: predict_uncertainty(model, X[:5], n_draws=n).total),
    ):
        np.testing.assert_array_equal(answer(kind(number)), answer(number))


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_of_samples(kind):
    density = GaussianDensity().fit(X)
    np.testing.assert_array_equal(
        density.draw(X, kind(2), random_state=0), density.draw(X, 2, random_state=0)
    )
    beliefs = density.condition(X)
    np.testing.assert_array_equal(
        beliefs.sample(kind(2), random_state=0), beliefs.sample(2, random_state=0)
    )


@pytest.mark.parametrize("size", [-1, 1.5, "two", 10**12])
def test_sizes_that_are_none(size):
    with pytest.raises(ValueError, match="size must be an integer from 0"):
        GaussianDensity().fit(X).draw(X, size)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_components(kind):
    ours, plain = (KernelPCA(n_components=n, kernel="genrbf").fit(X) for n in (kind(100), 100))
    np.testing.assert_array_equal(ours.transform(X), plain.transform(X))


def test_no_limit_of_iterations():
    ours, plain = (SVC(max_iter=n).fit(X, y) for n in (np.int64(-1), -1))
    np.testing.assert_array_equal(ours.predict(X), plain.predict(X))
