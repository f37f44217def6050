"""Predictions under shifts of missing values: closed forms, simulation, bad input."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from absentia import (
    SVC,
    GaussianDensity,
    KernelRidge,
    LogisticRegression,
    MarginalClassifier,
    MarginalRegressor,
    MixedDensity,
    MixtureDensity,
    TableEncoder,
    bounded,
    sensitivity,
    tipping_point,
)

ROWS = np.array([[0.3, np.nan, np.nan], [np.nan, np.nan, 1.0], [0.1, 0.2, 0.3]])
SLOPES = np.array([1.0, -2.0, 0.5])


def example(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(np.zeros(3), 0.5 * np.eye(3) + 0.5, size=n)
    return X, X @ SLOPES + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def linear():
    X, y = example()
    plain = LinearRegression().fit(X, y)
    return MarginalRegressor(FrozenEstimator(plain), density="gaussian", random_state=0).fit(X)


def test_a_linear_model_moves_by_its_closed_form(linear):
    """The delta adjustment of multiple imputation: ``b'(m + C g)``, here with moments matched."""
    beliefs, slopes = linear.density_.condition(ROWS), linear.estimator_.estimator.coef_
    found = sensitivity(linear, ROWS, deltas=[-1.5, 0.0, 2.0])
    assert found.columns == ("x0", "x1", "x2")
    np.testing.assert_array_equal(found.missing, np.isnan(ROWS))
    intercept = linear.estimator_.estimator.intercept_
    for j in range(3):
        for k, delta in enumerate(found.deltas):
            for i in range(3):
                shift = np.zeros(3)
                shift[j] = delta
                mean = beliefs[i].mean()[0]
                if np.isnan(ROWS[i, j]):
                    C, s = beliefs[i].covariance()[0], beliefs[i].spread()[0]
                    mean = mean + C[:, j] * delta / s[j]
                expected = mean @ slopes + intercept
                assert found.predictions[j, k, i, 0] == pytest.approx(expected, abs=1e-8)
    frame = found.to_frame()
    assert list(frame.columns) == ["row", "column", "delta", "prediction"]
    assert len(frame) == 4 * 3
    assert "3 rows" in repr(found)


def test_a_shift_is_the_delta_adjustment_of_mice():
    """Means of a linear model, after delta was added to what R's mice imputed for a column.

    mice 3.15, ``method="norm"``, ``post`` with delta, 3000 imputations: 0.0842 at zero, with a
    standard error of 0.0024, and two for each unit of delta.
    """
    i = np.arange(1, 101)
    first = norm.ppf((i - 0.5) / 100)
    second = 0.8 * first + 0.6 * np.sin(7 * i)
    X = np.column_stack([first, second, 0.5 * second - 0.3 * np.cos(3 * i)])
    model = LinearRegression().fit(X, X @ [1.0, 2.0, -1.0])
    X[i % 3 == 0, 1] = np.nan
    rows, density = X[i % 3 == 0], GaussianDensity(shrinkage=0.0).fit(X)
    unit = density.condition(rows).spread()[0, 1]
    found = sensitivity(model, rows, deltas=np.array([-1.0, 0.0, 1.0]) / unit, density=density)
    means = found.predictions[0, :, :, 0].mean(axis=1)
    np.testing.assert_allclose(means, [-1.9158, 0.0842, 2.0842], atol=3 * 0.0024)


