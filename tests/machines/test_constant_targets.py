"""Targets that have one value only, whose mean (and so whose deviation) is rounding."""

import numpy as np
import pytest

from absentia import AutoRegressor, GaussianProcessRegressor
from absentia.machines.targets import codes_of_numbers, spread_of_targets

VALUES = [0.1, 0.3, 100_000.1]


def rows(n=37):
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[::4, 1] = np.nan
    return X


@pytest.mark.parametrize("value", VALUES)
def test_codes_are_zero_and_the_unit_is_one(value):
    y = np.column_stack([np.full(1000, value), np.arange(1000.0)])
    assert spread_of_targets(y)[0] == 1.0
    codes = codes_of_numbers(y)
    assert not codes[:, 0].any()
    np.testing.assert_allclose(codes[:, 1].std(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("value", VALUES)
def test_a_gaussian_process_is_as_sure_of_any_constant(value):
    """0.5 is exact, and so is its mean; deviations of 1e-20 came out for 0.1."""
    X = rows()
    _, expected = GaussianProcessRegressor().fit(X, np.full(37, 0.5)).predict(X, return_std=True)
    machine = GaussianProcessRegressor().fit(X, np.full(37, value))
    mean, deviation = machine.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, value)
    np.testing.assert_array_equal(deviation, expected)


@pytest.mark.parametrize("value", VALUES)
def test_an_automatic_machine_has_the_constant_as_its_centre(value):
    y = np.full(37, value)
    y[0] = 7.0
    weights = np.ones(37)
    weights[0] = 0.0  # so does not count
    model = AutoRegressor(time_budget=2).fit(rows(), y, sample_weight=weights)
    assert (model.target_mean_, model.target_scale_) == (value, 1.0)


@pytest.mark.parametrize("size", [1e175, 1e-175])
def test_targets_whose_squares_are_no_numbers_are_refused(size):
    """A variance of 1e350 became an infinity, and parts of it NaN."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    machine = GaussianProcessRegressor()
    for y in (size * X[:, 0], size * X):
        with pytest.raises(ValueError, match="Measure y in another unit"):
            machine.fit(X, y)
