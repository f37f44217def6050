"""Margins of columns with few values: a straight line in their own unit."""

import numpy as np
import pytest

from absentia import GaussianDensity
from absentia.tables import Table
from absentia.tables.margins import Margins


@pytest.mark.parametrize("weights", [None, np.full(37, 0.3)])
@pytest.mark.parametrize("value", [0.5, 0.1, 0.3, -0.7, 100_000.1])
def test_a_constant_column_is_measured_in_its_own_size(value, weights):
    """Not in the rounding of its mean: other values had scores of 1e16."""
    margins = Margins.of(Table.of(np.full((37, 1), value)), weights)
    unit = max(1.0, abs(value))
    scores = margins.forward(np.array([[value], [value + 2 * unit]]))
    np.testing.assert_allclose(scores.ravel(), [0.0, 2.0], atol=1e-12)


def test_values_of_far_scores_stay_within_ten_times_the_largest():
    size = np.exp(np.random.default_rng(0).normal(size=(300, 1)))
    table = size * [1.0, 2.0]
    density = GaussianDensity(margins="auto").fit(table)
    # A second value far beyond training has a score at which the first would overflow float32.
    far = np.array([[np.nan, 1e300]])
    draws = density.draw(far, 20, random_state=0)[..., 0]
    assert (draws <= 10 * table[:, 0].max() * (1 + 1e-9)).all()
    assert density.impute(far)[0, 0] <= 10 * table[:, 0].max() * (1 + 1e-9)
    # The score of a far value itself is not cut, so that it stays suspicious.
    curve = Margins.auto(Table.of(table)).curves[0]
    assert curve.forward(np.array([1e6])) > curve.forward(np.array([1e3])) + 1
