"""Priors that cost digits: scales far apart, columns that nearly repeat others, narrow kernels."""

import numpy as np
import pytest

from absentia import Beliefs, ExpectedRBF, GenRBF
from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition
from absentia.engine import principal
from absentia.engine.gram import explicit, pair_tiles, products
from absentia.engine.threads import bounded_blocks
from absentia.kernels.gram import dispatch, lane_pairs
from absentia.kernels.polynomial import ExpectedPolynomial
from kernels.gram.test_expected import _formula, _prior, _table

pytestmark = pytest.mark.usefixtures("either_road")


def _conditioned(covariance, rng, n=40, rate=0.5):
    d = len(covariance)
    prior = Prior(np.ones(1), np.zeros((1, d)), covariance[None])
    X = rng.normal(size=(n, d)) @ np.linalg.cholesky(covariance).T
    X[rng.random(X.shape) < rate] = np.nan
    X[0] = np.nan
    return condition(prior, X)[0]


def _nearly_repeated(d, share, rng):
    """Correlations of d columns made of three, and a share of each variance that is its own."""
    root = rng.normal(size=(d, 3))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return (1 - share) * root @ root.T + share * np.eye(d)


@pytest.mark.parametrize("gamma", ["scale", 1e-8, 1.0, 1e8])
@pytest.mark.parametrize("rate", [0.3, 0.8])
def test_scales_far_apart_cost_no_digits(gamma, rate):
    rng = np.random.default_rng(0)
    scales = np.array([1e-4, 1.0, 1e4, 1e-4, 1.0, 1e4])
    P = _conditioned(_prior(rng, 6, 1).covariances[0] * np.outer(scales, scales), rng, rate=rate)
    kernel = ExpectedRBF(gamma).resolve(P.prior)
    np.testing.assert_allclose(kernel(P), _formula(P, P, kernel.gamma), rtol=1e-10, atol=1e-280)


@pytest.mark.parametrize("kernel", [ExpectedRBF(0.3), GenRBF(0.3)])
def test_a_column_of_no_size_beside_a_huge_one_changes_nothing(kernel):
    """Each correlated with the other; but differences of 1e-50 are none to this kernel."""
    rng = np.random.default_rng(6)
    scales = np.array([1e-50, 1e-30, 1e60])
    means = rng.normal(size=(2, 3)) * scales
    prior = Prior(np.full(2, 0.5), means, _prior(rng, 3, 2).covariances * np.outer(scales, scales))
    X = rng.normal(size=(12, 3)) * scales
    X[:, 2] = np.nan
    X[::2, 1] = np.nan
    P = condition(prior, X)[0]
    weights, centres = np.exp(P.log_weights), P.means[:, :, 2]
    variances = P.covariances.dense(P.group_of_row)[:, :, 2, 2]
    spread = 1 / 0.6 + variances[:, None, :, None] + variances[None, :, None, :]
    differences = centres[:, None, :, None] - centres[None, :, None, :]
    pairs = np.exp(-0.5 * differences**2 / spread) / np.sqrt(0.6 * spread)
    expected = np.einsum("ia,jb,ijab->ij", weights, weights, pairs)
    if isinstance(kernel, GenRBF):
        lengths = np.sqrt(np.diagonal(expected))
        expected /= np.outer(lengths, lengths)
    np.testing.assert_allclose(kernel(P), expected, rtol=1e-10)


@pytest.mark.parametrize("gamma", [1e3, 1e5, 1e8])
def test_a_kernel_much_narrower_than_the_data_keeps_its_digits(gamma):
    rng = np.random.default_rng(1)
    P = _conditioned(_prior(rng, 7, 1).covariances[0], rng)
    expected = _formula(P, P, gamma)
    np.testing.assert_allclose(ExpectedRBF(gamma)(P), expected, rtol=1e-10, atol=1e-280)
    lengths = np.sqrt(np.diagonal(expected))
    normalised = expected / np.outer(lengths, lengths)
    np.testing.assert_allclose(GenRBF(gamma)(P), normalised, rtol=1e-10, atol=1e-280)


