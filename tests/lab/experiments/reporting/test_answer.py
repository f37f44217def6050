"""The answer of a comparison: the same on the terminal and on the page, and it resumes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from absentia.missingness.amputation import mcar
from lab.data.datasets import Dataset
from lab.experiments import compare_table, comparison, comparison_text
from lab.experiments.reporting.answer import Answer
from lab.experiments.reporting.figures import dots
from lab.experiments.reporting.verdict import Verdict
from lab.experiments.running.runner import run
from lab.experiments.running.store import Results


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, "up", "down")
    return Dataset("mine", "classification", mcar(X, 0.1, random_state=0), y, ("a", "b", "c"))


@pytest.fixture(scope="module")
def outcome(data, tmp_path_factory):
    return compare_table(
        data, methods=["mean", "zero", "genrbf"], folder=tmp_path_factory.mktemp("report"),
        progress=False, target="my target", file="my file.csv",
    )  # fmt: skip


def test_the_terminal_and_the_page_have_one_order(outcome, data):
    order = list(outcome.verdict.means)
    assert list(outcome.table.index) == order
    scores = list(outcome.verdict.means.values())
    assert scores == sorted(scores, reverse=True)
    text = comparison_text(outcome, data, "my target", "my file.csv")
    assert re.findall(r"^(mean|zero|genrbf) +[*0-9]", text, re.MULTILINE) == order
    first_table = outcome.page.read_text().split("<table", 2)[1]
    assert re.findall(r"<td[^>]*>(mean|zero|genrbf)</td>", first_table) == order


def test_the_page_has_the_command_the_file_the_columns_and_the_baseline(outcome):
    page = outcome.page.read_text()
    assert "absentia train &#39;my file.csv&#39; -t &#39;my target&#39;" in page
    assert "Classification of my target (2 classes) in my file.csv." in page
    assert "would have accuracy" in page
    assert "missing, %" in page
    # Ranks and tests come after the answer.
    assert page.index("All methods</h2>") < page.index("Ranks and tests</h2>")


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"genrbf": 0.9, "knn": 0.8}, "Train genrbf: absentia train f.csv -t y -o model.skops "),
        (
            {"knn": 0.9, "mean": 0.85, "genrbf-mixture": 0.7, "genrbf": 0.6},
            "knn cannot be trained from the command line. The best method that can be is "
            "genrbf-mixture (accuracy 0.700 ± 0.010, which is worse): absentia train f.csv -t y -o "
            "model.skops --method genrbf-mixture",
        ),
        (
            {"knn": 0.9, "genrbf": 0.89},
            "knn cannot be trained from the command line. The best method that can be is genrbf "
            "(accuracy 0.890 ± 0.010, no significant difference): absentia train",
        ),
        (
            {"knn": 0.9, "mean": 0.85},
            "knn cannot be trained from the command line, nor can the others. An average "
            "of different models, which was not compared, can be: absentia train f.csv -t y -o "
            "model.skops",
        ),
    ],
)
def test_the_command_trains_what_is_recommended_or_says_that_it_cannot(data, scores, said):
    best = max(scores, key=scores.get)
    as_good = tuple(n for n in scores if n != best and scores[best] - scores[n] < 0.02)
    verdict = Verdict(best, as_good, scores, dict.fromkeys(scores, 0.01), f"Use {best}.")
    command = Answer(verdict, pd.DataFrame(index=list(scores)), data, "y", "f.csv").command()
    assert command.startswith(said)


def test_a_comparison_that_was_stopped_says_that_it_continues(data, tmp_path):
    said = []
    compare_table(data, methods=["mean"], folder=tmp_path, progress=False, say=said.append)
    assert not said
    compare_table(data, methods=["mean"], folder=tmp_path, progress=False, say=said.append)
    assert said == [f"Continuing: 5 of 5 fits were done by an earlier run in {tmp_path}."]


def test_two_comparisons_in_one_folder_do_not_mix(data, tmp_path, monkeypatch):
    """One that begins while another runs is refused; one that comes after it starts anew."""
    other = Dataset("mine", data.task, data.X, data.y[::-1], data.feature_names)
    means = {}
    for name, table in (("data", data), ("other", other)):
        folder = tmp_path / name
        outcome = compare_table(table, methods=["mean"], folder=folder, progress=False)
        means[name] = outcome.verdict.means

    def run_with_another(*args, **settings):
        with pytest.raises(ValueError, match=r"results\.sqlite is in use by another"):
            compare_table(other, methods=["mean"], folder=tmp_path, progress=False)
        return run(*args, **settings)

    monkeypatch.setattr(comparison, "run", run_with_another)
    outcome = compare_table(data, methods=["mean"], folder=tmp_path, progress=False)
    assert outcome.verdict.means == means["data"]
    monkeypatch.undo()
    outcome = compare_table(other, methods=["mean"], folder=tmp_path, progress=False)
    assert outcome.verdict.means == means["other"] != means["data"]
    # Results that came from elsewhere are known by what they hold, not by their place.
    shutil.copy(tmp_path / "data" / "results.sqlite", tmp_path / "results.sqlite")
    outcome = compare_table(other, methods=["mean"], folder=tmp_path, progress=False)
    assert outcome.verdict.means == means["other"]


def test_a_comparison_that_is_killed_leaves_its_folder_free(tmp_path):
    """The lock is that of a process; nothing has to be removed by hand."""
    code = (
        "import sys, time; from lab.experiments.running.store import Results; "
        "held = Results(sys.argv[1], sole_user=True); print('held', flush=True); time.sleep(60)"
    )
    path = tmp_path / "results.sqlite"
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(ValueError, match="in use by another"):
            Results(path, sole_user=True)
        holder.kill()
    Results(path, sole_user=True).close()


def test_the_picture_shows_the_best_constant_answer():
    panel = dots({"mean": 0.8, "zero": 0.7}, {"mean": 0.1, "zero": 0.1}, "accuracy", 0.6).axes[0]
    assert [tick.get_text() for tick in panel.get_yticklabels()] == ["zero", "mean"]
    assert any(set(line.get_xdata()) == {0.6} for line in panel.lines)
