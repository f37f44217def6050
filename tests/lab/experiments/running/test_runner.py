"""Runs that fail in part, are killed, and go on."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from lab.experiments.running import store as store_module
from lab.experiments.running.cells import Cell, CellResult, Context, Score
from lab.experiments.running.database import database_errors
from lab.experiments.running.runner import duration, run, self_contained
from lab.experiments.running.store import Results
from toy_protocol import TOY

CONTEXT = Context(size="smoke")


@pytest.fixture
def behave(tmp_path):
    """Write down how the toy shall behave, and return a context that tells it so."""

    def write(**behaviour):
        (tmp_path / "behaviour.json").write_text(json.dumps(behaviour))
        return Context(size="smoke", folder=str(tmp_path))

    return write


@pytest.fixture
def results(tmp_path):
    with Results(tmp_path / "results.sqlite") as store:
        yield store


def test_a_run_keeps_every_score(results):
    summary = run(TOY, results, CONTEXT, progress=False)
    assert (summary.done, summary.failed, summary.skipped) == (24, 0, 0)
    scores = results.scores("toy", "smoke", 0)
    assert len(scores) == 24
    assert scores.groupby("method")["value"].mean()["good"] == pytest.approx(0.871)
    (only_run,) = results.runs("toy", "smoke", 0)
    assert only_run["cells"] == 24
    assert only_run["versions"]["numpy"]
    assert results.protocols() == [("toy", "smoke", 0, 24)]


def test_a_file_whose_first_writing_was_stopped_is_begun_anew(tmp_path, monkeypatch):
    """Tables without the mark would be taken for a database of another program."""
    path = tmp_path / "results.sqlite"
    stopped = store_module._SCHEMA + "SELECT no_such_function();"
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "_SCHEMA", stopped)
        with pytest.raises(ValueError, match="no_such_function"):
            Results(path)
    with Results(path) as results:
        assert results.protocols() == []


def test_what_is_finished_is_not_run_again(results, tmp_path, behave):
    context = behave()
    run(TOY, results, context, datasets=["a"], progress=False)
    summary = run(TOY, results, context, progress=False)
    assert (summary.done, summary.skipped) == (12, 12)
    keys = (tmp_path / "log").read_text().split()
    assert len(keys) == len(set(keys)) == 24
    assert run(TOY, results, CONTEXT, progress=False).done == 0
    # Another size or seed is another experiment.
    assert run(TOY, results, Context(size="small"), progress=False).done == 24
    assert run(TOY, results, Context(size="smoke", seed=1), progress=False).done == 24


def test_cells_of_any_file_are_run_again_where_the_recorded_one_is_asked_for(results, behave):
    context = behave()
    run(TOY, results, replace(context, verify=False), progress=False)
    assert [r["settings"]["verified"] for r in results.runs("toy", "smoke", 0)] == [False]
    assert run(TOY, results, replace(context, verify=False), progress=False).done == 0
    assert run(TOY, results, context, progress=False).done == 24
    assert run(TOY, results, context, progress=False).done == 0


def test_a_failed_cell_is_recorded_and_can_be_tried_again(results, behave):
    context = behave(trouble="raise")
    summary = run(TOY, results, context, progress=False)
    assert (summary.done, summary.failed) == (24, 2)
    cells = results.cells("toy", "smoke", 0)
    assert set(cells.loc[cells["error"] != "", "error"]) == {"ValueError: it would not fit"}
    context = behave()
    assert run(TOY, results, context, progress=False).done == 0
    assert run(TOY, results, context, retry_failed=True, progress=False).done == 2
    assert (results.cells("toy", "smoke", 0)["error"] == "").all()


@pytest.mark.parametrize(
    ("trouble", "limit", "error"), [("die", None, "exit code 7"), ("hang", 1.0, "longer than 1 s")]
)
def test_a_process_that_dies_or_hangs_costs_one_cell(results, behave, trouble, limit, error):
    context = behave(trouble=trouble)
    chosen = {"datasets": ["a"], "methods": ["bad"]}
    summary = run(TOY, results, context, jobs=2, time_limit=limit, progress=False, **chosen)
    assert (summary.done, summary.failed) == (6, 2)
    errors = results.cells("toy", "smoke", 0)["error"]
    assert [error in text for text in errors if text] == [True, True]


def test_kill_nine_loses_nothing(tmp_path, behave):
    context = behave(seconds=0.1)
    path, log = tmp_path / "results.sqlite", tmp_path / "log"
    tests = Path(__file__).parents[3]
    path_of_modules = [str(tests), str(tests.parent), os.environ.get("PYTHONPATH", "")]
    program = subprocess.Popen(
        [sys.executable, str(tests / "toy_protocol.py"), str(path), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path_of_modules)},
    )
    deadline = time.monotonic() + 60
    while _n_cells(path) < 5 and time.monotonic() < deadline:
        time.sleep(0.02)
    program.send_signal(signal.SIGKILL)
    program.wait()
    time.sleep(1.5)  # the orphaned workers notice within a second
    with Results(path) as results:
        kept = results.finished("toy", CONTEXT)
        assert 5 <= len(kept) < 24
        # Nothing is missing but the cells that were under way in the two processes: the one that
        # each had sent but the parent had not yet read, and the one after it.
        assert len(set(log.read_text().split()) - kept) <= 4
        log.write_text("")
        summary = run(TOY, results, context, progress=False)
        assert summary.skipped == len(kept)
        assert len(results.finished("toy", CONTEXT)) == 24
    assert not kept & set(log.read_text().split())


def _n_cells(path):
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            (count,) = connection.execute("SELECT count(*) FROM cells").fetchone()
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()
    return count


def test_a_line_now_and_then_or_a_bar(results, capsys):
    run(TOY, results, CONTEXT)
    assert "toy" in capsys.readouterr().err


def test_unknown_names_get_a_sentence(results):
    with pytest.raises(ValueError, match="no method 'magic'; it has bad, good"):
        run(TOY, results, CONTEXT, methods=["magic"])
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        run(TOY, results, CONTEXT, jobs=0)


def test_other_files_are_not_written_into(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no database, but long enough to be taken for a damaged one" * 20)
    with pytest.raises(ValueError, match="not a file of results"):
        Results(text)
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(ValueError, match="database of another program"):
        Results(other)


def test_a_cell_may_be_tested_at_several_rates(results):
    number = results.start_run("toy", CONTEXT)
    cell = Cell("toy", "a", "good")
    scores = (Score("accuracy", 0.9, 0.0), Score("accuracy", 0.8, 0.4))
    results.add(number, CONTEXT, CellResult(cell, 0.1, scores))
    frame = results.scores("toy", "smoke", 0)
    assert list(frame.sort_values("rate")["value"]) == [0.9, 0.8]


def test_seeds_pair_the_methods_and_differ_otherwise():
    one = Cell("p", "iris", "mean", "mcar", 0.1, 0, 0)
    other = Cell("p", "iris", "genrbf", "mcar", 0.1, 0, 3)
    assert one.holes_seed(0) == other.holes_seed(0)
    assert one.split_seed(0) == other.split_seed(0)
    assert one.method_seed(0) != other.method_seed(0)
    assert one.holes_seed(0) != one.holes_seed(1)
    assert one.holes_seed(0) != Cell("p", "iris", "mean", "mcar", 0.2).holes_seed(0)


@pytest.mark.parametrize("own", [{"jobs": 2}, {"time_limit": 5.0}])
def test_a_cluster_has_its_own_processes(results, own):
    with pytest.raises(ValueError, match="a Dask cluster has its own"):
        run(TOY, results, CONTEXT, dask="tcp://nowhere:8786", **own)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_cells_can_run_on_a_dask_cluster(results, behave):
    distributed = pytest.importorskip("distributed")
    context = behave(trouble="raise")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
    ) as cluster:
        summary = run(TOY, results, context, dask=cluster.scheduler_address, progress=False)
    assert (summary.done, summary.failed) == (24, 2)
    assert len(results.finished("toy", context)) == 22


def test_workers_elsewhere_are_told_where_the_data_is(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABSENTIA_DATA", "tables")
    assert self_contained(CONTEXT).folder == str(tmp_path / "tables")
    assert self_contained(Context(folder="/data")).folder == "/data"
    monkeypatch.delenv("ABSENTIA_DATA")
    assert self_contained(CONTEXT) is CONTEXT


def written(path):
    with Results(path) as results:
        run(TOY, results, CONTEXT, progress=False)
    return path


def test_names_of_columns_in_another_case_are_the_same_names(tmp_path):
    """One bit of a letter is its case, and SQLite finds it all the same."""
    path = written(tmp_path / "r.sqlite")
    content = path.read_bytes()
    assert content.count(b"metric TEXT NOT NULL") == 1
    path.write_bytes(content.replace(b"metric TEXT NOT NULL", b"metrIc TEXT NOT NULL"))
    with Results(path, read_only=True) as results:
        assert "metric" in results.scores("toy", "smoke", 0)


def test_names_that_are_no_text_any_more_are_damage():
    with pytest.raises(ValueError, match="results is damaged"), database_errors("results"):
        b"\xff".decode()


def test_reading_changes_nothing(tmp_path):
    path = written(tmp_path / "r.sqlite")
    before = path.read_bytes()
    with Results(path, read_only=True) as results:
        assert len(results.cells("toy", "smoke", 0)) == 24
        with pytest.raises(ValueError, match="cannot be written: the file or its folder is read"):
            results.start_run("toy", CONTEXT)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ValueError, match="There is no file"):
        Results(tmp_path / "none", read_only=True)


def test_locked_full_and_missing_places_get_their_own_sentences(tmp_path, monkeypatch):
    path = written(tmp_path / "r.sqlite")
    with pytest.raises(ValueError, match="cannot be opened: the folder does not exist"):
        Results(tmp_path / "none" / "r.sqlite")
    with Results(path) as results:
        results._connection.execute("PRAGMA busy_timeout = 10")
        other = sqlite3.connect(path)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ValueError, match="in use by another process"):
            results.start_run("toy", CONTEXT)
        other.close()
        (pages,) = results._connection.execute("PRAGMA page_count").fetchone()
        results._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(ValueError, match=r"The disk is full.*Finished work is kept"):
            results.start_run("toy", CONTEXT, {"long": "x" * 100_000})
        assert len(results.scores("toy", "smoke", 0)) == 24
    content = bytearray(path.read_bytes())
    content[100:3000] = bytes(2900)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged"):
        Results(path)


@pytest.mark.parametrize(
    ("damage", "read"),
    [
        ("UPDATE cells SET size = CAST(x'73ff' AS TEXT)", lambda r: r.protocols()),
        ("UPDATE runs SET settings = '{'", lambda r: r.runs("toy", "smoke", 0)),
        ("UPDATE runs SET versions = x'ff'", lambda r: r.runs("toy", "smoke", 0)),
        ("UPDATE cells SET key = CAST(x'ff' AS TEXT)", lambda r: r.finished("toy", CONTEXT)),
        ("ALTER TABLE cells RENAME COLUMN error TO errox", lambda r: r.finished("toy", CONTEXT)),
        ("ALTER TABLE runs RENAME COLUMN started TO x", lambda r: r.runs("toy", "smoke", 0)),
    ],
)
def test_whatever_is_damaged_a_sentence_says_so(tmp_path, damage, read):
    path = written(tmp_path / "r.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute(damage.replace("UPDATE cells", "UPDATE OR REPLACE cells"))
    connection.close()
    with Results(path) as results, pytest.raises(ValueError, match=r"r\.sqlite is damaged \("):
        read(results)


def test_learners_in_this_process_have_one_thread(results, monkeypatch):
    """As those in processes of their own have; a run that was stopped continues."""
    done, threads, stopped = [], set(), []

    def run_cell(work, cell, context):
        if len(done) == 4 and not stopped:
            stopped.append(True)
            raise KeyboardInterrupt
        done.append(cell.key)
        threads.update(pool["num_threads"] for pool in threadpool_info())
        return CellResult(cell, 0.1, (Score("accuracy", 0.8, 0.0),))

    monkeypatch.setattr("lab.experiments.running.runner.attempt", run_cell)
    with pytest.raises(KeyboardInterrupt):
        run(TOY, results, CONTEXT, progress=False)
    assert len(done) == 4
    assert run(TOY, results, CONTEXT, progress=False).skipped == 4
    assert len(done) == len(set(done)) == 24
    assert threads == {1}


def test_times_are_written_in_words():
    assert [duration(s) for s in (3, 75, 7500)] == ["3.0 s", "1 min 15 s", "2 h 5 min"]