# Rounding grows with the inflation (one over the share) as far as the lanes go; beyond it they are
# left, and nothing is lost.
@pytest.mark.parametrize(
    ("share", "tolerance"), [(1e-2, 1e-11), (1e-4, 1e-10), (1e-6, 1e-8), (1e-8, 1e-10)]
)
@pytest.mark.parametrize("rate", [0.3, 0.8])
def test_columns_that_nearly_repeat_others(share, tolerance, rate):
    rng = np.random.default_rng(2)
    P = _conditioned(_nearly_repeated(8, share, rng), rng, n=60, rate=rate)
    expected = _formula(P, P, 0.1)
    np.testing.assert_allclose(ExpectedRBF(0.1)(P), expected, rtol=tolerance)
    np.testing.assert_allclose(ExpectedRBF(0.1)(P[:20], P), expected[:20], rtol=tolerance)
    K = GenRBF(0.1)(P)
    eigenvalues = np.linalg.eigvalsh(K)
    # Rounding of the entries moves eigenvalues too: by 7e-12 of the largest at a share of 1e-6 on
    # one processor, and by less than 1e-12 on another.
    rounding = max(50 * len(K) * np.finfo(float).eps, tolerance / 100)
    assert eigenvalues[0] >= -rounding * eigenvalues[-1]


def test_covariances_by_blocks_give_the_same_matrix(monkeypatch):
    rng = np.random.default_rng(3)
    P = condition(_prior(rng, 5, 2), _table(rng, 300, 5, "both"))[0]
    Q, kernel = P[::3], GenRBF(0.2)
    square, rectangle = kernel(P), kernel(Q, P)
    monkeypatch.setattr(dispatch, "_LARGEST_INFLATION", 0.0)
    monkeypatch.setattr(
        lane_pairs, "bounded_blocks", lambda a, b, size: bounded_blocks(a, b, size, 37 * size)
    )
    K = kernel(P, n_jobs=2)
    np.testing.assert_allclose(K, square, rtol=1e-10)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(kernel(Q, P), rectangle, rtol=1e-10)


def test_a_component_without_weight_contributes_nothing():
    rng = np.random.default_rng(4)
    prior = _prior(rng, 4, 2)
    X = _table(rng, 90, 4, "both")
    one = Prior(np.ones(1), prior.means[:1], prior.covariances[:1])
    two = Prior(np.array([1.0, 0.0]), prior.means, prior.covariances)
    for kernel in (GenRBF(0.3), ExpectedRBF(0.3)):
        K = kernel(condition(two, X)[0])
        np.testing.assert_allclose(K, kernel(condition(one, X)[0]), rtol=1e-12)


def test_every_compiled_function_has_one_signature():
    rng = np.random.default_rng(5)
    prior = _prior(rng, 4, 2)
    X = _table(rng, 150, 4, "both")
    P = condition(prior, X)[0]
    frozen = condition(Prior(prior.weights, prior.means, prior.covariances), X)[0]
    frozen.prior.precisions.setflags(write=False)  # as after loading from a memory map
    complete = condition(prior, np.asfortranarray(rng.normal(size=(20, 4))))[0]
    moments = Beliefs.from_moments(rng.normal(size=(9, 4)), variances=rng.random((9, 4)))
    kinds = [P, P[::2], frozen, complete, moments, P.transform(rng.normal(size=(4, 4)))]
    for kernel in (
        GenRBF(0.3),
        ExpectedRBF(0.3, np.eye(4) + 0.1),
        ExpectedPolynomial(3, gamma=0.1),
    ):
        for rows in kinds:
            kernel(rows)
            for columns in kinds:
                kernel(rows, columns)
    for compiled in (
        pair_tiles.gram_rows,
        explicit.explicit_rows,
        products.exponentials_of_distances,
        products.row_products,
        products.reorder,
        principal.principal_log_determinants.compiled,
        principal.log_determinants_and_lengths.compiled,
    ):
        # None where all problems were small enough for NumPy.
        assert len(compiled.signatures) <= 1, compiled
