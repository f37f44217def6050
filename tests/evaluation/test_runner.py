"""Runs that fail in part, are killed, and go on."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from absentia.evaluation.cells import Cell, CellResult, Context, Score
from absentia.evaluation.runner import run
from absentia.evaluation.store import Results
from evaluation.toy_protocol import TOY

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
    tests = Path(__file__).parents[1]
    program = subprocess.Popen(
        [sys.executable, str(tests / "evaluation" / "toy_protocol.py"), str(path), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(tests)},
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
    with pytest.raises(ValueError, match="database of something else"):
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
