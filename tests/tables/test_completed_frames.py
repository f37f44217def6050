"""Completed frames have the columns, types, index and names of the frame that came in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from absentia import DensityImputer, GaussianDensity, MixedDensity

N = 80
RNG = np.random.default_rng(0)
AGE = RNG.normal(50, 12, N)
GRADES = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
WHOLE = pd.DataFrame(
    {
        "name": pd.Series([f"person {k}" for k in range(N)], dtype="string"),
        "age": AGE,
        "visits": pd.array((AGE // 10).astype(int), dtype="Int64"),
        "small": (AGE // 20).astype("float32"),
        "ill": pd.array(AGE > 55, dtype="boolean"),
        "grade": pd.Categorical(
            np.array(["low", "mid", "high"])[(AGE // 25).astype(int) % 3], dtype=GRADES
        ),
        "ward": pd.Series(RNG.choice(["north", "south"], N), dtype="string"),
        "seen": pd.Timestamp("2024-03-01", tz="Europe/Rome")
        + pd.to_timedelta(RNG.integers(0, 90, N), unit="D"),
        "stay": pd.to_timedelta(RNG.integers(1, 40, N), unit="h"),
        "dose": [f"{value:.2f}".replace(".", ",") for value in 3 + 0.1 * AGE],
        "text": pd.Series([f"{k}.{k % 28 + 1:02d}" for k in range(N)]).radd("no ").to_numpy(),
    },
    index=pd.Index(np.arange(N) * 3 + 7, name="row"),
)


def holes(frame: pd.DataFrame) -> pd.DataFrame:
    out = frame.copy()
    for j, name in enumerate(frame.columns):
        out.iloc[j :: 9 + j, j] = pd.NA if str(frame[name].dtype) in ("Int64", "boolean") else None
    return out


@pytest.mark.parametrize("density", [GaussianDensity(), MixedDensity(1, random_state=0)])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_every_column_comes_back_in_order_and_type(density, kind):
    frame = holes(WHOLE)
    given = frame if kind == "pandas" else pl.from_pandas(frame)
    fitted = density.fit(given)
    with pytest.warns(UserWarning, match="does not use come back as they were: 'name', 'text'"):
        tables = [fitted.impute(given), *fitted.draw(given, 2, random_state=0)]
    for table in tables:
        assert type(table) is type(given)
        assert list(table.columns) == list(given.columns)
        assert list(table.dtypes) == list(given.dtypes)
        again = table if kind == "pandas" else table.to_pandas().set_index(frame.index)
        if kind == "pandas":
            pd.testing.assert_index_equal(again.index, frame.index)
        for name in frame:
            known = frame[name].notna().to_numpy()
            assert (again[name][known].astype(str) == frame[name][known].astype(str)).all(), name
        used = again.drop(columns=["name", "text"])
        assert not used.isna().any().any()
        missing = frame["dose"].isna().to_numpy()
        assert all("," in text for text in again["dose"][missing])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_fractions_come_on_request(kind):
    frame = holes(WHOLE)
    given = frame if kind == "pandas" else pl.from_pandas(frame)
    density = GaussianDensity().fit(given)
    with pytest.warns(UserWarning, match="come back as they were"):
        tables = [density.impute(given, as_numbers=True), density.draw(given, as_numbers=True)]
    missing = frame["visits"].isna().to_numpy()
    for filled in tables:
        values = np.asarray(filled["visits"].to_list(), dtype=float)
        assert (values[missing] % 1 > 0).any()
        assert (values[~missing] == frame["visits"].dropna().to_numpy(dtype=float)).all()
        assert np.asarray(filled["dose"].to_list()).dtype.kind == "f"


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_whole_numbers_of_frames_are_whole_and_arrays_are_as_before(kind):
    X = WHOLE[["age", "visits"]].to_numpy(dtype=float)
    X[::5, 1] = np.nan
    frame = pd.DataFrame(X, columns=["age", "visits"])
    given = {"array": X, "pandas": frame, "polars": pl.from_pandas(frame)}[kind]
    filled = np.asarray(GaussianDensity().fit(given).impute(given), dtype=float)
    assert (filled[:, 1] % 1 > 0).any() == (kind == "array")
    assert filled[:, 1].min() >= 0


def test_columns_that_a_frame_lacks_or_has_besides():
    frame = holes(WHOLE)[["age", "visits", "ward"]]
    density = GaussianDensity().fit(frame)
    with pytest.warns(UserWarning, match="lacks 'visits'"):
        filled = density.impute(frame.drop(columns="visits").assign(more="x"))
    assert list(filled.columns) == ["age", "visits", "ward", "more"]
    assert filled.index.equals(frame.index)
    assert not filled.isna().any().any()


def test_a_table_of_pyarrow_comes_back_as_one():
    frame = holes(WHOLE).reset_index(drop=True)
    given = pa.Table.from_pandas(frame, preserve_index=False)
    density, imputer = GaussianDensity().fit(given), DensityImputer().fit(given)
    with pytest.warns(UserWarning, match="does not use come back as they were"):
        tables = [density.impute(given), *density.draw(given, 2), imputer.transform(given)]
    for table in tables:
        assert isinstance(table, pa.Table)
        assert table.schema.names == given.schema.names
        assert table.schema.types == given.schema.types
        assert not any(table[name].null_count for name in table.column_names[1:-1])
        known = given["visits"].is_valid()
        assert table["visits"].filter(known) == given["visits"].filter(known)
    numbers = given.select(["age", "visits"])
    filled = DensityImputer().fit(numbers).transform(numbers)
    assert isinstance(filled, pa.Table)
    assert filled.schema.names == ["age", "visits"]


def test_the_columns_of_a_frame_keep_their_common_name():
    frame = holes(WHOLE).drop(columns=["name", "text"]).rename_axis(columns="variable")
    assert GaussianDensity().fit(frame).impute(frame).columns.name == "variable"