@pytest.mark.skipif(
    "ABSENTIA_ANTIDEPRESSANT" not in os.environ,
    reason="ABSENTIA_ANTIDEPRESSANT names no CSV file of antidepressant_data of R's rbmi",
)
def test_jump_to_reference_is_that_of_rbmi():
    """Effects of its example with conditional means: missing values of the drug lose its effect."""
    long = pd.read_csv(os.environ["ABSENTIA_ANTIDEPRESSANT"], dtype={"PATIENT": str})
    visits = long.pivot(index="PATIENT", columns="VISIT", values="CHANGE")
    patients = long.groupby("PATIENT")[["THERAPY", "BASVAL"]].first()
    drug = (patients["THERAPY"] == "DRUG").to_numpy(dtype=float)
    X = np.column_stack([drug, patients["BASVAL"], visits])
    density = GaussianDensity(shrinkage=0.0, max_iter=5000, tol=1e-10).fit(X)
    known = density.covariance_[:2]
    effects = np.linalg.solve(known[:, :2], known[:, 2:])[0]
    beliefs = density.condition(X)
    left = (drug == 1) & (visits.index != "3618")  # a gap, not the end of the treatment
    design = np.column_stack([np.ones(len(X)), X[:, :2]])
    found = []
    for j in range(2, 6):
        shifted = (np.arange(6) == j) & (left & np.isnan(X[:, j]))[:, None]
        units = np.where(shifted, beliefs.spread(), 1.0)
        means = beliefs.tilted(np.where(shifted, -effects[j - 2] / units, 0.0)).mean()
        found.append(-np.linalg.lstsq(design, means[:, j], rcond=None)[0][1])
    np.testing.assert_allclose(found, [-0.092, 1.305, 1.929, 2.126], atol=5e-4)


def test_tipping_points_of_a_linear_model(linear):
    beliefs, slopes = linear.density_.condition(ROWS), linear.estimator_.estimator.coef_
    found = tipping_point(linear, ROWS, by=0.7)
    for i in (0, 1):
        C, s = beliefs[i].covariance()[0], beliefs[i].spread()[0]
        gain = np.divide(C @ slopes, s, out=np.zeros(3), where=s > 0)
        for j in np.flatnonzero(np.isnan(ROWS[i])):
            exact = 0.7 / np.abs(gain[j])
            if exact < 3:
                assert np.abs(found.delta[i, j]) == pytest.approx(exact, rel=1e-6)
            else:
                assert np.isnan(found.delta[i, j])
        # The steepest direction reaches the same change soonest.
        assert found.worst[i] == pytest.approx(0.7 / np.linalg.norm(gain), rel=0.02)
        assert found.worst[i] <= np.nanmin(np.append(np.abs(found.delta[i]), 3.0)) + 1e-12
    assert np.isnan(found.worst[2])
    np.testing.assert_allclose(found.decision, linear.predict(ROWS), rtol=0.1, atol=0.05)


@pytest.mark.parametrize("kind", ["machine", "mixture", "marginal", "frame"])
def test_decisions_of_classifiers_change_at_the_tipping_point(kind):
    X, y = example(120)
    rows = ROWS
    if kind == "frame":
        X, rows = (pd.DataFrame(values, columns=["a", "b", "c"]) for values in (X, rows))
    if kind == "marginal":
        model = MarginalClassifier(GaussianNB(), random_state=0)
    else:
        density = MixtureDensity(2, random_state=0) if kind == "mixture" else "gaussian"
        model = LogisticRegression(C=10.0, density=density)
    model.fit(X, y > 0)
    found = tipping_point(model, rows, n_steps=12)
    assert found.columns == tuple("abc" if kind == "frame" else ["x0", "x1", "x2"])
    for i, j in np.argwhere(~np.isnan(found.delta)):
        around = found.delta[i, j] * np.array([0.8, 1.2])
        curve = sensitivity(model, rows, deltas=around, columns=[int(j)])
        top = curve.predictions[0, :, i].argmax(axis=1)
        nearer = np.argmin(np.abs(curve.deltas))
        labels = np.array(curve.classes)[top]
        assert labels[nearer] == found.decision[i]
        assert labels[1 - nearer] != found.decision[i]
    assert not np.isnan(found.delta).all()
    assert (np.isnan(found.delta) | np.isnan(ROWS)).all()


