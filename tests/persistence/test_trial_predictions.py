"""Models are asked before they are saved and handed out, wherever the rows come in."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from absentia import (
    SVC,
    ConformalClassifier,
    ConformalRegressor,
    KernelRidge,
    LogisticRegression,
    TableEncoder,
    load,
    save,
)
from absentia.predictions.calibration import Calibration

pd = pytest.importorskip("pandas")


def frame():
    rng = np.random.default_rng(0)
    numbers = np.where(rng.random(40) < 0.2, np.nan, rng.normal(size=40))
    words = rng.choice(["red", "green", "blue"], size=40)
    return pd.DataFrame({"length": numbers, "colour": words, "width": rng.normal(size=40)})


def encoded():
    return make_pipeline(TableEncoder(), SVC())


def wrapped(name):
    """Return a model around a pipeline that begins with words, and the machine at its end."""
    X, y = frame(), np.array(["no", "yes"])[np.arange(40) % 2]
    if name == "pipeline":
        model = encoded().fit(X, y)
        return model, model[-1]
    if name == "search":
        model = GridSearchCV(encoded(), {"svc__C": [1.0]}, cv=2).fit(X, y)
        return model, model.best_estimator_[-1]
    if name == "calibration":
        model = CalibratedClassifierCV(encoded(), cv=2).fit(X, y)
        return model, model.calibrated_classifiers_[0].estimator[-1]
    model = VotingClassifier([("one", encoded()), ("two", encoded())]).fit(X, y)
    return model, model.estimators_[1][-1]


def test_arrays_whose_shapes_do_not_fit_are_no_remark_about_the_rows(tmp_path):
    model = Ridge().fit(np.eye(4), np.arange(4.0))
    save(model, tmp_path / "model")
    model.coef_ = np.zeros(3)
    with pytest.raises(TypeError, match=r"load would refuse this model: .*do not fit together"):
        save(model, tmp_path / "model")


@pytest.mark.parametrize("name", ["pipeline", "search", "calibration", "vote"])
def test_a_machine_behind_an_encoder_must_be_whole(name, tmp_path):
    model, machine = wrapped(name)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(frame()), model.predict(frame()))
    del machine.dual_coef_
    with pytest.raises(TypeError, match=r"load would refuse this model: .*dual_coef_"):
        save(model, tmp_path / "model")


@pytest.mark.parametrize("kind", [ConformalClassifier, ConformalRegressor])
@pytest.mark.parametrize("change", ["fewer", "more", "none"])
def test_calibration_rows_must_have_their_targets(kind, change, tmp_path):
    X = frame()[["length", "width"]].to_numpy()
    inner = LogisticRegression() if kind is ConformalClassifier else KernelRidge()
    model = kind(inner, random_state=0).fit(X, np.arange(40) % 2)
    save(model, tmp_path / "model")
    assert isinstance(load(tmp_path / "model").calibration_, Calibration)
    if change == "none":
        del model.calibration_targets_
    else:
        model.calibration_targets_ = np.resize(
            model.calibration_targets_, 3 if change == "fewer" else 50
        )
    with pytest.raises(TypeError, match=r"load would refuse this model: .*"):
        save(model, tmp_path / "model")
