"""The algebra of kernels: sums, products, multiples, names, and how they print."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from absentia import (
    SVC,
    EmbeddingRBF,
    ExpectedDistanceRBF,
    ExpectedLinear,
    ExpectedPolynomial,
    ExpectedRBF,
    GammaRBF,
    GenRBF,
    Kernel,
    MaskKernel,
    gram_blocks,
)
from absentia.kernels import KERNELS_BY_NAME, kernel_named
from absentia.kernels.gram.tiles import symmetrised
from absentia.parameters import declared
from kernels.contract import KernelContract
from kernels.examples import beliefs_about, example, random_prior
from oracles import kernels as oracles


class TestCombination(KernelContract):
    """A combination is a kernel like any other."""

    def make(self):
        return 0.5 * ExpectedDistanceRBF(0.4) * MaskKernel(0.3) + ExpectedLinear(diagonal="same")

    def oracle(self, p, q):
        product = oracles.esd(p.mixture, q.mixture, 0.4) * oracles.mask_similarity(
            p.missing, q.missing, 0.3
        )
        return 0.5 * product + oracles.expected_linear(p.mixture, q.mixture)

    def oracle_diag(self, p):
        return 0.5 + oracles.square_norm_moment(p.mixture, 1)


@pytest.mark.parametrize("name", KERNELS_BY_NAME)
def test_the_workspace_is_bounded(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 24))
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    P = beliefs_about(random_prior(24, 2, rng), X)
    kernel = kernel_named(name)
    kernel(P[:2])  # compiles
    tracemalloc.start()
    try:
        K = kernel(P)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < K.nbytes + 64 * 2**20


def test_kernels_add_multiply_and_scale_entry_by_entry():
    P = example("mixture")
    left, right = ExpectedLinear(diagonal="same"), GenRBF(0.4) * MaskKernel(0.5)
    combined = 0.5 * left + right * 2
    expected = 0.5 * left(P) + 2 * GenRBF(0.4)(P) * MaskKernel(0.5)(P)
    np.testing.assert_allclose(combined(P), expected, rtol=1e-15)
    np.testing.assert_allclose(combined.diag(P), np.diagonal(expected), rtol=1e-13)
    np.testing.assert_allclose((np.float64(2) * left)(P), 2 * left(P))


def test_a_combination_is_positive_definite_where_its_parts_are():
    assert (GenRBF() + ExpectedLinear()).positive_definite
    assert (2 * (GenRBF() * MaskKernel())).positive_definite
    for combined in (GammaRBF() + GenRBF(), GenRBF() * GammaRBF(), 2 * GammaRBF()):
        assert not combined.positive_definite


@pytest.mark.parametrize("factor", [-1, -0.5, np.nan, np.inf])
def test_a_negative_multiple_is_refused_also_after_set_params(factor):
    with pytest.raises(ValueError, match="not negative"):
        factor * GenRBF()
    scaled = (2 * GenRBF()).set_params(factor=factor)
    with pytest.raises(ValueError, match="not negative"):
        scaled(example("gaussian"))


def test_what_is_no_kernel_does_not_combine():
    for combine in (lambda k: k + 1, lambda k: k * "2", lambda k: "2" * k, lambda k: k + None):
        with pytest.raises(TypeError):
            combine(GenRBF())


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (GenRBF(), "GenRBF()"),
        (GenRBF(0.1), "GenRBF(gamma=0.1)"),
        (GenRBF(1), "GenRBF(gamma=1)"),
        (
            ExpectedRBF(0.5, "mahalanobis", scaled=False),
            "ExpectedRBF(gamma=0.5, metric='mahalanobis', scaled=False)",
        ),
        (ExpectedPolynomial(3, coef0=0.0), "ExpectedPolynomial(degree=3, coef0=0)"),
        (GenRBF(metric=np.eye(3)), "GenRBF(metric=<array of shape (3, 3)>)"),
        (0.5 * GenRBF() + ExpectedLinear(), "0.5 * GenRBF() + ExpectedLinear()"),
        (
            (GenRBF() + ExpectedLinear()) * MaskKernel(np.array([0.0, 1.0])),
            "(GenRBF() + ExpectedLinear()) * MaskKernel(weight=[0.0, 1.0])",
        ),
        (EmbeddingRBF(GenRBF(), theta=2.0), "EmbeddingRBF(GenRBF(), theta=2)"),
    ],
)
def test_a_kernel_prints_as_its_formula(kernel, text):
    assert repr(kernel) == text


def test_a_kernel_of_ones_own_needs_no_parameters():
    class Ones(Kernel):
        def _gram(self, P, Q, n_jobs):
            return np.ones((len(P), len(P if Q is None else Q)))

        def _diag(self, P):
            return np.ones(len(P))

    assert repr(2 * Ones()) == "2 * Ones()"
    assert Ones() == Ones()


def test_equal_kernels_are_equal_by_value_and_hash_alike():
    one, two = MaskKernel(np.array([1.0, 2.0])), MaskKernel([1, 2])
    assert one == two
    assert hash(one) == hash(two)
    assert MaskKernel([1.0, 3.0]) != one
    assert MaskKernel(1.0) != one
    assert GenRBF() != ExpectedRBF()
    assert GenRBF(metric=np.eye(2)) != GenRBF()
    assert {GenRBF(0.5) + ExpectedLinear(): "found"}[GenRBF(0.5) + ExpectedLinear()] == "found"
    assert GenRBF() != "GenRBF()"


def test_parameters_are_reached_inside_a_combination():
    kernel = GenRBF(0.1) * MaskKernel() + ExpectedLinear()
    changed = clone(kernel).set_params(left__left__gamma=2.0, left__right__weight=0.5)
    assert changed == GenRBF(2.0) * MaskKernel(0.5) + ExpectedLinear()
    assert kernel.get_params()["left__left__gamma"] == 0.1


def test_words_become_numbers_throughout_a_combination():
    prior = example("mixture").prior
    kernel = (2 * GenRBF() * ExpectedDistanceRBF("scale", "mahalanobis") + ExpectedPolynomial()) + (
        EmbeddingRBF(ExpectedRBF())
    )
    resolved = kernel.resolve(prior)
    assert not [
        value
        for name, value in resolved.get_params().items()
        if isinstance(value, str)
        and value in ("scale", "mahalanobis")
        # Where there are no categories their weight has nothing to be measured by.
        and not name.endswith("category_weight")
    ]
    assert resolved.resolve(prior) == resolved


def test_beliefs_of_different_densities_need_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 3))
    P, Q = (beliefs_about(random_prior(3, 1, rng), X) for _ in range(2))
    for kernel in (GenRBF(), GammaRBF(0.1, "mahalanobis"), 2 * GenRBF() + ExpectedLinear()):
        with pytest.raises(ValueError, match="conditioned on different ones"):
            kernel(P, Q)
        assert kernel.resolve(P.prior)(P, Q).shape == (4, 4)


@pytest.mark.parametrize("name", KERNELS_BY_NAME)
def test_each_name_makes_its_kernel(name):
    kernel = kernel_named(name, gamma=0.3)
    assert type(kernel) is KERNELS_BY_NAME[name]
    assert kernel.get_params().get("gamma", 0.3) == 0.3
    assert np.isfinite(kernel(example("gaussian"))).all()


def test_an_unknown_name_lists_the_known():
    assert kernel_named("expected_rbf") == ExpectedRBF()
    with pytest.raises(ValueError, match=r"'expected-rbf', 'genrbf'.*'poly', found 'sigmoid'"):
        kernel_named("sigmoid")
    with pytest.raises(TypeError, match="found 3"):
        kernel_named(3)


def test_streaming_refuses_blocks_of_no_rows():
    P = example("gaussian")
    with pytest.raises(ValueError, match="block_rows must be an integer from 1"):
        gram_blocks(GenRBF(), P, block_rows=0)
    with pytest.raises(ValueError, match="block_rows must be an integer from 1"):
        gram_blocks(GenRBF(), P, block_rows=2.5)


def test_streaming_a_rectangle_gives_its_rows():
    P = example("gaussian")
    kernel = ExpectedLinear()
    slices, blocks = zip(*gram_blocks(kernel, P, P[:5], block_rows=7), strict=True)
    assert [(rows.start, rows.stop) for rows in slices] == [(0, 7), (7, 14), (14, 16)]
    np.testing.assert_allclose(np.concatenate(blocks), kernel(P, P[:5]), rtol=1e-13)


def test_a_large_matrix_is_mirrored_block_by_block():
    K = np.random.default_rng(0).normal(size=(1100, 1100))
    expected = np.tril(K) + np.tril(K, -1).T
    np.testing.assert_array_equal(symmetrised(K), expected)


@pytest.mark.parametrize(
    ("kernel", "error", "sentence"),
    [
        (ExpectedPolynomial(coef0="one"), ValueError, "coef0 must be a finite number"),
        (ExpectedPolynomial(coef0=None), ValueError, "coef0 must be a finite number"),
        (MaskKernel("much"), ValueError, "in a machine\\) must be a non-negative number"),
        (EmbeddingRBF("genrbf"), TypeError, "must be a Kernel"),
        (ExpectedRBF(scaled="no"), ValueError, "scaled must be True or False"),
    ],
)
def test_parameters_of_the_wrong_kind_are_refused_in_a_sentence(kernel, error, sentence):
    with pytest.raises(error, match=sentence):
        kernel(example("gaussian"))


def test_streaming_wants_a_kernel():
    with pytest.raises(TypeError, match="must be a Kernel"):
        gram_blocks("genrbf", example("gaussian"))


@declared
class _Cosine(Kernel):
    """A user's kernel with a width."""

    gamma: float | str = "scale"

    def _gram(self, P, Q, n_jobs):
        Q = P if Q is None else Q
        return np.cos(self.gamma * (P.mean()[:, None, 0] - Q.mean()[:, 0]))

    def _diag(self, P):
        return np.ones(len(P))


def test_a_new_kernel_with_gamma_takes_scale():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    X[::3, 1] = np.nan
    machine = SVC(kernel=_Cosine()).fit(X, X[:, 0] > 0)
    gamma = 1 / np.trace(machine.density_.prior_.covariance())
    assert machine.kernel_.gamma == pytest.approx(gamma)
    with pytest.raises(ValueError, match="gamma"):
        _Cosine(gamma="wide")(machine.beliefs_)
