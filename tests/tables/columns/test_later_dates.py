"""Dates of a later table that are written otherwise than those of training."""

import numpy as np
import pandas as pd
import pytest

from absentia.tables.columns.guesses import read_column
from absentia.tables.encoder import TableEncoder

DAYS = pd.date_range("2021-01-01", periods=60, freq="11D")


def later(training, *cells):
    """The dates of a later column, read as the column of training was: ISO 8601, or nothing."""
    reading = read_column(pd.Series(training))
    assert reading.kind == "date"
    days = reading.values(pd.Series(cells))[:, 0]
    return [None if day != day else f"{np.datetime64(0, 'D') + int(day)}" for day in days]


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["05.04.2023"], ["2023-04-05"]),
        (["5.4.23"], ["2023-04-05"]),
        (["05.04.2023", "31.12.2022"], ["2023-04-05", "2022-12-31"]),
        (["31.12.2022", "05.04.2023"], ["2022-12-31", "2023-04-05"]),
        (["05/04/2023"], ["2023-04-05"]),  # both fit: day first
        (["05/04/2023", "12/31/2022"], ["2023-05-04", "2022-12-31"]),  # the column decides
        (["12/31/2022", "05/04/2023"], ["2022-12-31", "2023-05-04"]),
        (["2023-04-05", "2023-04-05 06:00"], ["2023-04-05"] * 2),
        (["2023-04-05", "soon", None], ["2023-04-05", None, None]),
        (["3750", "20230405"], [None, "2023-04-05"]),
        ([pd.Timestamp("2023-04-05"), "05.04.2023"], ["2023-04-05"] * 2),
    ],
    ids=str,
)
def test_text_after_typed_dates_is_read_as_in_training(cells, found):
    assert later(DAYS, *cells) == found


@pytest.mark.parametrize("spelling", ["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d", "%d %b %Y"])
def test_iso_dates_are_read_after_any_spelling(spelling):
    assert later(DAYS.strftime(spelling), "2021-04-08", "2021-04-08T06:00:00") == ["2021-04-08"] * 2


@pytest.mark.parametrize("spelling", ["", "%d.%m.%Y", "%Y-%m-%d"])
def test_numbers_are_no_dates_unless_they_are_written_as_such(spelling):
    training = DAYS.strftime(spelling) if spelling else DAYS
    assert later(training, 3750.0, 31122023.0, np.nan) == [None, None, None]
    assert later(training, 3750) == [None]
    assert later(training, 20240131.0, np.nan) == ["2024-01-31", None]


def test_whole_numbers_beside_a_missing_one():
    encoder = TableEncoder().fit(pd.DataFrame({"day": DAYS.strftime("%Y%m%d").astype(int)}))
    table = pd.DataFrame({"day": pd.Series([20240131, None], dtype="Int64")})
    days = encoder.transform(table)[:, 0]
    np.testing.assert_array_equal(days, [19753.0, np.nan])
