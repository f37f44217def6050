"""Lengths of weight vectors on subspaces: what one Gram matrix to a pattern gives, only sooner."""

import numpy as np
import pytest

from lab.baselines.subspace_norms import (
    linear_squared_norms,
    polynomial_squared_norms,
    rbf_squared_norms,
)
from oracles.subspace_norms import squared_norms

KERNELS = {
    "linear": (linear_squared_norms, lambda x, y: x @ y),
    "rbf": (
        lambda *problem: rbf_squared_norms(*problem, 0.3),
        lambda x, y: np.exp(-0.3 * np.sum((x - y) ** 2)),
    ),
    "narrow rbf": (
        lambda *problem: rbf_squared_norms(*problem, 2048.0),
        lambda x, y: np.exp(-2048.0 * np.sum((x - y) ** 2)),
    ),
    "cubic": (
        lambda *problem: polynomial_squared_norms(*problem, 0.2, 1, 3),
        lambda x, y: (0.2 * x @ y + 1) ** 3,
    ),
}


def random_problem(n, d, rate, seed=0):
    """Return rows, weights of both signs that add up to zero, and distinct patterns."""
    rng = np.random.default_rng(seed)
    masks = np.unique(rng.uniform(size=(40, d)) < rate, axis=0)
    weights = rng.standard_normal(n)
    return rng.standard_normal((n, d)), weights - weights.mean(), rng.permutation(masks)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("n", "d", "rate"), [(30, 5, 0.4), (140, 3, 0.5), (20, 12, 0.2)])
def test_equals_a_gram_matrix_to_a_pattern(name, n, d, rate):
    fast, kernel = KERNELS[name]
    problem = random_problem(n, d, rate)
    expected = squared_norms(*problem, kernel)
    np.testing.assert_allclose(fast(*problem), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", KERNELS)
def test_extreme_patterns(name):
    """Everything, nothing and one column; a single pattern; no rows."""
    fast, kernel = KERNELS[name]
    rows, weights, _ = random_problem(9, 3, 0.0)
    masks = np.array([[False] * 3, [True] * 3, [True, False, True]])
    for some in (masks, masks[:1], masks[1:2]):
        expected = squared_norms(rows, weights, some, kernel)
        np.testing.assert_allclose(fast(rows, weights, some), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(fast(rows[:0], weights[:0], masks), 0.0)
