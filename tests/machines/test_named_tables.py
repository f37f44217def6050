"""Six mixed tables, read by ``pd.read_csv`` and nothing else, and small twins of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import absentia
from absentia import SVC, LargeScaleSVC
from absentia.machines import validation

pd = pytest.importorskip("pandas")

#: File, rows to take (None for all), and what the plan must say of some columns.
TABLES = {
    "titanic": ("titanic.csv", None, {"Sex": "category", "Cabin": "left out", "Age": "number"}),
    "horse_colic": ("horse_colic.csv", None, {}),
    "soybean": ("soybean.csv", None, {}),
    "cylinder_bands": ("cylinder_bands.csv", None, {"press_type": "category", "wax": "number"}),
    "hypothyroid": ("hypothyroid.csv", 1200, {}),
    "diabetes": ("diabetes_130_hospitals.csv.gz", 1000, {"race": "category", "age": "ordered"}),
}


def named_table(name, data_file):
    file, n_rows, used = TABLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        frame = pd.read_csv(data_file(file))
    if n_rows is not None:
        frame = frame.sample(n_rows, random_state=0)
    return frame, frame.pop("target"), used


def twin(name, tmp_path):
    """Write a small table of the same kind, and read it as a user would."""
    rng = np.random.default_rng(0)
    n = 120
    y = rng.integers(2, size=n)
    word = np.where(rng.random(n) < 0.8, np.where(y, "yes", "no"), "perhaps")
    columns = {
        "titanic": {
            "Sex": np.where(rng.random(n) < 0.8, np.where(y, "female", "male"), "male"),
            "Age": rng.normal(30 - 4 * y, 10).round(),
            "Cabin": [f"C{k}" if rng.random() < 0.3 else None for k in range(n)],
        },
        "soybean": {f"code{j}": rng.integers(0, 3, n) * (1 + y) % 4 for j in range(6)},
        "diabetes": {
            "race": word,
            "age": [
                f"[{k}-{k + 10})" for k in 10 * np.clip(4 + 3 * y + rng.integers(-2, 3, n), 0, 9)
            ],
            "diag": [f"V{k}" if k < 25 else str(k + 0.5) for k in rng.integers(0, 900, n)],
            "miglitol": ["No"] * n,
        },
    }[name]
    frame = pd.DataFrame(columns)
    for column in frame:
        frame.loc[rng.random(n) < 0.15, column] = None
    frame.assign(target=np.where(y, "a", "b")).to_csv(tmp_path / "table.csv", index=False)
    frame = pd.read_csv(tmp_path / "table.csv")
    return frame, frame.pop("target"), {}


def check_works(frame, y, used, tmp_path):
    """Alone, in a pipeline, cloned, saved and loaded, and from polars: the same answers."""
    half = np.random.default_rng(1).permutation(len(frame))
    train, test = half[: len(half) // 2], half[len(half) // 2 :]
    new = frame.iloc[test]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Words that did not occur in training", UserWarning)
        machine = SVC().fit(frame.iloc[train], y.iloc[train])
        expected = machine.decision_function(new)
        assert np.isfinite(expected).all()
        commonest = y.iloc[test].value_counts(normalize=True).max()
        assert machine.score(new, y.iloc[test]) >= commonest - 0.05
        pipeline = make_pipeline(clone(machine)).fit(frame.iloc[train], y.iloc[train])
        np.testing.assert_array_equal(pipeline.decision_function(new), expected)
        for k, model in enumerate((machine, pipeline)):
            absentia.save(model, tmp_path / f"{k}.absentia")
            loaded = absentia.load(tmp_path / f"{k}.absentia")
            np.testing.assert_array_equal(loaded.decision_function(new), expected)
    shown = dict(machine.columns_.to_frame()[["column", "used as"]].itertuples(index=False))
    assert list(shown) == list(frame.columns)
    assert {name: shown[name] for name in used} == used
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    same = polars.from_pandas(frame.astype(dict.fromkeys(_mixed(frame), str)).mask(frame.isna()))
    machine.fit(same[train], y.iloc[train].to_numpy())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Words that did not occur in training", UserWarning)
        np.testing.assert_allclose(machine.decision_function(same[test]), expected, atol=1e-9)


def _mixed(frame):
    """Columns of objects of several types, which polars does not hold."""
    return [name for name in frame if len({type(value) for value in frame[name].dropna()}) > 1]


@pytest.mark.filterwarnings("ignore:The range of column")
@pytest.mark.parametrize("name", TABLES)
def test_a_named_table_as_it_was_read(name, data_file, tmp_path):
    check_works(*named_table(name, data_file), tmp_path)


@pytest.mark.parametrize("name", ["titanic", "soybean", "diabetes"])
def test_a_twin_of_a_named_table(name, tmp_path):
    check_works(*twin(name, tmp_path), tmp_path)


def test_a_hundred_thousand_rows_get_a_sentence_before_any_memory(data_file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        frame = pd.read_csv(data_file("diabetes_130_hospitals.csv.gz"))
    y = frame.pop("target")
    memory = validation.memory_of_computer()
    if memory is None or memory > 16 * len(frame) ** 2:
        pytest.skip("this computer can hold the matrix")
    with pytest.raises(MemoryError, match=r"83 GB for 101,766 rows.*LargeScaleSVC.*sample"):
        SVC().fit(frame, y)


def test_a_matrix_too_large_names_the_machine_that_needs_none(monkeypatch):
    monkeypatch.setattr(validation, "memory_of_computer", lambda: 100_000)
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = np.arange(100) % 2
    for machine, other in [
        (absentia.SVCCV(), "LargeScaleSVC"),
        (absentia.KernelRidge(), "LargeScaleRidge"),
        (absentia.OneClassSVM(), "Nystroem"),
    ]:
        with pytest.raises(MemoryError, match=other):
            machine.fit(X, y)
        assert not hasattr(machine, "n_features_in_")
    LargeScaleSVC(n_components=20).fit(X, y)
    absentia.KernelMatrix().fit(X)
    monkeypatch.setattr(validation, "memory_of_computer", lambda: None)
    SVC().fit(X, y)


def test_a_matrix_that_takes_much_of_the_free_memory_is_announced(monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 2))
    monkeypatch.setattr(validation, "free_memory", lambda: 600_000)
    with pytest.warns(UserWarning, match=r"SVC holds a kernel value for every pair.*LargeScaleSVC"):
        SVC().fit(X, np.arange(100) % 2)
    monkeypatch.setattr(validation, "free_memory", lambda: 700_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC().fit(X, np.arange(100) % 2)
