"""Codes for missing values among numbers: found where they are far outside, left in doubt."""

import numpy as np
import pytest

from absentia.tables.columns.quantities import find_sentinels
from absentia.tables.columns.readings import without_sentinels

REST = np.linspace(0.0, 8.0, 30)


@pytest.mark.parametrize(
    ("rest", "codes", "found"),
    [
        (REST, [-999, -999], (-999,)),
        (REST, [-99] * 3, (-99,)),
        (REST, [999, 999, -9999, -9999], (-9999, 999)),
        (REST - 4, [-999, -999], (-999,)),
        (REST, [-999], ()),  # one value may be an outlier
        (100 * REST - 300, [-999, -999], ()),  # no farther than the others from each other
        (100 * REST, [999, 999], ()),
        (5000 * REST, [99999, 99999], ()),  # a top code
        (REST, [99, 99], ()),  # may be an age
        (REST, [-1, -1], ()),
        (REST[:1], [-999, -999], ()),  # nothing to be far from
    ],
)
def test_codes_far_outside_the_rest(rest, codes, found):
    values = np.concatenate([rest, codes, [np.nan]])
    assert find_sentinels(values) == found
    np.testing.assert_array_equal(
        without_sentinels(values, found), np.where(np.isin(values, found), np.nan, values)
    )


def test_nothing_known():
    assert find_sentinels(np.full(4, np.nan)) == ()
    assert find_sentinels(np.empty(0)) == ()
