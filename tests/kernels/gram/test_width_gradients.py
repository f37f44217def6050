"""Sums over pairs of derivatives by the widths of columns, against one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import ExpectedRBF, GammaRBF, GaussianDensity, GenRBF, MaskKernel
from absentia.kernels.base import with_params
from densities.mixed_examples import fitted, mixed_table
from kernels.examples import FAMILIES, METRIC, beliefs_about, example, random_prior, rows_of
from oracles import widths as oracles

C = np.array([0.7, 2.0, 0.3])
CATEGORY_WEIGHTS = np.array([0.8, 0.3])
# Central differences with steps of 1e-5: an error of 1e-10 from the step, 1e-11 from rounding.
DIFFERENCES = {"rtol": 1e-6, "atol": 1e-8}


def with_categories(mixture, rng):
    """Give each component of an oracle's mixture two columns of categories."""
    return [(*part, [rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2))]) for part in mixture]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_closed_forms_agree_with_differences(family):
    rows = rows_of(example(family))[:4]
    for p in rows:
        for q in rows:
            np.testing.assert_allclose(
                oracles.log_expected_rbf_by_widths(p.mixture, q.mixture, C),
                oracles.by_differences(
                    lambda c, p=p, q=q: oracles.expected_rbf(p.mixture, q.mixture, c), C
                ),
                **DIFFERENCES,
            )
            np.testing.assert_allclose(
                oracles.log_genrbf_by_widths(p.mixture, q.mixture, C),
                oracles.by_differences(
                    lambda c, p=p, q=q: oracles.genrbf(p.mixture, q.mixture, c), C
                ),
                **DIFFERENCES,
            )


@pytest.mark.parametrize("family", FAMILIES)
def test_with_categories_and_masks_too(family):
    rng = np.random.default_rng(1)
    p, q = (with_categories(row.mixture, rng) for row in rows_of(example(family))[2:4])
    weights = CATEGORY_WEIGHTS
    for kernel, by_widths, by_weights in (
        (
            oracles.expected_rbf,
            oracles.log_expected_rbf_by_widths,
            oracles.log_expected_rbf_by_category_weights,
        ),
        (
            oracles.genrbf,
            oracles.log_genrbf_by_widths,
            oracles.log_genrbf_by_category_weights,
        ),
    ):
        np.testing.assert_allclose(
            by_widths(p, q, C, weights),
            oracles.by_differences(lambda c, k=kernel: k(p, q, c, weights), C),
            **DIFFERENCES,
        )
        np.testing.assert_allclose(
            by_weights(p, q, C, weights),
            oracles.by_differences(lambda w, k=kernel: k(p, q, C, w), weights),
            **DIFFERENCES,
        )
    missing, other = [True, False, True], [False, False, True]
    np.testing.assert_allclose(
        oracles.log_mask_kernel_by_weights(missing, other, C),
        oracles.by_differences(lambda w: oracles.mask_kernel(missing, other, w), C),
        **DIFFERENCES,
    )


GAMMAS = 1 / (2 * C)
KERNELS = {
    "expected": (ExpectedRBF(GAMMAS), oracles.expected_rbf, oracles.log_expected_rbf_by_widths),
    "genrbf": (GenRBF(GAMMAS), oracles.genrbf, oracles.log_genrbf_by_widths),
}


def oracle_sum(P, weights, c, kernel, by_widths, **options):
    """Add up the oracle over all pairs, by ``log gamma``."""
    rows = [row.mixture for row in rows_of(P)]
    return -sum(
        weights[i, j] * kernel(p, q, c, **options) * by_widths(p, q, c, **options)
        for i, p in enumerate(rows)
        for j, q in enumerate(rows)
    )


def by_differences_of(kernel, P, weights, name, step=1e-5):
    """Central differences of the weighted sum of a Gram matrix, by the logarithm of a parameter."""
    value = np.asarray(kernel.get_params(deep=True)[name], dtype=float)
    found = np.zeros(value.shape)
    for place in np.ndindex(value.shape):
        sums = []
        for sign in (1, -1):
            moved = value.copy()
            moved[place] *= np.exp(sign * step)
            own = with_params(kernel, **{name: moved if moved.ndim else float(moved)})
            sums.append((weights * own(P)).sum())
        found[place] = (sums[0] - sums[1]) / (2 * step)
    return found


