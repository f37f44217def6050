"""Positive, skewed targets of `absentia train` and the studio: logarithms, units, ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from absentia import explain, load, save
from absentia.recipe.model import TableModel
from absentia.recipe.training import train

pd = pytest.importorskip("pandas")


def patients(n=160):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    frame["ward"] = rng.choice(["north", "south"], n)
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    level = np.exp(1.5 * frame["a"].fillna(0.0) + 0.4 * rng.normal(size=n))
    return frame.assign(bilirubin=level)


@pytest.mark.parametrize("calibrate", [0.0, 0.3])
@pytest.mark.parametrize("method", ["gaussian-process", "expected-rbf"])
def test_the_logarithm_of_a_skewed_target_is_learned_and_answers_are_in_its_units(
    method, calibrate, tmp_path
):
    frame = patients()
    found = train(frame, "bilirubin", method=method, calibrate=calibrate)
    assert any("its logarithm was learned" in note for note in found.notes)
    save(found.model.estimator, tmp_path / "model")
    model = TableModel(load(tmp_path / "model"))
    assert model.is_log
    rows = model.rows(frame)
    doubts, predicted = model.doubts(rows), model.predict(rows)
    assert (doubts.interval.lower > 0).all()
    assert (doubts.interval.lower < predicted).all()
    assert (predicted < doubts.interval.upper).all()
    covered = (doubts.interval.lower <= frame["bilirubin"]) & (
        frame["bilirubin"] <= doubts.interval.upper
    )
    assert covered.mean() > 0.8
    # Large predictions are the less certain ones, as errors that grow with the target make them.
    assert doubts.doubt[predicted > 3].mean() > 3 * doubts.doubt[predicted < 0.5].mean()
    shares = model.explanation(rows[:5])
    np.testing.assert_allclose(shares.values.sum(axis=1) + shares.base, shares.prediction)
    np.testing.assert_allclose(shares.prediction, predicted[:5], rtol=0.1)


def test_the_scores_of_a_logarithm_are_those_of_the_target():
    frame = patients()
    found = train(frame, "bilirubin", method="gaussian-process", calibrate=0.3)
    truth, predicted = found.scored
    assert truth.min() > 0
    np.testing.assert_allclose(
        found.score, 1 - ((truth - predicted) ** 2).mean() / ((truth - truth.mean()) ** 2).mean()
    )


def test_intervals_of_a_target_that_is_never_negative_end_at_zero():
    frame = patients()
    frame["bilirubin"] = np.round(np.maximum(frame["a"].fillna(0.0), 0.0), 2)
    model = train(frame, "bilirubin", method="gaussian-process").model
    assert not model.is_log
    lower = model.doubts(model.rows(frame)).interval.lower
    assert lower.min() == 0.0
    frame["bilirubin"] -= 1.0
    model = train(frame, "bilirubin", method="gaussian-process").model
    assert model.doubts(model.rows(frame)).interval.lower.min() < -1.0


def test_values_that_cancel_keep_the_units_of_the_target():
    """A prediction equal to the base leaves no quotient from which units could be taken."""
    frame = patients()
    frame["bilirubin"] = 100 * frame["a"].fillna(0.0) - 100 * frame["b"].fillna(0.0)
    model = train(frame, "bilirubin", method="expected-rbf").model
    found = model.explanation(model.rows(frame[:3]))
    inner = explain(model.machine, model.rows(frame[:3]), groups=None)
    assert not model.is_log
    scale = model.estimator.transformer_.scale_[0]
    np.testing.assert_allclose(
        found.prediction - found.base, scale * (inner.prediction - inner.base)
    )
    equal = replace(inner, prediction=inner.base)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("absentia.recipe.model.explain", lambda *args, **kwargs: equal)
        np.testing.assert_allclose(model.explanation(None).values, scale * inner.values)


def test_deviations_take_no_prediction_where_units_are_linear(monkeypatch):
    frame = patients()
    frame["bilirubin"] -= 10.0
    model = train(frame, "bilirubin", method="gaussian-process").model
    rows, called = model.rows(frame), []
    monkeypatch.setattr(
        type(model.machine), "predict", lambda *args, **kwargs: called.append(1) or 1 / 0
    )
    assert (model._spread(rows, np.ones(len(rows))) == 1.0).all()
    assert not called
