"""Data sets from a folder and from the cache."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lab.data import datasets

SHARED = Path(os.environ.get("ABSENTIA_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("ABSENTIA_DATA", raising=False)
    monkeypatch.setenv("ABSENTIA_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "data"
    place.mkdir()
    return place


def test_a_file_of_the_folder_is_read_and_encoded(folder):
    (folder / "mine.csv").write_text("a,b,target\n1,x,1.5\n,y,2.5\n3,,3.25\n")
    data = datasets.load("mine", folder)
    assert data.task == "regression"
    np.testing.assert_array_equal(data.X, [[1, 0], [np.nan, 1], [3, np.nan]])
    np.testing.assert_array_equal(data.y, [1.5, 2.5, 3.25])
    assert data.missing_rate == pytest.approx(2 / 6)
    assert datasets.available(folder) == ["mine"]


def test_gzip_and_the_environment_variable(folder, monkeypatch):
    with gzip.open(folder / "zipped.csv.gz", "wt") as stream:
        stream.write("a,target\n1,p\n2,q\n")
    monkeypatch.setenv("ABSENTIA_DATA", str(folder))
    assert list(datasets.load("zipped").y) == ["p", "q"]


def test_a_known_name_with_other_bytes_is_refused(folder):
    (folder / "iris.csv").write_text("a,target\n1,0\n2,1\n")
    with pytest.raises(ValueError, match="not the file that was recorded for 'iris'"):
        datasets.load("iris", folder)
    assert datasets.load("iris", folder, verify=False).X.shape == (2, 1)


def test_what_is_nowhere_gets_a_sentence(folder):
    with pytest.raises(ValueError, match="not one of the known data sets"):
        datasets.load("no_such_thing", folder)
    with pytest.raises(ValueError, match="python -m lab data fetch secom"):
        datasets.load("secom", folder)
    with pytest.raises(ValueError, match="must not be a path"):
        datasets.load("../iris", folder)


def test_a_sample_keeps_the_classes_also_when_one_row_goes():
    y = np.repeat(["a", "b", "c"], [50, 30, 21])
    data = datasets.Dataset("d", "classification", np.arange(101.0)[:, None], y, ("x",))
    fewer = data.sample(100)
    assert fewer.X.shape == (100, 1)
    assert (np.diff(fewer.X[:, 0]) > 0).all()
    counts = np.unique(data.sample(20).y, return_counts=True)[1]
    np.testing.assert_allclose(counts, [10, 6, 4], atol=1)  # whole rows of each class
    assert data.sample(500) is data


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([0, 1, 1, 0], "classification"),
        (["a", "b"], "classification"),
        ([0.5, 1.5], "regression"),
        (list(range(50)), "regression"),
        ([True, False], "classification"),
    ],
)
def test_tasks_are_guessed(values, task):
    assert datasets.guess_task(pd.Series(values)) == task


def test_every_recorded_file_loads_as_recorded():
    if not SHARED.is_dir():
        pytest.skip("the folder of data sets is not here; name it in ABSENTIA_DATA")
    known = datasets.records()
    assert set(datasets.available(SHARED)) == set(known)
    large = ("beijing", "diabetes_130", "physionet2012_wide", "secom", "aps", "physionet", "ozone")
    for name in known:
        if name.startswith(large):
            continue
        data = datasets.load(name, SHARED)
        assert len(data.X) == len(data.y)