def test_the_shift_that_restores_calibration_lies_in_the_range():
    """The largest values of a column are missing: predictions are too low by one shift of it."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(2), [[1.0, 0.5], [0.5, 1.0]], size=3000)
    y = X[:, 0] + 2 * X[:, 1]
    holes = X.copy()
    holes[rng.random(3000) < 1 / (1 + np.exp(-2 * (X[:, 1] - 0.5))), 1] = np.nan
    plain = LinearRegression().fit(X[:500], y[:500])
    model = MarginalRegressor(FrozenEstimator(plain), random_state=0).fit(holes)
    lacking = np.flatnonzero(np.isnan(holes[:, 1]))[:400]
    found = sensitivity(model, holes[lacking], deltas=np.linspace(-2, 2, 9), columns=["x1"])
    error = found.predictions[0, :, :, 0].mean(axis=1) - y[lacking].mean()
    at_random = error[found.deltas == 0.0][0]
    assert at_random < -0.8  # far too low
    assert error[-1] > 0 > error[0]  # the true shift is within the range
    assert np.interp(0.0, error, found.deltas) == pytest.approx(1.3, abs=0.4)


def test_limits_are_kept():
    X, y = example()
    model = KernelRidge(kernel="linear").fit(X, y)
    rows = bounded(ROWS[:1], [[-np.inf, 0.0, -np.inf]], [[np.inf, 0.5, np.inf]])
    found = sensitivity(model, rows, deltas=[-50.0, 0.0, 50.0], columns=["x1"])
    moved = found.predictions[0, :, 0, 0]
    assert moved[0] > moved[1] > moved[2]
    # Between the limits only, with the column that moves along.
    assert np.ptp(moved) < 2.5


def test_the_odds_of_a_category_are_tilted():
    """The odds of ``p`` become ``p exp(delta)``; two categories have one shift, three three."""
    rng = np.random.default_rng(0)
    words = np.where(rng.random(200) < 0.4, "yes", "no")
    frame = pd.DataFrame(
        {"x": rng.normal(size=200), "smoker": words, "site": rng.choice(list("abc"), 200)}
    )
    y = 2.0 * (words == "yes")
    plain = make_pipeline(TableEncoder(), LinearRegression()).fit(frame, y)
    density = MixedDensity(random_state=0).fit(frame)
    rows = pd.DataFrame({"x": [0.0, 0.1], "smoker": [None, "no"], "site": ["a", None]})
    found = sensitivity(plain, rows, deltas=[-1.0, 0.0, 2.0], density=density)
    assert found.columns == ("smoker = yes", "site = a", "site = b", "site = c")
    p = density.condition(rows).probabilities(0)[0, 1]
    odds = p / (1 - p) * np.exp(found.deltas)
    # 256 quasi-random draws of a category.
    np.testing.assert_allclose(found.predictions[0, :, 0, 0], 2 * odds / (1 + odds), atol=0.02)
    tips = tipping_point(plain, rows, by=0.5, density=density)
    at = np.log((p + 0.25) / (0.75 - p)) - np.log(p / (1 - p))
    away = np.log((p - 0.25) / (1.25 - p)) - np.log(p / (1 - p))
    nearer = min(at, away, key=abs)
    assert tips.delta[0, 0] == pytest.approx(nearer, abs=0.1)
    assert tips.worst[0] == pytest.approx(abs(nearer), abs=0.1)
    assert np.isnan(tips.worst[1])


@pytest.mark.parametrize("delta", [-1e9, 1e9])
def test_enormous_shifts_are_sound(delta):
    X, y = example()
    frame = pd.DataFrame({"x": X[:, 0], "w": np.where(X[:, 1] > 0, "u", "v")})
    frame.loc[::4, "w"] = None
    model = LogisticRegression(density="mixed").fit(frame, y > 0)
    rows = pd.DataFrame({"x": [np.nan], "w": [None]})
    assert np.isfinite(sensitivity(model, rows, deltas=[delta]).predictions).all()


def test_bad_input(linear):
    X, y = example()
    with pytest.raises(ValueError, match="a regressor needs it"):
        tipping_point(linear, ROWS)
    with pytest.raises(ValueError, match="by must be a finite number above 0"):
        tipping_point(linear, ROWS, by=-1.0)
    with pytest.raises(ValueError, match="deltas must be finite"):
        sensitivity(linear, ROWS, deltas=[np.nan])
    with pytest.raises(ValueError, match="columns names the column 'z'"):
        sensitivity(linear, ROWS, columns=["z"])
    with pytest.raises(ValueError, match="has no predict_proba"):
        sensitivity(SVC().fit(X, y > 0), ROWS)
    far = sensitivity(linear, ROWS, deltas=[1e9])
    assert np.isfinite(far.predictions).all()
    nothing = sensitivity(linear, ROWS[2:])
    assert nothing.predictions.shape == (0, 9, 1, 1)
    assert nothing.to_frame().empty
    assert np.isnan(tipping_point(linear, ROWS[2:], by=1.0).worst).all()
