"""The experiment on the automatic machine: its averages are the machine's own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from absentia.automatic.assembly import assemble
from absentia.automatic.committee import hide_cells
from absentia.automatic.folds import Settings
from absentia.automatic.member_tuning import LearningRows
from lab.studies.automatic import scores
from lab.studies.automatic.answers import LEVELS, compute, read
from lab.studies.automatic.methods import Scene, all_methods
from lab.studies.automatic.scores import compared, mean_ranks, with_earlier, written
from lab.studies.automatic.trials import HOLED_TABLES, SHIFT_TABLES, Trial, is_for_development

MEMBERS = ("boosting", "linear")


@pytest.fixture(scope="module", params=["classes", "numbers"])
def trial(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=150)
    X[rng.random(X.shape) < 0.15] = np.nan
    if request.param == "classes":
        y = (y > 0).astype(int)
    rows = LearningRows(X[:100], y[:100], None, 2 if request.param == "classes" else None)
    return Trial("made up", 0, rows, (X[100:], hide_cells(X[100:], 0.6, 0)), y[100:])


def test_the_average_is_that_of_the_machine(trial, tmp_path):
    for member in MEMBERS:
        compute(trial, member, tmp_path)
    answers = {member: read(tmp_path, trial, member) for member in MEMBERS}
    scene = Scene(trial, answers)
    settings = Settings(MEMBERS, hidden=LEVELS, n_repeats=2, n_jobs=1, seed=trial.seed)
    committee = assemble(trial.rows, settings).committee
    for ours, table in zip(scene.average().tests, trial.tests, strict=True):
        np.testing.assert_allclose(ours, committee.answer(table), atol=1e-10)
    for method, make in all_methods(scene).items():
        found = make()
        assert all(np.isfinite(each).all() for each in found.tests), method
        assert (found.spreads is None) == (trial.rows.n_classes is not None)


def test_wins_losses_and_ranks_are_counted():
    table = pd.DataFrame({"a": np.arange(1.0, 9), "b": np.arange(1.0, 9) + 0.5})
    table.loc[7, "b"] = 0.0
    found = compared(table, "a", "b", lower_is_better=True)
    assert (found["won"], found["lost"], found["tables"]) == (7, 1, 8)
    assert found["difference"] == pytest.approx((7 * 0.5 - 8) / 8)
    reverse = compared(table, "a", "b", lower_is_better=False)
    assert (reverse["won"], reverse["lost"]) == (1, 7)
    assert mean_ranks(table, ["a", "b"], lower_is_better=True)["a"] == pytest.approx(9 / 8)


def test_half_of_the_tables_are_for_development():
    chosen = [is_for_development(name) for name in (*HOLED_TABLES, *SHIFT_TABLES)]
    assert sum(chosen) == len(chosen) // 2


def _scores(table, repeat, loss):
    facts = {"experiment": "real-holes", "table": table, "repeat": repeat}
    return {**facts, "test": "as they are", "method": "automatic", "score": 0.5, "loss": loss}


def test_earlier_scores_are_joined_and_replaced_by_new_ones(trial, monkeypatch):
    asked = []

    def split(name, repeat, folder):
        asked.append((name, repeat, folder))
        return Trial(name, repeat, trial.rows, trial.tests, trial.y)

    monkeypatch.setattr(scores, "trial", split)
    earlier = pd.DataFrame([_scores("a", 0, 0.1), _scores("b", 0, 0.2), _scores("b", 1, 0.3)])
    new = pd.DataFrame([{**_scores("b", 0, 0.123456), "rows": 7}])
    joined = with_earlier(written(new), earlier, "folder")
    found = joined.set_index(["table", "repeat"])["loss"].to_dict()
    assert found == {("a", 0): 0.1, ("b", 1): 0.3, ("b", 0): 0.1235}
    assert asked == [("a", 0, "folder"), ("b", 1, "folder")]
    assert list(joined["rows"]) == [100, 100, 7]


def test_differences_that_the_file_does_not_keep_count_as_none():
    table = pd.DataFrame({"a": [0.1, 0.2], "b": [0.10004, 0.20006]})
    found = compared(table, "a", "b", lower_is_better=True)
    assert (found["won"], found["lost"]) == (1, 0)
