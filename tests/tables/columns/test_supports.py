"""Supports of columns: inferred from training, given by the user, and kept by limits."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from absentia import SVC, ColumnPlan, GaussianDensity, TableEncoder, load, save
from absentia.tables.columns.readings import ColumnReading
from absentia.tables.columns.supports import Support

RNG = np.random.default_rng(0)
N = 60
Y = np.arange(N) % 2
FRAMES = {"pandas": lambda frame: frame, "polars": pl.from_pandas}


@pytest.mark.parametrize(
    ("values", "name", "support"),
    [
        (RNG.gamma(2.0, size=N), "lead", "positive"),
        (np.maximum(RNG.normal(size=N), 0), "rain", "non-negative"),
        (RNG.normal(size=N), "z", ""),
        (RNG.random(N), "x", "share"),
        (0.3 * RNG.random(N), "lead", "positive"),
        (0.3 * RNG.random(N), "share_of_women", "share"),
        (60 * RNG.random(N), "fat_pct", "percent"),
        (RNG.poisson(3.0, N), "visits", "counts"),
        (RNG.integers(-5, 5, N), "change", "whole numbers"),
        (Y, "ill", "0/1"),
        (np.full(N, 3.0), "constant", ""),
        (RNG.gamma(2.0, size=10), "few", ""),
    ],
)
def test_supports_are_inferred(values, name, support):
    assert str(Support.of_values(np.append(values, np.nan).astype(float), name)) == support
    frame = pd.DataFrame({name: values, "ward": ["a", "b"] * (len(values) // 2)})
    reading = ColumnPlan.of(frame).by_name[name]
    assert reading.left_out or str(reading.support) == support
    if support:
        assert str(Support.of_values(np.array(values, dtype=float))) == (
            support if name not in ("share_of_women", "fat_pct") else "positive"
        )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0, None), "non-negative"),
        ((None, 5), "up to 5"),
        ("2:7.5", "2 to 7.5"),
        ("0:", "non-negative"),
        ("positive", "positive"),
        ("counts", "counts"),
        (None, ""),
    ],
)
def test_supports_are_given(given, said):
    assert str(Support.of(given)) == said


@pytest.mark.parametrize("given", ["many", (1,), (3, 2), ("a", None), 5])
def test_a_support_that_is_none_is_refused(given):
    with pytest.raises(ValueError, match=r"support of column 'x' must be a pair.*found"):
        Support.of(given, "x")


def censored(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    """A positive, skewed column of which a third is below the limit of detection."""
    rng = np.random.default_rng(0)
    bilirubin = np.exp(rng.normal(0.0, 0.8, n))
    text = np.where(bilirubin < 0.7, "<0.7", [f"{value:.3f}" for value in bilirubin])
    frame = pd.DataFrame({"bilirubin": text, "ward": rng.choice(["a", "b"], n)})
    return frame, bilirubin


@pytest.mark.parametrize("kind", FRAMES)
def test_a_limit_of_a_positive_column_is_an_interval_from_zero(kind):
    frame, _ = censored()
    below = (frame["bilirubin"] == "<0.7").to_numpy()
    plan = ColumnPlan.of(FRAMES[kind](frame))
    assert "positive" in repr(plan)
    table = plan.read(FRAMES[kind](frame))
    ends = [end[below, 0] * plan.scales[0] + plan.centres[0] for end in (table.lower, table.upper)]
    np.testing.assert_allclose(ends[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(ends[1], 0.7)
    filled = GaussianDensity().fit(FRAMES[kind](frame)).impute(FRAMES[kind](frame))
    values = np.asarray(filled["bilirubin"].to_list(), dtype=float)[below]
    assert values.min() > 0
    assert values.max() < 0.7


def test_the_support_can_be_given_and_overruled():
    frame, _ = censored()
    plan = ColumnPlan.of(frame, supports={"bilirubin": (0.1, None)})
    assert plan.by_name["bilirubin"].support == Support(0.1)
    lower = plan.read(frame).lower[:, 0]
    assert lower[np.isfinite(lower)].max() * plan.scales[0] + plan.centres[0] == pytest.approx(0.1)
    free = ColumnPlan.of(frame, supports={"bilirubin": None}).read(frame)
    assert np.isinf(free.lower).all()
    encoder = TableEncoder(supports={"bilirubin": "positive"}, limits=True).fit(frame.head(8))
    assert str(encoder.plan_.by_name["bilirubin"].support) == "positive"
    for supports, sentence in (
        ({"lead": (0, 1)}, "names the column 'lead', which the table does not have"),
        ({"ward": (0, 1)}, "'ward', which is used as category: only numbers"),
        ({"bilirubin": (0, 1)}, r"Column 'bilirubin' has .* outside of the support .*0 to 1|share"),
    ):
        with pytest.raises(ValueError, match=sentence):
            ColumnPlan.of(frame, supports=supports)


def test_supports_are_stored_with_the_model(tmp_path):
    frame, bilirubin = censored()
    machine = SVC().fit(frame, bilirubin > 1)
    save(machine, tmp_path / "m.absentia")
    again = load(tmp_path / "m.absentia")
    assert str(again.columns_.by_name["bilirubin"].support) == "positive"
    np.testing.assert_array_equal(again.predict(frame), machine.predict(frame))


def test_the_plan_has_supports_in_its_own_units():
    frame, _ = censored()
    frame["visits"] = np.arange(len(frame)) % 5
    plan = ColumnPlan.of(frame)
    bilirubin, ward, visits = plan.supports
    assert bilirubin.lower * plan.scales[0] + plan.centres[0] == pytest.approx(0.0)
    assert not ward.bounded
    own = visits.nearest(np.array([-9.0, 0.03, np.nan])) * plan.scales[2] + plan.centres[2]
    np.testing.assert_allclose(own, [0.0, round(float(own[1])), np.nan], atol=1e-12)
    numbers = frame[["visits"]].assign(x=np.linspace(-1, 1, len(frame)))
    assert [str(s) for s in GaussianDensity().fit(numbers).plan_.supports] == ["counts", ""]


@pytest.mark.parametrize(
    "field",
    [
        {"support": None},
        {"support": Support(2.0, 1.0)},
        {"support": Support(step=np.inf)},
        {"support": Support(lower="0")},
        {"encoding": (1.0, 2.0, 3.0)},
        {"encoding": (1.0, np.nan)},
        {"encoding": (1.0,), "categories": ()},
    ],
)
def test_readings_that_a_file_made_up_are_refused(field):
    reading = replace(ColumnReading("category", categories=("a", "b")), **field)
    with pytest.raises(ValueError, match=r"ColumnReading|Support"):
        reading.validate()
