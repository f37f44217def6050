"""Scores against slow, obvious computations."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from lab.experiments.inner_search import Trained
from lab.experiments.scoring import (
    calibrated_probabilities,
    calibration_bins,
    crps_of_normal,
    score,
)


@pytest.mark.parametrize(("y", "mean", "sd"), [(0.3, 0.0, 1.0), (-2.0, 1.0, 0.5), (5.0, 4.9, 3.0)])
def test_crps_is_the_integral_that_defines_it(y, mean, sd):
    below, _ = quad(lambda x: norm.cdf(x, mean, sd) ** 2, -60, y, points=[mean])
    above, _ = quad(lambda x: norm.sf(x, mean, sd) ** 2, y, 60, points=[max(mean, y)])
    assert crps_of_normal(y, mean, sd) == pytest.approx(below + above, rel=1e-6)


def test_decision_values_become_honest_probabilities():
    rng = np.random.default_rng(0)
    values = rng.normal(size=4000) * 3
    truth = rng.random(4000) < 1 / (1 + np.exp(-values))
    y, y_test = np.where(truth[:2000], "b", "a"), np.where(truth[2000:], "b", "a")
    trained = Trained(
        np.where(values[2000:] > 0, "b", "a"), values[2000:], values[:2000], None, np.unique(y)
    )
    scores, facts = score(trained, y, y_test, "classification")
    assert scores["accuracy"] == scores["score"] == (trained.prediction == y_test).mean()
    p = 1 / (1 + np.exp(-values[2000:]))
    best = -np.mean(np.where(truth[2000:], np.log(p), np.log1p(-p)))
    # What two parameters of Platt's method, learned from 2000 rows, cost on average is 0.001.
    assert scores["log_loss"] == pytest.approx(best, abs=0.01)
    assert scores["calibration_error"] < 0.04
    assert scores["roc_auc"] > 0.85
    assert np.array(facts["calibration"])[:, 0].sum() == 2000


def test_calibration_bins_by_hand():
    probabilities = np.array([[0.95, 0.05], [0.45, 0.55], [0.3, 0.7], [1.0, 0.0]])
    truth = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    bins = calibration_bins(probabilities, truth)
    np.testing.assert_allclose(bins[5], [1, 0.55, 0])
    np.testing.assert_allclose(bins[7], [1, 0.7, 1])
    np.testing.assert_allclose(bins[9], [2, 1.95, 2])


def test_intervals_of_a_regressor_cover_what_they_say():
    rng = np.random.default_rng(1)
    f, f_test = rng.normal(size=3000), rng.normal(size=3000)
    y, y_test = f + rng.normal(size=3000), f_test + rng.normal(size=3000)
    scores, _ = score(Trained(f_test, f_test, f), y, y_test, "regression")
    # 3000 rows: standard errors of 0.0055 and 0.013.
    assert scores["coverage_90"] == pytest.approx(0.9, abs=0.02)
    assert scores["r2"] == pytest.approx(0.5, abs=0.05)
    # CRPS of a correct normal forecast is sd / sqrt(pi), here in units of the target's sd.
    assert scores["crps"] == pytest.approx(1 / np.sqrt(np.pi) / np.std(y), rel=0.03)


def test_multiclass_and_a_class_that_training_never_saw():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], 40)
    decision = np.eye(3)[y] + 0.3 * rng.normal(size=(120, 3))
    trained = Trained(decision.argmax(axis=1), decision, decision, None, np.arange(3))
    scores, _ = score(trained, y, y, "classification")
    assert scores["log_loss"] < 0.5
    assert "roc_auc" not in scores
    y_test = y.copy()
    y_test[0] = 7
    scores, _ = score(trained, y, y_test, "classification")
    assert "log_loss" not in scores
    assert scores["accuracy"] > 0.8


def test_decision_values_that_are_all_the_same():
    """Their deviation is rounding; in units of it the value of another row is 1e16 away."""
    y = (np.arange(37) % 5 == 0).astype(int)
    trained = Trained(y[:2], np.full(2, 0.2), np.full(37, 0.1), None, np.unique(y))
    probabilities = calibrated_probabilities(trained, y)
    # C=10 leaves next to nothing but the shares of the classes.
    np.testing.assert_allclose(probabilities[:, 1], y.mean(), atol=1e-3)


def test_crps_of_a_constant_target_is_in_its_own_units():
    y = np.full(37, 0.1)
    predicted = np.full(10, 0.3)
    trained = Trained(predicted, None, y + 0.5, None, None)
    scores, _ = score(trained, y, np.full(10, 0.1), "regression")
    assert scores["crps"] == pytest.approx(crps_of_normal(0.1, 0.3, 0.5))
