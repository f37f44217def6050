"""Times of day, and measurements with their error."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from absentia import SVC, ColumnPlan, GaussianDensity
from absentia.tables.columns.guesses import read_column

RNG = np.random.default_rng(0)
MINUTES = RNG.integers(0, 24 * 60, 60)
FRAMES = {"pandas": lambda frame: frame, "polars": pl.from_pandas}


@pytest.mark.parametrize("form", ["%H:%M", "%H:%M:%S", "%I:%M %p"])
def test_times_of_day_are_read_with_their_cycle(form):
    times = pd.Timestamp("2024-01-01") + pd.to_timedelta(MINUTES, unit="min")
    column = pd.Series(times.strftime(form), name="taken")
    reading = read_column(column)
    assert (reading.kind, reading.cycles) == ("date", ("day",))
    assert reading.note.startswith("times of day written as text")
    values = reading.values(column)
    np.testing.assert_allclose(values[:, 0], MINUTES / (24 * 60), atol=1e-12)
    np.testing.assert_allclose(values[:, 1], np.sin(2 * np.pi * MINUTES / (24 * 60)), atol=1e-9)


def test_a_time_among_dates_is_no_date():
    dates = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    column = pd.Series([*dates, "14:30", "09:10"], name="seen")
    reading = read_column(column)
    assert reading.counts.unreadable == 2
    typed = read_column(pd.Series(pd.date_range("2024-01-01", periods=40), name="seen"))
    assert np.isnan(typed.values(pd.Series(["14:30", "09:10"], name="seen"))).all()


@pytest.mark.parametrize("kind", FRAMES)
def test_times_of_frames_come_back_as_times(kind):
    texts = [f"{m // 60:02d}:{m % 60:02d}" for m in MINUTES]
    frame = pd.DataFrame({"taken": texts, "x": MINUTES / 100})
    frame.loc[::6, "taken"] = None
    given = FRAMES[kind](frame)
    filled = GaussianDensity().fit(given).impute(given)["taken"].to_list()
    assert all(len(text) == 5 and text[2] == ":" for text in filled)
    machine = SVC().fit(given, MINUTES > 700)
    assert machine.score(given, MINUTES > 700) > 0.9


@pytest.mark.parametrize(
    "words", [["72:30", "81:12", "95:01"], ["2:1", "3:0", "1:1"], ["a:b", "c:d"]]
)
def test_what_is_no_time_stays_words(words):
    assert read_column(pd.Series(words * 10)).kind == "category"


@pytest.mark.parametrize("sign", ["±", "+/-", " ± "])
@pytest.mark.parametrize(("decimal", "unit"), [(".", ""), (",", ""), (".", " mg/l")])
@pytest.mark.parametrize("kind", FRAMES)
def test_measurements_are_numbers_with_a_note_on_their_error(sign, decimal, unit, kind):
    values = RNG.gamma(3.0, size=40).round(1) + 1
    texts = [f"{v:.1f}{sign}0.2".replace(".", decimal) + unit for v in values]
    frame = pd.DataFrame({"lead": [*texts[:30], *(t.split(sign)[0] + unit for t in texts[30:])]})
    frame["w"] = ["a", "b"] * 20
    plan = ColumnPlan.of(FRAMES[kind](frame))
    assert f"measurements such as {texts[0].removesuffix(unit)!r} have their error" in repr(plan)
    read = plan.read(FRAMES[kind](frame)).array[:, 0] * plan.scales[0] + plan.centres[0]
    np.testing.assert_allclose(read, values)
