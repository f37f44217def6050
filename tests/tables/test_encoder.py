"""The encoder of raw tables: what it reads, what it leaves out, what it says."""

import numpy as np
import pandas as pd
import pytest

from absentia import SVC, ConformalClassifier, GaussianDensity, LogisticRegression
from absentia.tables.encoder import TableEncoder


def raw_table(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "income": [f"{v:.2f}".replace(".", ",") for v in rng.normal(10, 1, n)],
            "visit": [f"{1 + i % 28:02d}/{1 + i % 12:02d}/2023" for i in range(n)],
            "stamp": pd.date_range("2024-01-01", periods=n, freq="D"),
            "sex": ["f" if i % 3 else "m" for i in range(n)],
            "ward": [["a", "b", "c"][i % 3] for i in range(n)],
            "name": [f"person {i}" for i in range(n)],
            "nothing": [None] * n,
            "always": ["yes"] * n,
            "flag": [bool(i % 2) for i in range(n)],
        }
    )


def test_each_column_is_read_as_what_it_is():
    encoder = TableEncoder().fit(raw_table())
    assert dict(zip(encoder.columns_, encoder.kinds_, strict=True)) == {
        "age": "number",
        "income": "number",
        "visit": "date",
        "stamp": "date",
        "sex": "category",
        "ward": "category",
        "name": "left out",
        "nothing": "left out",
        "always": "left out",
        "flag": "number",
    }
    notes = "\n".join(encoder.notes_)
    for phrase in ("name: left out, it has a", "nothing: left out", "only value is 'yes'"):
        assert phrase in notes


def test_values_come_out_right():
    table = raw_table()
    names = list(TableEncoder().fit(table).get_feature_names_out())
    out = TableEncoder().fit_transform(table)
    assert out.shape == (40, len(names))
    np.testing.assert_allclose(out[:, names.index("age")], table["age"])
    assert out[0, names.index("income")] == float(table["income"][0].replace(",", "."))
    # 1 January 2024 is day 19723; day-first dates: the 13th row is 13/01/2023.
    assert out[0, names.index("stamp")] == 19723
    assert out[12, names.index("visit")] == 19370
    np.testing.assert_array_equal(out[:, names.index("sex=m")], table["sex"] == "m")
    assert (out[:, [names.index(f"ward={w}") for w in "abc"]].sum(axis=1) == 1).all()


def test_missing_and_unseen_words_are_missing_in_every_indicator():
    encoder = TableEncoder().fit(raw_table())
    table = raw_table()
    table.loc[0, "ward"] = None
    table.loc[1, "ward"] = "never seen"
    table.loc[2, "sex"] = "x"
    names = list(encoder.get_feature_names_out())
    with pytest.warns(UserWarning, match="'x' in 'sex', 'never seen' in 'ward'"):
        out = encoder.transform(table)
    wards = [names.index(f"ward={w}") for w in "abc"]
    assert np.isnan(out[:2, wards]).all()
    assert np.isfinite(out[2:, wards]).all()
    assert np.isnan(out[2, names.index("sex=m")])


def test_odd_words_among_numbers_and_dates_count_as_missing():
    table = pd.DataFrame(
        {
            "x": ["1.5", "unknown", *["2"] * 30],
            "d": ["2024-02-30", *["2024-02-03", "2024-02-04"] * 15, "2024-02-05"],
            "big": ["1,234", *["5,678.5"] * 31],
        }
    )
    encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == ["number", "date", "number"]
    out = encoder.transform(table)
    assert np.isnan(out[1, 0])
    assert np.isnan(out[0, 1])
    np.testing.assert_array_equal(out[:2, 2], [1234, 5678.5])
    assert "1 unreadable" in encoder.notes_[0]


def test_columns_are_found_by_name():
    table = raw_table()
    encoder = TableEncoder().fit(table)
    shuffled = table[sorted(table.columns)].assign(more=1)
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(table))
    without_left_out = table.drop(columns=["name", "nothing"])
    np.testing.assert_array_equal(encoder.transform(without_left_out), encoder.transform(table))


def test_an_absent_column_is_missing_in_every_row():
    table = raw_table()
    encoder = TableEncoder().fit(table)
    names = list(encoder.get_feature_names_out())
    with pytest.warns(UserWarning, match="lacks 'age', 'ward', which the model was trained on"):
        out = encoder.transform(table.drop(columns=["age", "ward"]))
    gone = [k for k, name in enumerate(names) if name == "age" or name.startswith("ward=")]
    assert np.isnan(out[:, gone]).all()
    kept = np.delete(np.arange(len(names)), gone)
    np.testing.assert_array_equal(out[:, kept], encoder.transform(table)[:, kept])
    with pytest.raises(ValueError, match="none of the columns that the model was trained on"):
        encoder.transform(pd.DataFrame({"other": [1.0]}))


def test_bad_tables_get_a_sentence():
    with pytest.raises(ValueError, match="appears more than once"):
        TableEncoder().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="at least one row"):
        TableEncoder().fit(pd.DataFrame({"a": []}))
    with pytest.raises(ValueError, match="No column has anything"):
        TableEncoder().fit(pd.DataFrame({"a": [None, None], "b": [1, 1]}))


def test_infinities_are_missing_and_noted():
    table = pd.DataFrame({"a": [1.0, np.inf, 2.0, 3.0]})
    encoder = TableEncoder().fit(table)
    assert encoder.notes_ == ["a: 1 infinite value counts as missing"]
    np.testing.assert_array_equal(encoder.transform(table)[:, 0], [1, np.nan, 2, 3])


