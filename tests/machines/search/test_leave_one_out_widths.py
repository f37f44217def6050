"""Widths of columns by the leave-one-out error, against differences and against refitting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from absentia import (
    SVC,
    SVR,
    GaussianDensity,
    GaussianProcessRegressor,
    GenRBF,
    KernelRidge,
    LogisticRegression,
    MixedDensity,
    NuSVR,
)
from absentia.machines.search.kernel_family import KernelFamily
from absentia.machines.search.widths import (
    least_error,
    leave_one_out_errors,
    leave_one_out_gradient,
)


def table(n=90, d=4, missing=0.2, seed=0):
    """A table of which only the first two columns matter, the first much more."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_that_of_differences(weighted):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 14))
    K, codes, D = A @ A.T / 14, rng.normal(size=(12, 2)), rng.normal(size=(12, 12))
    D = D + D.T
    weights = rng.uniform(0.5, 2, 12) if weighted else None
    error, by_kernel, by_ridge = leave_one_out_gradient(K, codes, 0.3, weights)
    assert error == pytest.approx(leave_one_out_errors(K, codes, [0.3], weights)[0], rel=1e-12)
    h = 1e-6
    around = [leave_one_out_errors(K + s * h * D, codes, [0.3], weights)[0] for s in (1, -1)]
    assert np.vdot(by_kernel, D) == pytest.approx((around[0] - around[1]) / (2 * h), rel=1e-6)
    around = [leave_one_out_errors(K, codes, [0.3 * np.exp(s * h)], weights)[0] for s in (1, -1)]
    assert by_ridge == pytest.approx((around[0] - around[1]) / (2 * h), rel=1e-6)


def test_a_matrix_that_is_not_definite_has_an_infinite_error():
    error, by_kernel, _ = leave_one_out_gradient(-np.eye(3), np.ones((3, 1)), 0.1)
    assert error == np.inf
    assert not by_kernel.any()


def test_a_tight_prior_keeps_the_widths_together():
    X, y = table()
    P = GaussianDensity().fit(X).condition(X)
    codes = (y - y.mean())[:, None]
    spreads = []
    for deviation in (0.01, 0.3, 3.0):
        family = KernelFamily.of(
            GenRBF(0.2), P.prior, free_gamma=True, free_mask_weight=False, gamma_bounds=(1e-4, 1e4)
        ).by_column(P.prior, deviation)
        gamma = least_error(family, P, codes).gamma
        assert gamma.argmax() == 0
        spreads.append(np.log(gamma).std())
    assert spreads[0] < 0.05 < spreads[1] < spreads[2]


@pytest.mark.parametrize(
    "make", [KernelRidge, SVR, NuSVR, SVC, LogisticRegression], ids=lambda make: make.__name__
)
def test_machines_learn_which_column_matters(make):
    X, y = table()
    target = y > 0 if make in (SVC, LogisticRegression) else y
    machine = make(gamma="loo-ard", width_prior=1.0).fit(X, target)
    assert machine.kernel_.gamma.shape == (4,)
    assert machine.relevance_.argmax() == 0
    assert machine.relevance_.sum() == pytest.approx(1)
    again = clone(machine).fit(X, target)
    np.testing.assert_array_equal(again.kernel_.gamma, machine.kernel_.gamma)


def test_no_deviation_is_one_width():
    X, y = table()
    one = KernelRidge(gamma="loo").fit(X, y)
    none = KernelRidge(gamma="loo-ard", width_prior=0).fit(X, y)
    assert none.kernel_ == one.kernel_


def test_learned_widths_predict_better_where_few_columns_matter():
    X, y = table(n=240, d=8, seed=3)
    one = KernelRidge(gamma="loo", alpha=0.1).fit(X[:120], y[:120])
    own = KernelRidge(gamma="loo-ard", alpha=0.1).fit(X[:120], y[:120])
    assert own.score(X[120:], y[120:]) > one.score(X[120:], y[120:]) + 0.05


def test_mask_weights_and_categories_go_along():
    X, y = table(n=160)
    y = y + 2 * np.isnan(X[:, 3])
    scores = [
        KernelRidge(alpha=0.01, gamma="loo-ard", mask_weight=weight)
        .fit(X[:90], y[:90])
        .score(X[90:], y[90:])
        for weight in (None, "optimize")
    ]
    assert scores[1] > scores[0] + 0.1
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["word"] = np.where(np.arange(len(X)) % 3 == 0, "yes", "no")
    density = MixedDensity(n_components=1)
    mixed = KernelRidge(gamma="loo-ard", density=density).fit(frame, y + (frame["word"] == "yes"))
    assert mixed.kernel_.category_weight.shape == (1,)
    assert mixed.relevance_.shape == (5,)


def test_weights_of_zero_are_rows_left_out():
    X, y = table()
    weights = np.ones(len(y))
    weights[60:] = 0
    # On beliefs, because the density would see other rows.
    P = GaussianDensity().fit(X).condition(X)
    whole = KernelRidge(gamma="loo-ard").fit(P, y, sample_weight=weights)
    part = KernelRidge(gamma="loo-ard").fit(P[:60], y[:60])
    np.testing.assert_allclose(whole.kernel_.gamma, part.kernel_.gamma, rtol=1e-6)


def test_what_cannot_be_learned_is_refused():
    X, y = table(n=20)
    with pytest.raises(ValueError, match="ExpectedRBF and GenRBF"):
        KernelRidge(gamma="loo-ard", kernel="esd").fit(X, y)
    with pytest.raises(ValueError, match="mask_weight='optimize' is chosen along"):
        KernelRidge(mask_weight="optimize").fit(X, y)
    with pytest.raises(ValueError, match="width_prior must be a number"):
        KernelRidge(gamma="loo-ard", width_prior=-1).fit(X, y)


def test_constant_targets_leave_one_width():
    X, _ = table(n=20)
    machine = KernelRidge(gamma="loo-ard").fit(X, np.zeros(20))
    assert np.ndim(machine.kernel_.gamma) == 0


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_units_of_targets_do_not_matter(unit):
    X, y = table()
    for gamma in ("loo", "loo-ard"):
        one = KernelRidge(gamma=gamma).fit(X, y).kernel_.gamma
        other = KernelRidge(gamma=gamma).fit(X, y * unit).kernel_.gamma
        # The steps of the search carry the rounding of the units on.
        np.testing.assert_allclose(other, one, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-130, 1e130])
def test_units_of_the_targets_of_a_process_do_not_matter(unit):
    X, y = table()
    process = GaussianProcessRegressor()
    means = process.fit(X, y).predict(X)
    np.testing.assert_allclose(process.fit(X, y * unit).predict(X) / unit, means, rtol=1e-6)
    with pytest.raises(ValueError, match="squares targets"):
        process.fit(X, y * unit**2)


@pytest.mark.parametrize(
    "machine", [KernelRidge(gamma="loo-ard"), GaussianProcessRegressor(gamma="ard")], ids=repr
)
def test_a_deviation_next_to_zero_keeps_the_widths_together(machine):
    X, y = table()
    model = clone(machine).set_params(width_prior=1e-300).fit(X, y)
    widths = next(v for k, v in model.kernel_.get_params().items() if k.endswith("gamma"))
    assert np.ptp(np.log(widths)) < 1e-2
