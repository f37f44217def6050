"""Columns that predict the target almost alone are named."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from absentia.recipe.learning_table import leakage_note
from absentia.recipe.training import train
from absentia.tables import Table

pd = pytest.importorskip("pandas")


def note(columns, y, task):
    frame = pd.DataFrame(columns)
    names = np.array(list(columns), dtype=object)
    plan = SimpleNamespace(source_columns=lambda: names)
    model = SimpleNamespace(
        rows=lambda rows: Table(rows.to_numpy()), encoder=SimpleNamespace(plan_=plan)
    )
    return leakage_note(model, SimpleNamespace(features=frame, target=np.asarray(y), task=task))


@pytest.mark.parametrize("leak", ["line", "bend", "missing"])
def test_a_column_that_gives_the_target_away_is_named(leak):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300))
    y = a + b
    if leak == "missing":  # filled in only once the outcome is known
        y = (y > 0).astype(int)
        told, task = np.where(y == 1, rng.normal(size=300), np.nan), "classification"
    else:
        told = 3 * y + 0.1 * rng.normal(size=300) if leak == "line" else np.abs(y)
        y, task = (y if leak == "line" else np.log1p(np.abs(y)), "regression")
    (said,) = note({"a": a, "told": told}, y, task)
    assert said.startswith("told (")
    assert "predicts the target almost alone" in said
    assert note({"a": a, "b": b}, y, task) == []


def test_several_classes_are_judged_together_and_a_good_column_is_no_leak():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 100)
    code = np.repeat([1.0, 0.0, 2.0], 100)
    good = code + rng.normal(0.0, 0.4, size=300)
    (said,) = note({"good": good, "code": code}, y, "classification")
    assert said.startswith("code (AUC 1.000)")
    assert "good" not in said


def test_rare_classes_and_many_columns_are_no_trouble():
    rng = np.random.default_rng(0)
    y = np.r_[np.repeat([0, 1], 4000), np.repeat(2, 5)]
    X = {"x": rng.normal(size=len(y))}
    assert note(X, y, "classification") == []
    assert note({f"x{k}": rng.normal(size=50) for k in range(301)}, np.arange(50), "r") == []


def test_training_says_so():
    rng = np.random.default_rng(0)
    a = rng.normal(size=60)
    frame = pd.DataFrame({"a": a, "copy": 2 * a + 1, "y": a})
    found = train(frame, "y", method="gaussian-process", calibrate=0.3)
    assert any("almost alone" in said and "copy (R² 1.000)" in said for said in found.notes)
    truth, predicted = found.scored
    assert truth.shape == predicted.shape == (18,)
