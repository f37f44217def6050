"""The server: who may talk to it, what it answers, and that tabs do not disturb each other."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from types import SimpleNamespace
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest

from absentia.cli import main
from absentia.recipe.training import Training
from absentia.studio import pages
from absentia.studio.jobs import train
from absentia.studio.row_answers import RowAnswers
from absentia.studio.workspaces import Gone, Workspace, Workspaces
from absentia.tables.files.formats import write_table
from studio.live_server import TOKEN, running_studio
from studio.tables_of_mine import HOSTILE, mixed_table, small_model


@pytest.fixture(scope="module")
def client():
    with running_studio() as client:
        yield client


def opened(client, frame, name="mine.csv"):
    content = frame.to_csv(index=False).encode()
    response = client.post("api/open", content, x_file_name=name)
    assert response.status == 200, response.content
    return response.json()


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.xlsx", "t.csv.gz"])
def test_the_studio_takes_the_files_of_the_command_line(client, tmp_path, name):
    frame = pd.DataFrame({"x": [1.5, 2.5, None], "y": ["a", "b", "a"]})
    if name.endswith(".xlsx"):
        frame.to_excel(tmp_path / name, index=False)
    else:
        write_table(frame, tmp_path / name)
    response = client.post("api/open", (tmp_path / name).read_bytes(), x_file_name=name)
    assert response.status == 200, response.content
    expected = opened(client, frame)
    found = response.json()
    for key in ("rows", "columns", "first", "rates", "notes"):
        assert found[key] == expected[key]


def test_a_parquet_file_with_types_that_hold_missing_values_is_opened(client, tmp_path):
    frame = pd.DataFrame(
        {
            "word": pd.array(["p", None, "q"], dtype="string"),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "sure": pd.array([None, True, False], dtype="boolean"),
            "grade": pd.Categorical(["low", None, "high"]),
            "day": pd.to_datetime(["2024-05-01", None, "2024-05-03 14:30"], format="mixed"),
            "share": np.array([0.25, np.nan, 0.75], dtype=np.float32),
            "parts": [[1.0, 2.0], None, [3.0]],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    response = client.post("api/open", content, x_file_name="t.parquet")
    assert response.status == 200, response.content
    first = response.json()["first"]
    assert first[0][:6] == ["p", "1", "", "low", "2024-05-01", "0.25"]
    assert first[1] == ["", "", "True", "", "", "", ""]
    assert first[2][4] == "2024-05-03 14:30:00"


def test_the_page_and_its_files_are_served_with_a_strict_policy(client):
    for path in ("", "studio.js", "charts.js", "studio.css"):
        response = client.get(path)
        assert response.status == 200
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert response.headers["cache-control"] == "no-store"
    assert "http://" not in client.get("").content.decode()


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/wrong/", {}),
        ("/wrong/api/start", {}),
        (f"/{TOKEN}", {}),
        (f"/{TOKEN}x/", {}),
        (f"/{TOKEN}/", {"host": "evil.example"}),
        (f"/{TOKEN}/", {"host": "127.0.0.1"}),
        (f"/{TOKEN}/api/start", {"origin": "http://evil.example"}),
        (f"/{TOKEN}/api/start", {"origin": "null"}),
        (f"/{TOKEN}/api/start", {"sec_fetch_site": "cross-site"}),
        (f"/{TOKEN}/api/start", {"sec_fetch_site": "same-site"}),
    ],
)
def test_whoever_lacks_the_token_or_comes_from_elsewhere_gets_403(client, path, headers):
    assert client.send("GET", path, **headers).status == 403


def test_the_page_says_the_task_that_training_finds_and_that_limits_are_used():
    n = 40
    frame = pd.DataFrame(
        {
            "crp": ["<0,5", "<0,5", *[f"{k},{k % 10}" for k in range(n - 2)]],
            "cost": [f"{k + 1}.{100 + 7 * k},24 EUR" for k in range(n)],
            "word": [f"word {k}" for k in range(n - 1)] + ["word 0"],
        }
    )
    workspace = Workspace(frame, "mine")
    found = workspace.read("cost", {}, None)
    assert (found["task"], found["problem"]) == ("regression", "")
    crp = next(column for column in found["columns"] if column["name"] == "crp")
    assert "2 values such as '<0,5' are limits" in crp["note"]
    # What training would refuse is said where the target is chosen.
    assert "fewer than two classes" in workspace.read("word", {}, None)["problem"]


def test_notes_name_what_the_page_has_and_no_option_of_the_command_line(client, tmp_path):
    frame = pd.DataFrame({"note": [f"seen {k} times, well" for k in range(60)], "y": [1.5] * 60})
    frame["y"] += np.arange(60)
    workspace = Workspace(frame, "mine")
    workspace.read("y", {}, None)
    workspace.trained = train(lambda share, text: None, frame.assign(x=np.sin(frame["y"])), "y")[0]
    workspace.answers = RowAnswers(workspace.trained.model)
    said = " ".join(workspace.model_card()["notes"])
    assert "“category” under Columns uses it" in said
    assert "kinds=" not in said
    problem = workspace.read("note", {}, "classification")["problem"]
    assert problem.endswith("write it in numbers and choose regression.")
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        for name in ("Data", "Legend"):
            frame.to_excel(book, sheet_name=name, index=False)
    content = (tmp_path / "t.xlsx").read_bytes()
    notes = client.post("api/open", content, x_file_name="t.xlsx").json()["notes"]
    assert "To open another, save it as a file, or start with --sheet: 'Legend'." in notes[0]


def test_a_column_that_only_identifies_rows_is_said_to_be_left_out_for_that():
    n = 24
    frame = pd.DataFrame(
        {"number": range(1, n + 1), "code": [f"c{k}" for k in range(n)], "y": ["p", "q"] * (n // 2)}
    )
    workspace = Workspace(frame, "mine")
    notes = {c["name"]: (c["kind"], c["note"]) for c in workspace.read("y", {}, None)["columns"]}
    assert notes["number"] == ("left out", "left out, it only numbers the rows")
    assert notes["code"] == ("left out", "left out, it has a different word in each row")
    kept = {c["name"]: c for c in workspace.read("y", {"code": "category"}, None)["columns"]}
    assert kept["code"]["note"] == "24 categories, one indicator column for each"


def test_the_own_origin_is_welcome(client):
    found = client.get("api/start", origin=client.origin, sec_fetch_site="same-origin")
    assert found.json()["examples"]


@pytest.mark.parametrize(
    "path", ["pages.py", "static/studio.js", "..%2fpages.py", "%2e%2e/pages.py", "/etc/passwd"]
)
def test_no_path_of_a_request_reaches_a_file(client, path):
    assert client.get(path).status == 404


def test_a_table_comes_with_what_is_missing_from_it(client):
    found = opened(client, mixed_table())
    assert found["rows"] == 120
    assert HOSTILE in found["columns"]
    assert found["rate"] == pytest.approx(mixed_table().isna().to_numpy().mean())
    assert sum(pattern["count"] for pattern in found["patterns"]) <= 120


def test_notes_of_the_reader_are_shown(client):
    rows = "".join(f"{k % 7},{k % 3},{'pq'[k % 2]}\n" for k in range(40))
    content = f"a,a,y\n{rows}1\n".encode()
    response = client.post("api/open", content, x_file_name="mine.csv")
    repeated, short = response.json()["notes"][::-1]
    assert repeated == "The column name 'a' appears 2 times: the later ones are renamed to 'a.1'."
    assert short.startswith("1 row has fewer values than mine.csv has columns")
    assert opened(client, mixed_table())["notes"] == []
    limits = mixed_table().assign(a=["<0.5", *mixed_table()["a"].astype(str)[1:]])
    assert any("'<0.5'" in note for note in opened(client, limits)["reading"])
    workspace = Workspace(mixed_table(), "mine")
    workspace._batch_notes = [short]
    assert workspace._take_batch(pd.DataFrame({"doubt": [0.1]}))["notes"] == [short]
    long = client.post("api/open", f"{'n' * 200_000},y\n1,p\n2,q\n".encode(), x_file_name="t.csv")
    assert long.status == 200


def test_columns_are_read_as_the_user_says(client):
    space = opened(client, mixed_table())["workspace"]
    asked = {"target": "kind", "kinds": {"noise": "left out"}, "task": ""}
    found = client.post(f"api/{space}/read", asked).json()
    assert found["task"] == "classification"
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds["noise"] == "left out"
    assert kinds["word"] == "category"
    wrong = client.post(f"api/{space}/read", {"target": "nothing"})
    assert wrong.status == 400
    assert wrong.json()["error"] == "There is no column 'nothing' to predict."


def test_files_that_are_too_large_or_no_tables_are_refused(client, monkeypatch):
    monkeypatch.setattr(pages, "MOST_BYTES", 1000)
    assert client.post("api/open", b"a,b\n" + b"1,2\n" * 500).status == 413
    for content in (b"", b"a,b\n", b"PK\x03\x04\0\0\0"):
        response = client.post("api/open", content)
        assert response.status == 400
        assert response.json()["error"]
    assert client.post("api/open-model", b"no model").status == 400
    assert client.post("api/open?example=nothing").status == 400


def test_what_a_page_never_sends_gets_a_sentence(client):
    space = client.post("api/open", b"a,b\n1,2\n3,4\n").json()["workspace"]
    for content in (b"[" * 100_000, b"[1]", b"{", b'{"kinds": [1]}', b'{"kinds": {"a": []}}'):
        response = client.post(f"api/{space}/read", content)
        assert response.status == 400
        assert response.json()["error"]


def finished(client, space, seconds=240.0):
    """Wait for the work of a workspace."""
    end = time.monotonic() + seconds
    while (found := client.get(f"api/{space}/work").json())["state"] == "running":
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def test_a_workspace_is_found_by_its_name_only(client):
    first, second = (opened(client, mixed_table(), name) for name in ("one", "two"))
    assert first["workspace"] != second["workspace"]
    client.post(f"api/{first['workspace']}/read", {"target": "kind"})
    assert client.get("api/elsewhere/work").status == 404
    # The second tab has chosen nothing yet, whatever the first did.
    response = client.post(f"api/{second['workspace']}/work", {"what": "train"})
    assert response.json()["error"] == "Choose the column to predict first."


def test_a_saved_model_is_opened_asked_and_exported(client):
    workspace = Workspace(mixed_table(), "mine")
    workspace.answers = RowAnswers(small_model(False))
    card = client.post("api/open-model", workspace.model_file()).json()
    space = card["workspace"]
    assert [field["name"] for field in card["model"]["fields"]][1] == HOSTILE
    asked = {"values": {"a": {"state": "value", "text": "1"}}, "costs": {"word": 2}}
    found = client.post(f"api/{space}/answer", asked).json()
    assert found["lower"] < found["prediction"] < found["upper"]
    assert {entry["name"]: entry["cost"] for entry in found["next"]}["word"] == 2
    rows = mixed_table().head(9).to_csv(index=False).encode()
    assert client.post(f"api/{space}/batch", rows).json()["state"] == "running"
    batch = finished(client, space)["batch"]
    doubt = [row[batch["columns"].index("doubt")] for row in batch["rows"]]
    assert doubt == sorted(doubt, reverse=True)
    assert batch["columns"][:3] == ["row", "value", "kind"]  # what the model does not use stays
    page = client.get(f"api/{space}/batch.html")
    report = client.post(
        f"api/{space}/report", {"values": {HOSTILE: {"state": "value", "text": "1"}}}
    )
    for found in (page, report):
        assert found.headers["content-disposition"].startswith("attachment")
        assert b"<img src=x" not in found.content
        assert b"default-src" not in found.content
        assert found.content.startswith(b"<!doctype html>")
    assert b"&lt;img src=x" in report.content
    assert b"What the unknown fields could be" in report.content
    assert b"per_cost" not in report.content
    assert b"due_to_unknown" not in page.content
    # The costs of the page hold for its report, and a page without a value says so.
    costly = client.post(f"api/{space}/report", {"values": {}, "costs": {"a": 1e6}}).content
    assert b"Every field is unknown." in costly
    assert costly.index(b">a</td>") > costly.index(b">word</td>")
    tried = client.post(f"api/{space}/what-if", {"values": {}, "name": "word"}).json()["answers"]
    assert len(tried) == 3
    assert client.post(f"api/{space}/parts", asked).json()["parts"][0][0] == "a"
    table = pd.read_csv(io.BytesIO(client.get(f"api/{space}/batch.csv").content))
    assert list(table.columns) == batch["columns"]
    assert len(table) == 9


def test_a_batch_says_what_the_model_cannot_use_of_it(client):
    workspace = Workspace(mixed_table(), "mine")
    workspace.answers = RowAnswers(small_model(False))
    space = client.post("api/open-model", workspace.model_file()).json()["workspace"]
    client.post(f"api/{space}/batch", b"a,word\n1.5,\n2 yrs.,never seen\n")
    notes = finished(client, space)["batch"]["notes"]
    assert any("missing in every row" in note and HOSTILE in note for note in notes)
    assert any("'never seen' in 'word'" in note for note in notes)
    assert any("'2 yrs.' in row 2" in note for note in notes)


def test_numbers_beyond_all_bounds_get_a_sentence(client):
    workspace = Workspace(mixed_table(), "mine")
    workspace.answers = RowAnswers(small_model(False))
    space = client.post("api/open-model", workspace.model_file()).json()["workspace"]
    tiny = client.post(f"api/{space}/answer", {"values": {}, "costs": {"a": 1e-320}})
    assert tiny.status == 200
    gains = {entry["name"]: entry["per_cost"] for entry in tiny.json()["next"]}
    assert gains["a"] is None  # infinite, which JSON has no number for
    huge = b'{"values": {}, "costs": {"a": 1' + b"0" * 400 + b"}}"
    assert client.post(f"api/{space}/answer", huge).status == 400
    no_object = "The page sent something that is not an object of JSON."
    deep, long = b"[" * 10**6, b'{"costs": {"a": ' + b"9" * 5000 + b"}}"
    for body, message in (
        (b'{"costs": {"a": "much"}}', "Costs must be numbers."),
        (b'{"costs": {"a": []}}', "Costs must be numbers."),
        *((body, no_object) for body in (b"{", b"\xff", b"[]", deep, long)),
    ):
        refused = client.post(f"api/{space}/answer", body)
        assert (refused.status, refused.json()["error"]) == (400, message)
    for number in ("9" * 5000, "-1", "%D9%A3", "x"):
        response = client.get(f"api/{space}/row/{number}")
        assert response.status == 400
        assert response.json()["error"]


def test_the_target_of_a_model_is_the_one_it_was_trained_for():
    workspace = Workspace(mixed_table(), "mine", target="kind")
    workspace.answers = RowAnswers(small_model(True))
    workspace.trained = Training(
        workspace.answers.model,
        "classification",
        "kind",
        120,
        "accuracy",
        score=0.9,
        spread=0.1,
        baseline=0.5,
        constant="always 'up'",
        how="somehow",
        chosen=(),
        notes=(),
    )
    workspace.target = "a"  # chosen while the model was trained
    assert workspace.model_card()["target"] == "kind"


def test_a_reopened_model_keeps_the_name_of_its_target(client):
    workspace = Workspace(mixed_table(), "mine")
    model = small_model(True)
    model.encoder.target_ = "kind"
    workspace.answers = RowAnswers(model)
    card = client.post("api/open-model", workspace.model_file()).json()["model"]
    del model.encoder.target_
    assert card["target"] == "kind"


def test_a_batch_is_refused_at_once_stopped_or_waited_for(client):
    workspace = Workspace(mixed_table(), "mine")
    workspace.answers = RowAnswers(small_model(True))
    space = client.post("api/open-model", workspace.model_file()).json()["workspace"]
    no_table = client.post(f"api/{space}/batch", b"")
    assert no_table.json()["error"] == "There is no table here: open one first."
    no_rows = client.post(f"api/{space}/batch", b"a,word\n")
    assert "no rows" in no_rows.json()["error"]
    rows = mixed_table().to_csv(index=False).encode()
    client.post(f"api/{space}/batch", rows)
    second = client.post(f"api/{space}/batch", rows)
    assert second.json()["error"] == "Other work is running: wait for it, or stop it first."
    assert client.post(f"api/{space}/stop", {}).json()["state"] == "stopped"
    assert client.get(f"api/{space}/batch.csv").status == 400


def test_old_workspaces_make_room_for_new_ones():
    spaces = Workspaces(most=2)
    names = [spaces.add(Workspace()) for _ in range(2)]
    spaces[names[0]].name = "used again"
    spaces.add(Workspace())
    assert spaces[names[0]].name == "used again"
    with pytest.raises(Gone):
        spaces[names[1]]


def test_an_error_of_the_studio_itself_is_no_fault_of_the_page(client, monkeypatch, capfd):
    def broken(self):
        raise KeyError("a slip")

    found = opened(client, mixed_table())
    monkeypatch.setattr(Workspace, "progress", broken)
    response = client.get(f"api/{found['workspace']}/work")
    assert response.status == 500
    assert "the terminal where it was started says why" in response.json()["error"]
    assert "KeyError: 'a slip'" in capfd.readouterr().err


def test_words_that_a_spreadsheet_would_run_are_guarded():
    workspace = Workspace(name="mine")
    workspace._batch = pd.DataFrame({"prediction": ["=1+1"], "doubt": [0.5]})
    assert "'=1+1" in workspace.batch_csv().decode()


@pytest.mark.parametrize("classifies", [True, False])
def test_the_command_line_predicts_with_a_model_of_the_studio(tmp_path, classifies):
    workspace = Workspace(mixed_table(), "mine")
    workspace.answers = RowAnswers(small_model(classifies))
    (tmp_path / "model").write_bytes(workspace.model_file())
    mixed_table().to_csv(tmp_path / "mine.csv", index=False)
    out = tmp_path / "out.csv"
    files = [str(tmp_path / "model"), str(tmp_path / "mine.csv"), "-o", str(out)]
    assert main(["predict", *files]) == 0
    found = pd.read_csv(out)["prediction"]
    assert found.tolist() == pytest.approx(
        small_model(classifies).estimator.predict(mixed_table()).tolist()
    )
    assert main(["predict", *files, "--uncertainty", "--force"]) == 0
    batch = workspace.answers.batch(workspace.answers.read_table(mixed_table()))
    assert pd.read_csv(out)["doubt"].tolist() == pytest.approx(batch["doubt"].tolist())
    assert main(["ask", *files, "--force"]) == 0
    asked = pd.read_csv(out)
    names = [entry["name"] for entry in workspace.model_answers.answer({}, {})["next"]]
    assert set(asked["column"]) <= set(names)


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_page_itself_and_a_typed_address_are_admitted(client, site):
    assert client.get("api/start", sec_fetch_site=site).status == 200


class _Stopped:
    stopped = False

    def stop(self):
        self.stopped = True


def test_the_job_of_a_workspace_that_makes_room_is_stopped():
    spaces = Workspaces(most=1)
    first = Workspace(mixed_table())
    first.job = _Stopped()
    spaces.add(first)
    spaces.add(Workspace(mixed_table()))
    assert first.job.stopped


def test_nothing_is_computed_in_the_event_loop(client, monkeypatch):
    """A second tab is answered while the first one waits."""
    name = opened(client, mixed_table())["workspace"]
    inside, go_on = threading.Event(), threading.Event()

    def slow(self, *arguments):
        inside.set()
        assert go_on.wait(30)
        return {}

    monkeypatch.setattr(Workspace, "of_model", lambda *_: Workspace(mixed_table()))
    for method, path, computed in (
        ("POST", f"{name}/read", "read"),
        ("POST", f"{name}/work", "start"),
        ("GET", f"{name}/row/1", "row"),
        ("GET", f"{name}/batch.csv", "batch_csv"),
        ("POST", "open-model", "model_card"),
    ):
        inside.clear()
        go_on.clear()
        monkeypatch.setattr(Workspace, computed, slow)
        body = b"{}" if method == "POST" else None
        address = f"/{TOKEN}/api/{path}"
        waiting = threading.Thread(target=client.send, args=(method, address, body))
        waiting.start()
        assert inside.wait(30)
        try:
            assert client.get("api/start").status == 200
        finally:
            go_on.set()
            waiting.join()


def test_a_table_that_is_too_wide_is_refused_in_a_sentence(client):
    content = ",".join(f"c{j}" for j in range(5001)) + "\n" + ",".join("1" * 5001)
    response = client.post("api/open", content.encode(), x_file_name="wide.csv")
    assert response.status == 400
    assert "at most 5,000 columns and 20,000,000 cells" in response.json()["error"]


@pytest.mark.parametrize("number", ["x", "-1", "1.5", "१", "²", "1234567890"])
def test_rows_have_short_numbers(client, number):
    space = opened(client, mixed_table())["workspace"]
    response = client.get(f"api/{space}/row/{quote(number)}")
    assert response.status == 400
    assert response.json()["error"] == "Rows are numbered from 1."


def test_names_of_files_are_cut():
    client_name = "n" * 300
    request = SimpleNamespace(headers={"x-file-name": client_name}, stream=nothing, path_params={})
    asked = asyncio.run(pages.Asked.of(request))
    assert asked.file_name == "n" * 80


async def nothing():
    for part in ():
        yield part