def test_durations_are_days_and_ordered_categories_keep_their_order():
    sizes = pd.CategoricalDtype(["small", "middle", "large"], ordered=True)
    table = pd.DataFrame(
        {
            "stay": pd.to_timedelta(["1 days", "36 hours", None, "2 days"]),
            "size": pd.Series(["large", "small", None, "middle"], dtype=sizes),
        }
    )
    encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == ["duration", "ordered"]
    expected = [[1, 2], [1.5, 0], [np.nan, np.nan], [2, 1]]
    np.testing.assert_array_equal(encoder.transform(table), expected)
    # A file has forgotten the types.
    np.testing.assert_array_equal(encoder.transform(table.astype(object)), expected)


def test_columns_that_only_name_the_rows_are_left_out_unless_wanted():
    n = 30
    table = pd.DataFrame(
        {
            "row": np.arange(1, n + 1),
            "patient_id": 5000 + np.random.default_rng(0).permutation(n),
            "code": [f"k{i}" for i in range(n)],
            "year": np.arange(1990, 1990 + n),
            "x": np.random.default_rng(1).normal(size=n),
        }
    )
    encoder = TableEncoder().fit(table.drop(columns="year"))
    assert encoder.ids_ == ["row", "patient_id", "code"]
    assert list(encoder.get_feature_names_out()) == ["x"]
    assert "row: left out, it only numbers the rows" in encoder.notes_[0]
    # Beside the year, which follows the rows, their number says something.
    assert TableEncoder().fit(table).ids_ == ["patient_id", "code"]
    kept = TableEncoder(keep_ids=True).fit(table)
    assert kept.kinds_ == ["number", "number", "category", "number", "number"]
    # A few rows are not enough to tell.
    assert TableEncoder().fit(table.iloc[:10]).ids_ == []


def test_polars_tables_are_welcome():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": [1, 2, None], "b": ["x", "y", "x"]})
    out = TableEncoder().fit_transform(table)
    np.testing.assert_array_equal(out, [[1, 0], [2, 1], [np.nan, 0]])


def test_frames_that_are_not_collected_are_collected_with_a_note():
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame({"a": [1, 2, None, 4], "b": ["u", None, "v", "w"]})
    with pytest.warns(UserWarning, match="LazyFrame was collected") as caught:
        found = TableEncoder().fit_transform(frame)
    assert {str(each.message)[:11] for each in caught} == {"A LazyFrame"}  # none of polars
    np.testing.assert_array_equal(found, TableEncoder().fit_transform(frame.collect()))


def test_dask_frames_that_are_needed_as_a_whole_are_told_how():
    dataframes = pytest.importorskip("dask.dataframe")
    words = dataframes.from_pandas(raw_table()[["age", "sex"]], npartitions=2)
    numbers = words[["age"]]
    y = np.arange(40) % 2
    for refused in (
        lambda: TableEncoder().fit(numbers),  # their names were lost
        lambda: ConformalClassifier(LogisticRegression()).fit(numbers, y),
        lambda: SVC().fit(words, y),
        lambda: GaussianDensity().fit(words),
    ):
        with pytest.raises(TypeError, match=r"X\.compute\(\)"):
            refused()


def test_dates_far_away_are_dates():
    """9999-12-31 is what many tables write for "never"; nanoseconds do not reach it."""
    frame = pd.DataFrame({"until": ["9999-12-31", "2020-01-01", "1066-10-14"]})
    days = TableEncoder().fit_transform(frame)[:, 0]
    never, early = np.datetime64("9999-12-31"), np.datetime64("1066-10-14")
    start = np.datetime64("2020-01-01")
    assert days[0] - days[1] == (never - start).astype(int)
    assert days[1] - days[2] == (start - early).astype(int)


def test_columns_are_read_as_their_owner_says():
    frame = pd.DataFrame(
        {"code": [10, 20, 30, 10], "size": ["1", "2", "x", None], "name": list("abca")}
    )
    encoder = TableEncoder(kinds={"code": "category", "size": "number", "name": "left out"})
    encoded = encoder.fit_transform(frame)
    names = ["code=10", "code=20", "code=30", "size"]
    assert encoder.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(encoded[:, :3], np.eye(3)[[0, 1, 2, 0]])
    np.testing.assert_array_equal(encoded[:, 3], [1, 2, np.nan, np.nan])
    assert any("1 unreadable value ('x')" in note for note in encoder.notes_)


def test_a_row_number_that_was_asked_for_is_kept():
    frame = pd.DataFrame({"id": range(1, 41), "a": np.arange(40) % 7})
    assert TableEncoder().fit(frame).kinds_ == ["left out", "number"]
    assert TableEncoder(kinds={"id": "number"}).fit(frame).kinds_ == ["number", "number"]


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [({"b": "number"}, "kinds names the column 'b'"), ({"a": "text"}, "found 'text' for 'a'")],
)
def test_kinds_that_cannot_be_are_refused(kinds, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableEncoder(kinds=kinds).fit(pd.DataFrame({"a": [1, 2, 3]}))


def test_a_fit_that_stops_leaves_the_encoder_as_it_was(monkeypatch):
    encoder = TableEncoder().fit(raw_table())
    before = dict(vars(encoder))

    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("absentia.tables.encoder._ranges", stop)
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(pd.DataFrame({"only": [1.0, 2.0, 3.0]}))
    assert vars(encoder).keys() == before.keys()
    assert all(vars(encoder)[name] is value for name, value in before.items())
