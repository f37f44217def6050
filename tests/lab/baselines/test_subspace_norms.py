"""Lengths of weight vectors on subspaces: what one Gram matrix to a pattern gives, only sooner."""

import numpy as np
import pytest

from lab.baselines import subspace_norms as fast
from oracles.subspace_norms import squared_norms


def kernel(gamma):
    return lambda x, y: np.exp(-gamma * np.sum((x - y) ** 2))


def random_problem(n, d, rate, seed=0):
    """Return rows, weights of both signs that add up to zero, and distinct patterns."""
    rng = np.random.default_rng(seed)
    masks = np.unique(rng.uniform(size=(40, d)) < rate, axis=0)
    weights = rng.standard_normal(n)
    return rng.standard_normal((n, d)), weights - weights.mean(), rng.permutation(masks)


@pytest.mark.parametrize("gamma", [0.3, 2048.0])
@pytest.mark.parametrize(("n", "d", "rate"), [(30, 5, 0.4), (140, 3, 0.5), (20, 12, 0.2)])
def test_equals_a_gram_matrix_to_a_pattern(gamma, n, d, rate):
    problem = random_problem(n, d, rate)
    expected = squared_norms(*problem, kernel(gamma))
    found = fast.squared_norms(*problem, gamma)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_extreme_patterns():
    """Everything, nothing and one column; a single pattern; no rows."""
    rows, weights, _ = random_problem(9, 3, 0.0)
    masks = np.array([[False] * 3, [True] * 3, [True, False, True]])
    for some in (masks, masks[:1], masks[1:2]):
        expected = squared_norms(rows, weights, some, kernel(0.3))
        found = fast.squared_norms(rows, weights, some, 0.3)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(fast.squared_norms(rows[:0], weights[:0], masks, 0.3), 0.0)