@pytest.mark.usefixtures("either_road")
class TestAgainstTheOracle:
    @pytest.mark.parametrize("family", FAMILIES)
    @pytest.mark.parametrize("name", KERNELS)
    def test_sums_over_pairs_are_the_oracles(self, name, family):
        kernel, *oracle = KERNELS[name]
        P = example(family)
        weights = np.random.default_rng(0).normal(size=(len(P), len(P)))
        np.testing.assert_allclose(
            kernel.gradient(P, weights)["gamma"],
            oracle_sum(P, weights, C, *oracle),
            rtol=1e-10,
            atol=1e-12,
        )

    @pytest.mark.parametrize("family", FAMILIES)
    def test_without_determinants_too(self, family):
        P = example(family)
        weights = np.random.default_rng(0).normal(size=(len(P), len(P)))
        if P.n_components == 1:
            np.fill_diagonal(weights, 0.0)  # one by definition
        found = ExpectedRBF(GAMMAS, scaled=False).gradient(P, weights)["gamma"]
        wanted = oracle_sum(P, weights, C, *KERNELS["expected"][1:], scaled=False)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("rate", [0.0, 0.3, 0.8])
    @pytest.mark.parametrize("n_components", [1, 2])
    def test_rows_that_miss_little_or_much(self, n_components, rate):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(13, 6))
        X[rng.random(X.shape) < rate] = np.nan
        X[3] = np.nan
        P = beliefs_about(random_prior(6, n_components, rng), X)
        c = np.exp(rng.normal(size=6))
        weights = rng.normal(size=(13, 13))
        for make, kernel, by_widths in (
            (ExpectedRBF, oracles.expected_rbf, oracles.log_expected_rbf_by_widths),
            (GenRBF, oracles.genrbf, oracles.log_genrbf_by_widths),
        ):
            np.testing.assert_allclose(
                make(1 / (2 * c)).gradient(P, weights)["gamma"],
                oracle_sum(P, weights, c, kernel, by_widths),
                rtol=1e-10,
                atol=1e-12,
            )

    def test_popular_patterns_and_others_side_by_side(self):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(180, 4))
        X[:70, 1] = np.nan
        X[150:][rng.random((30, 4)) < 0.5] = np.nan
        P = beliefs_about(random_prior(4, 1, rng), X[rng.permutation(180)])
        weights = rng.normal(size=(180, 180))
        kernel = GenRBF(np.exp(rng.normal(size=4)))
        np.testing.assert_allclose(
            kernel.gradient(P, weights)["gamma"],
            by_differences_of(kernel, P, weights, "gamma"),
            rtol=1e-6,
            atol=1e-7,
        )

    def test_one_gamma_is_the_sum_over_columns(self):
        P = example("gaussian")
        weights = np.random.default_rng(0).normal(size=(len(P), len(P)))
        one = GenRBF(0.4).gradient(P, weights)["gamma"]
        each = GenRBF([0.4] * 3).gradient(P, weights)["gamma"]
        assert one.shape == ()
        np.testing.assert_allclose(one, each.sum(), rtol=1e-12)

    @pytest.mark.parametrize("make", [ExpectedRBF, GenRBF])
    def test_a_metric_has_one_derivative(self, make):
        P = example("gaussian")
        weights = np.random.default_rng(0).normal(size=(len(P), len(P)))
        kernel = make(0.4, METRIC)
        np.testing.assert_allclose(
            kernel.gradient(P, weights)["gamma"],
            by_differences_of(kernel, P, weights, "gamma"),
            **DIFFERENCES,
        )

    @pytest.mark.parametrize("make", [ExpectedRBF, GenRBF])
    def test_masks_in_sums_products_and_multiples(self, make):
        P = example("mixture")
        weights = np.random.default_rng(0).normal(size=(len(P), len(P)))
        kernel = 0.5 * (make(GAMMAS) * MaskKernel([0.3, 1.0, 0.2])) + make(0.2) * MaskKernel(0.7)
        found = kernel.gradient(P, weights)
        assert found.keys() == {
            "left__kernel__left__gamma",
            "left__kernel__right__weight",
            "right__left__gamma",
            "right__right__weight",
        }
        for name, derivative in found.items():
            np.testing.assert_allclose(
                derivative, by_differences_of(kernel, P, weights, name), **DIFFERENCES
            )

    @pytest.mark.parametrize("make", [ExpectedRBF, GenRBF])
    @pytest.mark.parametrize("weight", [0.6, [0.8, 0.3]])
    def test_categories(self, make, weight):
        X = mixed_table(24, missing=0.35)
        P = fitted(X).condition(X)
        weights = np.random.default_rng(0).normal(size=(24, 24))
        kernel = make([0.4, 1.3], category_weight=weight)
        for name, derivative in kernel.gradient(P, weights).items():
            np.testing.assert_allclose(
                derivative, by_differences_of(kernel, P, weights, name), **DIFFERENCES
            )


