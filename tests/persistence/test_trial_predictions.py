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
    FourierFeatures,
    GaussianProcessRegressor,
    KernelPCA,
    KernelRidge,
    LogisticRegression,
    MaskFeatures,
    Nystroem,
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


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize(
    ("model", "attribute"),
    [
        (FourierFeatures(7, mask_weight=1.0, random_state=0), "frequencies_"),
        (FourierFeatures(7, mask_weight=1.0, random_state=0), "mask_frequencies_"),
        (FourierFeatures(7, random_state=0), "center_"),
        (FourierFeatures(7, random_state=0), "last_phase_"),
        (MaskFeatures(7, random_state=0), "frequencies_"),
        (Nystroem(7, random_state=0), "normalization_"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_feature_maps_of_numbers_that_no_fit_leaves_behind_are_refused(
    model, attribute, number, tmp_path
):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 3)) < 0.2, np.nan, rng.normal(size=(30, 3)))
    model.fit(X)
    fitted = np.array(getattr(model, attribute))
    fitted.flat[-1] = number
    setattr(model, attribute, fitted if fitted.ndim else float(fitted))
    with pytest.raises(TypeError, match=f"load would refuse this model: .*{attribute} holds"):
        save(model, tmp_path / "model")
    pipeline = make_pipeline(model, Ridge())
    pipeline.steps[1][1].fit(np.zeros((4, 7)), np.arange(4.0))
    with pytest.raises(TypeError, match="load would refuse this model"):
        save(pipeline, tmp_path / "model")


@pytest.mark.parametrize(
    ("model", "attribute"),
    [
        (SVC(), "dual_coef_"),
        (SVC(), "intercept_"),
        (KernelRidge(), "dual_coef_"),
        (GaussianProcessRegressor(), "scale_"),
        (TableEncoder(), "ranges_"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_finite_numbers_that_no_fit_leaves_behind_are_refused(model, attribute, tmp_path):
    # Their squares overflow, so that uncertainties would be infinite or NaN.
    X = frame()[["length", "width"]]
    model.fit(X, np.arange(40) % 2)
    save(model, tmp_path / "model")
    fitted = np.array(getattr(model, attribute))
    fitted.flat[-1] = -1e300
    setattr(model, attribute, fitted if fitted.ndim else float(fitted))
    with pytest.raises(TypeError, match=f"load would refuse this model: .*{attribute} holds"):
        save(model, tmp_path / "model")


def test_components_that_are_not_finite_are_refused(tmp_path):
    model = KernelPCA(2).fit(np.random.default_rng(0).normal(size=(20, 3)))
    model.eigenvectors_[0, 0] = np.nan
    with pytest.raises(TypeError, match=r"KernelPCA\.transform answers nan"):
        save(model, tmp_path / "model")
