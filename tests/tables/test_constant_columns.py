"""Constant columns are told by their values: the mean of equal values rounds."""

import numpy as np
import pytest

from absentia.tables.rows import is_constant

VALUES = [0.0, 0.5, 0.1, 0.3, -0.1, 100_000.1, 1e-300, 1.1e300]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("n", [1, 37, 100_000])
def test_one_value_however_often(value, n):
    assert is_constant(np.full(n, value))
    assert is_constant(np.full((n, 2), value)).tolist() == [True, True]


def test_missing_values_do_not_count():
    table = np.array([[np.nan, np.nan, 0.1], [np.nan, 0.1, 0.1], [np.nan, 0.1, 0.2]])
    assert is_constant(table).tolist() == [False, True, False]


@pytest.mark.parametrize("values", [[1e-320, 2e-320], [-1.7e308, 1.7e308], [1.0, 1.0 + 1e-14]])
def test_what_varies(values):
    assert not is_constant(np.array(values))


@pytest.mark.parametrize("value", VALUES[1:])
def test_what_differs_by_rounding_is_constant(value):
    assert is_constant(np.array([value, np.nextafter(value, np.inf)])) or abs(value) < 1e-290
