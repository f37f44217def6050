"""The experiment on the automatic machine: its averages are the machine's own."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from absentia.automatic.assembly import assemble
from absentia.automatic.blending import losses
from absentia.automatic.committee import hide_cells
from absentia.automatic.folds import Settings
from absentia.automatic.member_tuning import LearningRows
from lab.studies.automatic.answers import LEVELS, compute, read
from lab.studies.automatic.methods import Scene, all_methods
from lab.studies.automatic.rivals import compute_program
from lab.studies.automatic.scores import compared, mean_ranks
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


STANDS_IN = """
import pandas as pd
from sklearn.linear_model import LogisticRegression, Ridge


class TabularPredictor:
    def __init__(self, label, problem, metric, path, verbosity):
        self.numbers = problem == "regression"
        assert metric == ("rmse" if self.numbers else "log_loss")

    def fit(self, frame, *, time_limit, num_cpus, **others):
        assert time_limit > 0 and num_cpus == 1
        self.rows, y = frame.drop(columns="y").fillna(0), frame["y"]
        self.model = (Ridge() if self.numbers else LogisticRegression()).fit(self.rows, y)
        return self

    def predict(self, frame):
        return pd.Series(self.model.predict(frame.fillna(0)))

    def predict_proba(self, frame):
        return pd.DataFrame(self.model.predict_proba(frame.fillna(0)), columns=self.model.classes_)

    def predict_oof(self):
        return self.predict(self.rows)

    def predict_proba_oof(self):
        return self.predict_proba(self.rows)
"""


@pytest.mark.parametrize("program", ["autogluon", "lightgbm, tuned"])
def test_programs_answer_as_members_do(program, trial, tmp_path, monkeypatch):
    if program == "autogluon":  # another interpreter's, in a real run
        (tmp_path / "autogluon").mkdir()
        (tmp_path / "autogluon" / "tabular.py").write_text(STANDS_IN)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        compute(trial, "linear", tmp_path)
    else:
        pytest.importorskip("lightgbm")
    assert program in compute_program(trial, program, tmp_path, sys.executable)
    found = read(tmp_path, trial, program)
    assert found is not None
    assert found.seconds > 0
    loss = losses(found.plain[0], trial.y, trial.rows.task).mean()
    constant = trial.rows.y.var() if trial.rows.n_classes is None else np.log(2)
    assert loss < 0.6 * constant
    assert found.out_of_fold.shape == (3, 100, trial.rows.n_classes or 1)


def test_differences_that_the_file_does_not_keep_count_as_none():
    table = pd.DataFrame({"a": [0.1, 0.2], "b": [0.10004, 0.20006]})
    found = compared(table, "a", "b", lower_is_better=True)
    assert (found["won"], found["lost"]) == (1, 0)
