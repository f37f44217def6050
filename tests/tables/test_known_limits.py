"""Limits of missing values, as a user gives them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from absentia import SVC, GaussianDensity, bounded


def test_limits_of_missing_values_alone_are_kept():
    X = np.array([[1.0, np.nan], [np.nan, np.nan], [np.nan, 2.0]])
    table = bounded(X, lower=[0.0, np.nan], upper=[[5.0, 3.0], [5.0, np.inf], [0.0, 1.0]])
    np.testing.assert_array_equal(table.array, [[1, np.nan], [np.nan, np.nan], [0, 2]])
    np.testing.assert_array_equal(
        table.lower, [[-np.inf, -np.inf], [0, -np.inf], [-np.inf, -np.inf]]
    )
    np.testing.assert_array_equal(table.upper, [[np.inf, 3], [5, np.inf], [np.inf, np.inf]])
    np.testing.assert_array_equal(table[1:].upper, table.upper[1:])
    assert bounded(X).lower is None
    assert bounded(X, np.nan, np.inf).upper is None


def test_limits_that_make_no_sense_are_refused():
    frame = pd.DataFrame({"lead": [np.nan, 1.0], "age": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"Row 0 of column 'lead' .* 2 above .* 1"):
        bounded(frame, 2.0, 1.0)
    with pytest.raises(ValueError, match="broadcast"):
        bounded(frame, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="numbers that broadcast"):
        bounded(frame, "low")


def test_machines_take_tables_with_limits():
    rng = np.random.default_rng(0)
    full = rng.normal(size=(120, 2))
    y = (full[:, 0] > 0).astype(int)
    X = pd.DataFrame(full, columns=["a", "b"])
    X.loc[full[:, 0] < -0.5, "a"] = np.nan
    limited = bounded(X, upper=[-0.5, np.inf])
    assert SVC().fit(limited, y).score(limited, y) > 0.9
    density = GaussianDensity().fit(limited)
    assert list(density.feature_names_in_) == ["a", "b"]
    assert (density.impute(limited)[full[:, 0] < -0.5, 0] < -0.5).all()
