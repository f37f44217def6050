"""Margins of columns with few values: a straight line in their own unit."""

import numpy as np
import pytest

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
