"""Kernels of categories against enumeration, alone and inside the RBF kernels."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import CategoryKernel, ExpectedLinear, ExpectedRBF, GenRBF, MaskKernel
from densities.mixed_examples import fitted, mixed_table
from oracles.mixed import category_similarity, expected_kernel, row_belief

WEIGHTS = [0.7, 1.3]


@pytest.fixture(scope="module", params=[1, 2, 3])
def example(request):
    X = mixed_table(24, missing=0.35)
    density = fitted(X, request.param)
    prior = density.prior_
    codes = np.where(np.isnan(X[:, [1, 3]]), -1, X[:, [1, 3]] - [0, 10]).astype(int)
    parameters = prior.weights, prior.means, prior.covariances, prior.probabilities
    rows = [row_belief(x, code, *parameters) for x, code in zip(X[:, [0, 2]], codes, strict=True)]
    return density.condition(X), rows


def oracle(rows, gamma=0.4, weights=WEIGHTS):
    return np.array([[expected_kernel(p, q, gamma, weights) for q in rows] for p in rows])


def test_expected_rbf_is_the_sum_over_components_and_categories(example):
    beliefs, rows = example
    kernel = ExpectedRBF(gamma=0.4, category_weight=WEIGHTS)
    K = kernel(beliefs)
    np.testing.assert_allclose(K, oracle(rows), rtol=1e-10)
    assert (K == K.T).all()
    assert (np.diag(K) == kernel.diag(beliefs)).all()
    np.testing.assert_allclose(kernel(beliefs[:9], beliefs[9:]), K[:9, 9:], rtol=1e-10)


def test_genrbf_normalises_over_both(example):
    beliefs, rows = example
    K = GenRBF(gamma=0.4, category_weight=WEIGHTS)(beliefs)
    expected = oracle(rows)
    norms = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(K, expected / norms / norms[:, None], rtol=1e-10)
    assert (K == K.T).all()
    assert (np.diag(K) == 1).all()
    assert np.linalg.eigvalsh(K)[0] > -1e-10
    across = GenRBF(gamma=0.4, category_weight=WEIGHTS)(beliefs[:9], beliefs[9:])
    np.testing.assert_allclose(across, K[:9, 9:], rtol=1e-10)


def test_category_kernel_alone(example):
    beliefs, rows = example
    kernel = CategoryKernel(WEIGHTS)
    expected = [
        [
            sum(
                p[0][c] * q[0][e] * category_similarity(p[3][c], q[3][e], WEIGHTS)
                for c in range(len(p[0]))
                for e in range(len(q[0]))
            )
            for q in rows
        ]
        for p in rows
    ]
    K = kernel(beliefs)
    np.testing.assert_allclose(K, expected, rtol=1e-10)
    assert (K == K.T).all()
    assert (np.diag(K) == kernel.diag(beliefs)).all()


def test_weight_zero_leaves_categories_out(example):
    beliefs, rows = example
    K = ExpectedRBF(gamma=0.4, category_weight=0.0)(beliefs)
    np.testing.assert_allclose(K, oracle(rows, weights=[0.0, 0.0]), rtol=1e-10)


def test_a_huge_weight_makes_other_categories_orthogonal(example):
    K = GenRBF(category_weight=1e9)(example[0])
    assert np.isfinite(K).all()
    assert (K >= 0).all()
    assert K.max() <= 1 + 1e-12


def test_the_scale_of_weights_is_two_differences_a_row():
    X = mixed_table()
    density = fitted(X)
    prior = density.prior_
    resolved = GenRBF().resolve(prior)
    shares = [prior.weights @ table for table in prior.probabilities]
    words = resolved.category_weight * sum(1 - share @ share for share in shares)
    numbers = 2 * resolved.gamma * np.trace(prior.covariance())
    assert words + numbers == pytest.approx(2)
    assert words == pytest.approx(numbers)


def test_expectation_over_draws(example):
    beliefs = example[0]
    draws = beliefs.sample(4000, random_state=0)
    K = ExpectedRBF(gamma=0.4, category_weight=WEIGHTS)(beliefs)
    for i, j in ((0, 1), (2, 5), (3, 8)):
        x, y = draws[:, i], draws[:, j]
        differing = (x[:, 2:] != y[:, 2:]) @ np.array(WEIGHTS)
        values = np.exp(-0.4 * ((x[:, :2] - y[:, :2]) ** 2).sum(axis=1) - differing)
        error = values.std() / np.sqrt(len(values))
        assert abs(values.mean() - K[i, j]) < 5 * error + 1e-12


def test_kernels_of_numbers_do_not_ignore_categories(example):
    beliefs = example[0]
    with pytest.raises(ValueError, match="numbers only"):
        ExpectedLinear()(beliefs)
    product = (ExpectedLinear() * CategoryKernel(1.0))(beliefs)
    assert np.isfinite(product).all()
    masked = (GenRBF() * MaskKernel([0.0, 0.0, 1.0, 1.0]))(beliefs)
    missing = (beliefs.codes < 0).astype(float)
    differing = np.abs(missing[:, None] - missing[None]).sum(axis=2)
    np.testing.assert_allclose(masked, GenRBF()(beliefs) * np.exp(-differing), rtol=1e-10)
    with pytest.raises(ValueError, match="one for each of the 2"):
        GenRBF(category_weight=[1.0])(beliefs)
