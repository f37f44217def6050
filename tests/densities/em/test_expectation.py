"""The E-step against row by row sums."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from absentia.beliefs import Prior
from absentia.densities.em import expectation as module
from absentia.densities.em.expectation import Expectation
from densities.examples import random_prior, with_holes
from oracles import densities as oracles

pytestmark = pytest.mark.usefixtures("either_road")


def table_with_all_kinds_of_patterns(rng, d=5):
    X = with_holes(rng, rng.standard_normal((60, d)), 0.5)
    X[:25] = rng.standard_normal((25, d))  # complete
    X[25:40, :1] = np.nan  # many rows, little missing
    X[25:40, 1:] = rng.standard_normal((15, d - 1))
    X[40:53, : d - 1] = np.nan  # many rows, much missing
    X[40:53, d - 1] = rng.standard_normal(13)
    return X


@pytest.mark.parametrize(("k", "sum_patterns"), [(1, True), (1, False), (3, False)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_moments(k, sum_patterns, weighted, n_jobs, monkeypatch):
    monkeypatch.setattr(module, "_ROWS_PER_BATCH", 16)
    rng = np.random.default_rng(0)
    X = table_with_all_kinds_of_patterns(rng)
    weights = rng.uniform(0.5, 2, len(X)) if weighted else None
    prior = random_prior(rng, k, X.shape[1])
    moments = Expectation(X, weights, sum_patterns=sum_patterns, n_jobs=n_jobs)(prior)
    parameters = prior.weights, prior.means, prior.covariances
    totals, firsts, seconds = oracles.expected_moments(X, *parameters, weights)
    scores = [oracles.mixture_given(x, *parameters)[0] for x in X]
    expected = float(np.dot(np.ones(len(X)) if weights is None else weights, scores))
    assert moments.log_likelihood == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(moments.totals, totals, rtol=1e-10)
    np.testing.assert_allclose(moments.firsts, firsts, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(moments.seconds, seconds, rtol=1e-10, atol=1e-10)


def test_no_moments_under_a_singular_covariance():
    X = np.array([[0.0, 1.0], [1.0, np.nan]])
    singular = Prior(np.ones(1), np.zeros((1, 2)), np.ones((1, 2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        Expectation(X, sum_patterns=True)(singular)


def test_a_step_holds_a_few_blocks_in_memory_whatever_the_number_of_rows(monkeypatch):
    monkeypatch.setattr(module, "_ROWS_PER_BATCH", 1024)
    rng = np.random.default_rng(0)
    X = with_holes(rng, rng.standard_normal((40_000, 12)), 0.3)
    expectation = Expectation(X, sum_patterns=False)
    prior = random_prior(rng, 2, 12)
    expectation(prior)
    tracemalloc.start()
    try:
        expectation(prior)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    block = module._ROWS_PER_BATCH * 12 * 8
    assert peak < 30 * block < X.nbytes
