"""Data sets from a folder, from a server that speaks OpenML's protocol, and from the cache."""

import gzip
import hashlib
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lab.data import datasets

SHARED = Path(os.environ.get("ABSENTIA_DATA", Path(__file__).parents[3] / "shared" / "data"))

ARFF = b"""@RELATION haberman
@ATTRIBUTE age NUMERIC
@ATTRIBUTE year {60,61}
@ATTRIBUTE nodes NUMERIC
@ATTRIBUTE survived {1,2}
@DATA
30,60,1,1
?,61,3,2
34,60,?,1
38,61,10,2
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("ABSENTIA_DATA", raising=False)
    monkeypatch.setenv("ABSENTIA_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "data"
    place.mkdir()
    return place


@pytest.fixture
def openml(monkeypatch, folder):
    """A server on the loopback that answers as OpenML does, for data set 43."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            base = f"http://127.0.0.1:{self.server.server_address[1]}"
            names = ["age", "year", "nodes", "survived"]
            answers = {
                "/api/43": {
                    "data_set_description": {
                        "id": "43",
                        "name": "haberman",
                        "version": "1",
                        "format": "ARFF",
                        "status": "active",
                        "description": "",
                        "url": f"{base}/data/haberman.arff",
                        "md5_checksum": hashlib.md5(ARFF).hexdigest(),
                        "file_id": "43",
                    }
                },
                "/api/features/43": {
                    "data_features": {
                        "feature": [
                            {
                                "index": str(j),
                                "name": name,
                                "data_type": "nominal" if j % 2 else "numeric",
                                "is_target": str(name == "survived").lower(),
                                "is_ignore": "false",
                                "is_row_identifier": "false",
                                "number_of_missing_values": "0",
                            }
                            for j, name in enumerate(names)
                        ]
                    }
                },
                "/api/qualities/43": {
                    "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "4"}]}
                },
            }
            body = ARFF if self.path.endswith(".arff") else json.dumps(answers[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    from sklearn.datasets import _openml

    monkeypatch.setattr(_openml, "_DATA_INFO", base + "/api/{}")
    monkeypatch.setattr(_openml, "_DATA_FEATURES", base + "/api/features/{}")
    monkeypatch.setattr(_openml, "_DATA_QUALITIES", base + "/api/qualities/{}")
    yield asked
    server.shutdown()
    server.server_close()


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


def test_a_digest_beside_a_file_counts_in_the_cache_only(folder, tmp_path):
    content = b"a,target\n1,0\n2,1\n"
    for place in (folder, tmp_path / "cache"):
        place.mkdir(exist_ok=True)
        (place / "iris.csv").write_bytes(content)
        (place / "iris.csv.sha256").write_text(hashlib.sha256(content).hexdigest())
    with pytest.raises(ValueError, match="not the file that was recorded for 'iris'"):
        datasets.load("iris", folder)
    assert datasets.load("iris").X.shape == (2, 1)


@pytest.mark.parametrize("digest", [b"", b"\n", b"\xff\xfe", b"0" * 63, b"A" * 64])
def test_a_digest_that_is_none_does_not_turn_the_check_off(folder, tmp_path, digest):
    (tmp_path / "cache").mkdir(exist_ok=True)
    (tmp_path / "cache" / "iris.csv").write_text("a,target\n1,0\n2,1\n")
    (tmp_path / "cache" / "iris.csv.sha256").write_bytes(digest)
    with pytest.raises(ValueError, match="not the file that was recorded for 'iris'"):
        datasets.load("iris", folder)


def test_openml_is_asked_once_then_the_cache_answers(folder, openml):
    first = datasets.load("haberman", folder)
    assert first.task == "classification"
    np.testing.assert_array_equal(first.X[:, 0], [30, np.nan, 34, 38])
    np.testing.assert_array_equal(first.y, [1, 2, 1, 2])
    n_asked = len(openml)
    assert n_asked == 4
    second = datasets.load("haberman", folder)
    assert len(openml) == n_asked
    np.testing.assert_array_equal(first.X, second.X)
    cached = datasets.cache_folder() / "haberman.csv"
    cached.write_text(cached.read_text() + "1,60,1,1\n")
    with pytest.raises(ValueError, match="not the file that was recorded"):
        datasets.load("haberman", folder)


def test_what_is_nowhere_gets_a_sentence(folder, monkeypatch):
    with pytest.raises(ValueError, match="not one of the known data sets"):
        datasets.load("no_such_thing", folder)
    with pytest.raises(ValueError, match="OpenML is not known"):
        datasets.load("secom", folder)
    with pytest.raises(ValueError, match="downloading was not allowed"):
        datasets.load("iris", folder, download=False)
    with pytest.raises(ValueError, match="must not be a path"):
        datasets.load("../iris", folder)

    def unreachable(**_):
        raise OSError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    with pytest.raises(ValueError, match="could not be downloaded"):
        datasets.load("iris", folder)


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
