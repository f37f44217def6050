"""Cyclic parts of dates."""

import numpy as np
import pandas as pd
import pytest

from absentia.tables.columns.dates import find_cycles
from absentia.tables.columns.readings import cyclic_parts


@pytest.mark.parametrize(
    ("days", "cycles"),
    [
        (np.arange(60.0), ()),
        (np.arange(0, 3 * 365.0, 5), ("year",)),
        (np.arange(0, 60 * 365.0, 50), ()),  # dates of birth
        (np.arange(12.0).repeat(9), ()),
        (np.arange(0, 30, 0.125), ("day",)),
        (np.arange(0, 5, 0.04), ("day",)),
        (np.arange(40.0), ()),  # too few
        (np.full(80, np.nan), ()),
    ],
)
def test_a_cycle_is_used_where_it_is_covered_twice(days, cycles):
    assert find_cycles(np.append(days, np.nan)) == cycles


def test_parts_are_those_of_the_calendar():
    dates = pd.date_range("2021-01-01", "2024-12-31 21:00", freq="3h")
    days = (dates - pd.Timestamp(0)).total_seconds().to_numpy() / 86400
    year, week, day = np.split(cyclic_parts(days, ("year", "week", "day")), 3, axis=1)
    angle = 2 * np.pi * (dates.hour.to_numpy() / 24)
    np.testing.assert_allclose(day, np.column_stack([np.sin(angle), np.cos(angle)]), atol=1e-9)
    of_day = week.reshape(-1, 8, 2)[:, 0]
    weekday = dates[::8].day_of_week
    for number in range(7):  # the same in every week, and different from day to day
        np.testing.assert_allclose(np.ptp(of_day[weekday == number], axis=0), 0, atol=1e-9)
    assert len(np.unique(of_day.round(6), axis=0)) == 7
    # A mean year drifts against the calendar by less than two days.
    exact = 2 * np.pi * (dates.day_of_year.to_numpy() - 1 + dates.hour.to_numpy() / 24) / 365.2425
    turn = np.angle(np.exp(1j * (np.arctan2(year[:, 0], year[:, 1]) - exact)))
    assert np.ptp(turn) < 2 * 2 * np.pi / 365
    assert np.isnan(cyclic_parts(np.array([np.nan]), ("day",))).all()
