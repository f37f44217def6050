"""One reader: however a frame comes in, its columns are guessed once and filled once."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from absentia import (
    SVC,
    AutoClassifier,
    GaussianDensity,
    LogisticRegression,
    MarginalClassifier,
    MixedDensity,
    Nystroem,
    TableEncoder,
)
from absentia.cli import main
from absentia.recipe import learning_table
from absentia.recipe.training import train
from absentia.studio.row_answers import RowAnswers
from absentia.tables.columns import guesses
from absentia.tables.columns.column import Column
from absentia.tables.columns.readings import ColumnReading

N = 60
RNG = np.random.default_rng(0)
Y = np.arange(N) % 2


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": RNG.normal(50 + 10 * Y, 9).round(1),
            "lead": [*RNG.gamma(2.0, size=N - 2).round(2).astype(str), "<0.5", "n/a"],
            "ward": RNG.choice(["north", "south", "east"], N),
            "seen": pd.date_range("2024-01-01", periods=N).strftime("%d.%m.%Y"),
        }
    )


@pytest.fixture
def counted(monkeypatch):
    """How often each column was guessed and filled."""
    # The search for columns that predict the target alone reads a sample of the rows again.
    monkeypatch.setattr(learning_table, "_MOST_ROWS", N // 2)
    found = {"guessed": Counter(), "filled": Counter()}
    guess, fill = guesses.read_column, ColumnReading.values

    def counting_guess(column, **how):
        found["guessed"][Column.of(column).name] += 1
        return guess(column, **how)

    def counting_fill(self, column, **how):
        # Saving a model tries it on a few rows.
        found["filled"][Column.of(column).name] += len(column) == N
        return fill(self, column, **how)

    monkeypatch.setattr(guesses, "read_column", counting_guess)
    monkeypatch.setattr(ColumnReading, "values", counting_fill)
    return found


def once(frame):
    return dict.fromkeys(frame.columns, 1)


def of_features(counts, frame):
    return {name: counts[name] for name in frame.columns}


MACHINES = {
    "machine": SVC(),
    "gradient": LogisticRegression(),
    "features": Nystroem(n_components=5, random_state=0),
    "density": GaussianDensity(),
    "categories": MixedDensity(1),
    "marginal": MarginalClassifier(DummyClassifier(), density="gaussian", n_draws=4),
    "automatic": AutoClassifier(members=["linear"], n_repeats=1, random_state=0),
    "encoder": TableEncoder(),
    "encoder with limits": TableEncoder(limits=True),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_frame_is_read_once_by_estimators(name, counted):
    frame, model = table(), MACHINES[name]
    fit = getattr(model, "fit_transform", model.fit) if "encoder" in name else model.fit
    fit(frame, Y)
    assert of_features(counted["guessed"], frame) == once(frame)
    assert of_features(counted["filled"], frame) == once(frame)
    counted["guessed"].clear()
    counted["filled"].clear()
    methods = (getattr(model, n, None) for n in ("predict", "transform", "condition"))
    next(method for method in methods if method is not None)(frame)
    assert not counted["guessed"]
    assert of_features(counted["filled"], frame) == once(frame)


def test_a_frame_is_read_once_by_the_command_line(counted, tmp_path):
    frame = table()
    frame.assign(risk=frame["age"] / 7 + Y).to_csv(tmp_path / "t.csv", index=False)
    command = ["train", str(tmp_path / "t.csv"), "-t", "risk", "--method", "genrbf", "-q"]
    assert main([*command, "-o", str(tmp_path / "model")]) == 0
    assert of_features(counted["guessed"], frame) == once(frame)
    assert of_features(counted["filled"], frame) == once(frame)
    counted["guessed"].clear()
    counted["filled"].clear()
    assert main(["predict", str(tmp_path / "model"), str(tmp_path / "t.csv")]) == 0
    assert not counted["guessed"]
    assert of_features(counted["filled"], frame) == once(frame)


def test_a_frame_is_read_once_by_the_recipe_of_the_studio(counted):
    frame = table()
    found = train(frame.assign(risk=frame["age"] / 7 + Y), "risk", method="genrbf")
    assert of_features(counted["guessed"], frame) == once(frame)
    assert of_features(counted["filled"], frame) == once(frame)
    counted["filled"].clear()
    rows = RowAnswers(found.model).read_table(frame)
    assert of_features(counted["filled"], frame) == once(frame)
    assert len(rows.table) == N
