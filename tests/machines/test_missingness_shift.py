"""Holes that appear only after training."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import SVC, MissingnessShiftWarning
from machines.contract import table, targets_of


def test_the_warning_names_columns_and_points_at_the_caller():
    frame = pd.DataFrame(np.nan_to_num(table()), columns=["age", "income", "weight"])
    model = SVC(shift="warn").fit(frame, targets_of("classes"))
    new = frame[:4].copy()
    new.loc[0, "age"] = np.nan
    new.loc[:, "weight"] = np.nan
    with pytest.warns(MissingnessShiftWarning, match=r"'age' \(25%.*'weight' \(100%") as caught:
        model.predict(new)
    assert caught[0].filename == __file__


def test_columns_that_were_missing_before_and_beliefs_are_compared_too():
    X = table()
    X[:, 0] = np.nan_to_num(X[:, 0])
    model = SVC(shift="error").fit(X, targets_of("classes"))
    np.testing.assert_allclose(model.missing_rates_, np.isnan(X).mean(axis=0))
    new = np.array([[1.0, np.nan, np.nan]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(new)
    with pytest.raises(ValueError, match="'x0'"):
        model.predict(model.density_.condition([[np.nan, 1.0, 1.0]]))


def test_many_columns_are_counted():
    X = np.random.default_rng(0).normal(size=(40, 13))
    model = SVC(shift="error").fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match=r"'x9'.* and 3 more"):
        model.predict(np.full((1, 13), np.nan))


def test_rows_with_holes_are_predicted_by_a_machine_trained_on_complete_rows():
    X, y = load_breast_cancer(return_X_y=True)
    train, test, y_train, y_test = train_test_split(
        X, y, train_size=200, test_size=150, random_state=0
    )
    test = np.where(np.random.default_rng(0).random(test.shape) < 0.6, np.nan, test)
    machine = make_pipeline(StandardScaler(), SVC()).fit(train, y_train)
    assert machine.score(test, y_test) > 0.93