@pytest.mark.usefixtures("either_road")
class TestCorners:
    def agree_with_differences(self, kernel, P):
        weights = np.random.default_rng(0).normal(size=(len(P), len(P)))
        found = kernel.gradient(P, weights)["gamma"]
        assert np.isfinite(found).all()
        wanted = by_differences_of(kernel, P, weights, "gamma")
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize("make", [ExpectedRBF, GenRBF])
    def test_collinear_columns(self, make):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20, 3))
        X = np.column_stack([X, X[:, 0] + X[:, 1]])
        X[rng.random(X.shape) < 0.3] = np.nan
        P = GaussianDensity().fit(X).condition(X)
        self.agree_with_differences(make([0.4, 0.1, 1.0, 0.2]), P)

    @pytest.mark.parametrize("make", [ExpectedRBF, GenRBF])
    def test_gross_outliers_near_each_other(self, make):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(12, 3))
        X[0, 0], X[1, 0], X[2, 0] = 1e9, 1e9, 1e9 + 1
        X[4:, 1][::2] = np.nan
        P = beliefs_about(random_prior(3, 1, rng), X)
        self.agree_with_differences(make([0.4, 0.1, 1.0]), P)

    @pytest.mark.parametrize("make", [ExpectedRBF, GenRBF])
    def test_scales_side_by_side_and_fewer_rows_than_columns(self, make):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(5, 7)) * np.logspace(-6, 6, 7)
        X[rng.random(X.shape) < 0.3] = np.nan
        X[0] = np.nan
        X[:2, :] = np.where(np.isnan(X[:2]), np.nan, X[:2])
        X[1] = rng.normal(size=7) * np.logspace(-6, 6, 7)
        P = GaussianDensity().fit(X).condition(X)
        self.agree_with_differences(make(0.1 / np.logspace(-6, 6, 7) ** 2), P)

    @pytest.mark.parametrize("make", [ExpectedRBF, GenRBF])
    def test_one_column(self, make):
        X = np.array([[0.0], [1.0], [np.nan], [2.5]])
        P = GaussianDensity().fit(X).condition(X)
        self.agree_with_differences(make([0.5]), P)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X[rng.random(X.shape) < 0.4] = np.nan
    P = beliefs_about(random_prior(5, 1, rng), X)
    weights = rng.normal(size=(300, 300))
    kernel = GenRBF(np.exp(rng.normal(size=5)))
    one, two = (kernel.gradient(P, weights, n_jobs=n)["gamma"] for n in (1, 2))
    np.testing.assert_allclose(one, two, rtol=1e-12)


def test_what_has_no_closed_form_says_so():
    P = example("gaussian")
    weights = np.ones((len(P), len(P)))
    assert GenRBF().has_gradient
    assert not (GenRBF() + GammaRBF()).has_gradient
    with pytest.raises(TypeError, match="not known in closed form"):
        GammaRBF(0.4).gradient(P, weights)
    with pytest.raises(ValueError, match="one number per entry"):
        GenRBF(0.4).gradient(P, weights[1:])
