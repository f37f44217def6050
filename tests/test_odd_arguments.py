"""Arguments of functions that no float can hold, or of another kind, get a sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import TransformerMixin

import absentia
from absentia.kernels import gram_blocks, kernel_variance_diag
from absentia.missingness import amputation
from estimators import estimators, small, takes_weights

HUGE = 10**400

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
y = (X[:, 0] > 0).astype(int)
X[rng.random(X.shape) < 0.1] = np.nan


@pytest.fixture(scope="module")
def machine():
    return absentia.LogisticRegression().fit(X, y)


# Features give their weights to the density, for which equal weights are no weights.
WEIGHTED = [
    kind for kind in estimators() if takes_weights(kind) and not issubclass(kind, TransformerMixin)
]


@pytest.mark.parametrize("kind", WEIGHTED)
def test_weights_beyond_all_floats(kind):
    with pytest.raises(
        ValueError, match="sample_weight must be at most 1e\\+100, found an integer"
    ):
        small(kind).fit(X, y, sample_weight=[HUGE] * len(X))


def test_weights_beyond_all_floats_of_chunks():
    chunks = absentia.Chunks(lambda: iter([(X, y, [HUGE] * len(X))]))
    with pytest.raises(ValueError, match="sample_weight must be at most"):
        absentia.LargeScaleLogisticRegression(random_state=0).fit(chunks)


@pytest.mark.parametrize("what", ["costs", "worth"])
@pytest.mark.parametrize(
    "given", [pytest.param(HUGE, id="huge"), [HUGE] * 3, {"x0": HUGE}, ["a", 1, 2]]
)
def test_costs_and_worths_are_finite_numbers(machine, what, given):
    with pytest.raises(ValueError, match=f"{what} must be finite numbers, one per column"):
        absentia.measure_next(machine, X[:3], **{what: given})


def test_costs_of_held_out_worth_are_finite_numbers(machine):
    with pytest.raises(ValueError, match="costs must be finite numbers, one per column"):
        absentia.held_out_worth(machine, X, y, costs=[HUGE] * 3)


@pytest.mark.parametrize("budget", [pytest.param(HUGE, id="huge"), "much", np.nan, -1])
def test_a_budget_is_a_number(machine, budget):
    with pytest.raises(ValueError, match="budget must be a number of at least 0 or infinity"):
        absentia.measure_next(machine, X[:3], budget=budget)


@pytest.mark.parametrize("budget", [np.inf, np.float32(np.inf)])
def test_a_budget_may_be_infinite(machine, budget):
    found = absentia.measure_next(machine, X[:9], budget=budget)
    assert found.best == absentia.measure_next(machine, X[:9]).best


@pytest.mark.parametrize("density", [int, 3, "gaussian", absentia.GaussianDensity])
def test_a_density_is_a_fitted_density(machine, density):
    with pytest.raises(TypeError, match="density must be a fitted density"):
        absentia.measure_next(machine, X[:3], density=density)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.uint64])
def test_the_rows_of_held_out_worth_may_be_counted_by_any_integer(machine, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = absentia.held_out_worth(machine, X, y, max_rows=kind(30), cv=kind(3))
    np.testing.assert_array_equal(found, absentia.held_out_worth(machine, X, y, max_rows=30))


@pytest.mark.parametrize("max_rows", ["30", 30.5, 0, np.inf, None])
def test_the_rows_of_held_out_worth_are_a_number(machine, max_rows):
    with pytest.raises(ValueError, match="max_rows must be an integer"):
        absentia.held_out_worth(machine, X, y, max_rows=max_rows)


@pytest.mark.parametrize("coverage", [1e-9, 1e-16, 1e-20, 5e-324])
def test_intervals_of_hardly_any_coverage(coverage):
    target = np.nan_to_num(X[:, 0])
    conformal = absentia.ConformalRegressor(absentia.KernelRidge(), coverage=coverage)
    lower, upper = conformal.fit(X, target).predict_interval(X[:9])
    # The narrowest that the calibration rows give, the same at any coverage of the first rank.
    other = conformal.predict_interval(X[:9], coverage=1e-3)
    np.testing.assert_array_equal([lower, upper], [other.lower, other.upper])


@pytest.mark.parametrize(
    "call",
    [
        lambda kernel, P: gram_blocks(kernel, X),
        lambda kernel, P: gram_blocks(kernel, P, X),
        lambda kernel, P: absentia.kernel_variance(kernel, X),
        lambda kernel, P: absentia.kernel_variance(kernel, P, X),
        lambda kernel, P: kernel_variance_diag(kernel, X),
    ],
)
def test_kernels_compare_beliefs_and_not_tables(call):
    P = absentia.GaussianDensity().fit(X).condition(X)
    with pytest.raises(TypeError, match="must be Beliefs, found ndarray"):
        call(absentia.ExpectedRBF(), P)


@pytest.mark.parametrize("groups", [3, None, "ab"])
def test_views_are_groups_of_columns(groups):
    with pytest.raises(ValueError, match="groups must be a list of lists of columns"):
        amputation.views(np.ones((4, 3)), 0.5, groups)
