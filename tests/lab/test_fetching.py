"""Data sets from the files of their sources, by local addresses."""

import gzip
import hashlib

import numpy as np
import pytest

from lab.__main__ import main
from lab.data import datasets, fetching
from lab.data.datasets import Record, load, records
from lab.data.fetching import fetch, parsed


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("ABSENTIA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ABSENTIA_DATA", raising=False)
    return tmp_path


def as_recorded(monkeypatch, name, content):
    """Let the record of a set have the sha256 of these bytes."""
    known = dict(records())
    facts = vars(known[name]) | {"sha256": hashlib.sha256(content).hexdigest()}
    known[name] = Record(**facts)
    monkeypatch.setattr(datasets, "records", lambda: known)
    monkeypatch.setattr(fetching, "records", lambda: known)


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("ionosphere", "1,0," + "0.5," * 32 + "g\n", "1,0," + "0.5," * 32 + "1"),
        ("heart_statlog", "70.0 1.0 " + "2.5 " * 11 + "2\n", "70,1," + "2.5," * 11 + "1"),
        ("bupa", "@relation x\n@data\n85, 92, 45, 27, 31, 0.5, 1\n", "85,92,45,27,31,0.5,1"),
        ("pima_missing", "6,148,72,35,0,33.6,0.6,50,1\n", "6,148,72,35,,33.6,0.6,50,1"),
        ("house_votes_84", "democrat," + "n,?," * 7 + "y,y\n", "0,," * 7 + "1,1,1"),
        ("auto_mpg", 'mpg\n18.5 8 3.5 ? 1 2 70 1 "a car"\n', "8,3.5,,1,2,70,1,18.5"),
        ("heart_va", "63,1,4,140,260,0,1,112,1,3,2,?,?,3\n", "63,1,4,140,260,0,1,112,1,3,2,,,1"),
    ],
)
def test_the_file_of_a_source_is_brought_into_form(place, monkeypatch, name, raw, expected):
    source = place / "raw.data"
    source.write_text(raw)
    content = fetching.finished(raw.encode(), records()[name])
    assert content.decode().splitlines()[1] == expected
    as_recorded(monkeypatch, name, content)
    assert main(["data", "fetch", name, "--from", source.as_uri()]) == 0
    assert (place / "cache" / f"{name}.csv").read_bytes() == content


def test_a_finished_file_is_kept_as_it_is(place, monkeypatch):
    content = gzip.compress(b"a,target\n1,0\n2,1\n", mtime=0)
    (place / "there.gz").write_bytes(content)
    as_recorded(monkeypatch, "secom", content)
    path = fetch("secom", place / "data", url=(place / "there.gz").as_uri())
    assert path.name == "secom.csv.gz"
    assert path.read_bytes() == content
    assert load("secom", place / "data").X.tolist() == [[1.0], [2.0]]


def test_another_file_is_refused_and_nothing_is_written(place):
    (place / "x").write_text("30,64,1,1\n")
    url = (place / "x").as_uri()
    with pytest.raises(ValueError, match="does not give the recorded file of 'haberman'"):
        fetch("haberman", url=url)
    assert not list((place).rglob("*.csv"))
    fetch("haberman", place, url=url, verify=False)
    with pytest.raises(ValueError, match="is not the file that was recorded"):
        load("haberman", place)


@pytest.mark.parametrize(
    ("name", "url", "sentence"),
    [
        ("nothing", None, "There is no data set 'nothing'"),
        ("friedman", "ftp://x", "begins with https:// or file://"),
        ("secom", None, "known by name only"),
        ("secom", "file", "put together from several files"),
        ("haberman", "file:///nowhere/x", "could not be fetched from file:///nowhere/x"),
    ],
)
def test_what_cannot_be_fetched_gets_a_sentence(place, name, url, sentence):
    (place / "x").write_text("1,2\n")
    url = (place / "x").as_uri() if url == "file" else url
    with pytest.raises(ValueError, match=sentence):
        fetch(name, place, url=url)


def test_a_set_of_an_installed_package_needs_no_network(place):
    assert load("iris", fetch("iris").parent).X.shape == (150, 4)


def test_every_set_has_its_provenance(capsys):
    assert len(records()) == 48
    for record in records().values():
        assert record.licence
        assert record.source
        assert len(record.sha256) == 64
        assert record.url.startswith(("https://", "package:")) or not record.url
        if record.raw:
            assert "target" in record.raw.split()
    assert main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("\n") == 48
    assert "by name only" in shown


def test_columns_that_are_left_out_and_rows_without_a_target():
    record = Record("d", "classification", "", "l", "s", raw="- a target V1..V2")
    frame = parsed(b"x,1,?,2,3\ny,4.5,1,5,6\n", record)
    assert frame.columns.tolist() == ["a", "target", "V1", "V2"]
    assert np.array_equal(frame.to_numpy(float), [[4.5, 1, 5, 6]])
