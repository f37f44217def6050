"""Conditional Shapley values against their definition, and the faces of an explanation."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import LogisticRegression as PlainLogistic

from absentia import (
    SVC,
    AutoClassifier,
    ConformalRegressor,
    ExpectedLinear,
    ExpectedPolynomial,
    ExpectedRBF,
    GaussianDensity,
    GaussianProcessRegressor,
    KernelRidge,
    LogisticRegression,
    MarginalClassifier,
    MarginalRegressor,
    MixedDensity,
    MixtureDensity,
    bounded,
    explain,
    load,
    save,
)
from absentia.predictions.shapley import shapley_weights
from oracles.shapley import mixture_mean, quadratic_expectation, shapley

NAN = np.nan


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(5, 2))
    X = rng.normal(size=(150, 2)) @ loadings.T + 0.6 * rng.normal(size=(150, 5)) + [0, 1, 2, 3, 4]
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + X[:, 0] * X[:, 1] / 3
    X[rng.random(X.shape) < 0.2] = NAN
    return X, y


ROWS = np.array([[0.5, 2.0, 1.0, 3.5, 4.5], [0.5, NAN, 1.0, NAN, 4.5], [NAN, 1.0, NAN, NAN, NAN]])


def brute_force(v, x):
    """Return the values of all columns of a row, zero where it misses one."""
    own = np.flatnonzero(~np.isnan(x))
    values = np.zeros(len(x))
    values[own] = shapley(lambda players: v(own[list(players)]), len(own))
    return values


def assert_efficient(found, tolerance=1e-10):
    assert_allclose(found.base + found.values.sum(axis=1), found.prediction, atol=tolerance)


def test_weights_of_coalitions_are_those_of_all_orders():
    rng = np.random.default_rng(1)
    for n in (1, 2, 5):
        coalitions = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1
        v = rng.normal(size=2**n)
        number = {frozenset(np.flatnonzero(c)): k for k, c in enumerate(coalitions)}
        expected = shapley(lambda players, v=v, number=number: v[number[players]], n)
        assert_allclose(shapley_weights(coalitions).T @ v, expected, atol=1e-14)


@pytest.mark.parametrize("kernel", [ExpectedLinear(), ExpectedPolynomial(2, gamma=0.1)])
def test_machines_with_averaged_kernels_have_the_closed_form_of_a_gaussian(table, kernel):
    X, y = table
    machine = KernelRidge(kernel=kernel, alpha=0.1).fit(X, y)
    # The learned function is a polynomial, which some complete rows determine.
    rng = np.random.default_rng(2)
    points = rng.normal(size=(60, 5))
    pairs = np.array([(i, j) for i in range(5) for j in range(i, 5)])
    design = np.hstack([np.ones((60, 1)), points, points[:, pairs[:, 0]] * points[:, pairs[:, 1]]])
    solved = np.linalg.lstsq(design, machine.predict(points), rcond=None)[0]
    curvature = np.zeros((5, 5))
    curvature[pairs[:, 0], pairs[:, 1]] = solved[6:]
    prior = machine.density_.prior_
    found = explain(machine, ROWS)
    for x, values, base in zip(ROWS, found.values, found.base, strict=True):

        def v(known, x=x):
            return quadratic_expectation(
                prior.means[0], prior.covariances[0], x, known, solved[0], solved[1:6], curvature
            )

        assert_allclose(values, brute_force(v, x), atol=1e-7)  # the polynomial is fitted
        assert_allclose(base, v([]), atol=1e-7)
    assert_efficient(found)
    assert not found.errors.any()
    assert_allclose(found.prediction, machine.predict(ROWS), atol=1e-10)
    np.testing.assert_array_equal(found.observed, ~np.isnan(ROWS))


def test_a_linear_model_on_a_mixture(table):
    X = table[0]
    model = LinearRegression().fit(ROWS[:1].repeat(9, axis=0) + np.eye(9, 5), np.arange(9.0))
    density = MixtureDensity(2, random_state=0).fit(X)
    prior = density.prior_
    found = explain(model, ROWS, density=density, n_draws=4096)
    for x, values in zip(ROWS, found.values, strict=True):

        def v(known, x=x):
            centre = mixture_mean(prior.weights, prior.means, prior.covariances, x, known)
            return model.intercept_ + model.coef_ @ centre

        # 4096 quasi-random draws of each coalition.
        assert_allclose(values, brute_force(v, x), atol=0.02 * np.abs(model.coef_).max() * 5)
    assert_efficient(found)


def test_sampled_orders_agree_with_enumeration_within_their_errors(table):
    X, y = table
    machine = KernelRidge(kernel=ExpectedRBF(0.05)).fit(X, y)
    exact = explain(machine, ROWS)
    sampled = explain(machine, ROWS, method="permutations", tolerance=0.003)
    assert_efficient(sampled)
    assert sampled.errors[0].all()
    assert not sampled.errors[2].any()
    assert (np.abs(sampled.values - exact.values) <= 5 * sampled.errors + 1e-12).all()
    largest = np.abs(sampled.values[0]).max()
    assert sampled.errors[0].max() <= 0.003 * largest
    rough = explain(machine, ROWS, method="permutations", max_coalitions=1, tolerance=1e-9)
    assert rough.errors[0].max() > sampled.errors[0].max()


def test_classes_have_probabilities_log_odds_and_decisions(table):
    X, y = table
    label = np.where(y > np.median(y), "high", "low")
    machine = LogisticRegression(kernel=ExpectedRBF(0.05)).fit(X, label)
    found = explain(machine, ROWS)
    assert found.output == "probability"
    assert found.outputs == ("low",)
    assert_efficient(found)
    assert_allclose(found.prediction[0], machine.predict_proba(ROWS[:1])[0, 1])
    odds = explain(machine, ROWS, output="log-odds")
    assert_allclose(odds.prediction, np.log(found.prediction / (1 - found.prediction)))
    assert_efficient(odds)
    scores = explain(machine, ROWS, output="decision")
    assert_allclose(scores.prediction, machine.decision_function(ROWS))  # no draws
    for kernel in ("genrbf", "expected-rbf"):
        vectors = SVC(kernel=kernel).fit(X, label)
        scores = explain(vectors, ROWS[:2])
        assert scores.output == "decision"
        assert_efficient(scores)
        assert_allclose(scores.prediction[0], vectors.decision_function(ROWS[:1])[0])


def test_several_classes_have_an_axis(table):
    X, y = table
    label = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    wrapper = MarginalClassifier(
        RandomForestClassifier(20, random_state=0), n_draws=8, random_state=0
    ).fit(X, label)
    found = explain(wrapper, ROWS, y=[0, 1, 2])
    assert found.values.shape == (3, 5, 3)
    assert found.outputs == ("0", "1", "2")
    assert_efficient(found)
    assert_allclose(found.values.sum(axis=2), 0.0, atol=1e-12)
    assert_allclose(found.prediction, wrapper.predict_proba(ROWS))
    one = found.of("2")
    assert_allclose(one.values, found.values[:, :, 2])
    assert len(found.to_frame()) == 9
    assert list(found.to_frame()["output"][:3]) == ["0", "1", "2"]
    # What is known of a row takes its loss from that of the base to that of the prediction.
    rows = np.arange(3)
    loss = -np.log([found.base[rows, rows], found.prediction[rows, rows]])
    assert_allclose(found.loss_shares.sum(), (loss[0] - loss[1]).mean())
    assert found.loss_errors.shape == (5,)
    with pytest.raises(ValueError, match="no output 'no'"):
        found.of("no")


def test_a_column_that_tells_nothing_has_no_share_of_the_loss(table):
    X, y = table
    rng = np.random.default_rng(3)
    wide = np.column_stack([X, rng.normal(size=len(X))])
    machine = KernelRidge(kernel=ExpectedLinear(), alpha=1.0).fit(wide, y)
    found = explain(machine, wide[:60], y=y[:60])
    assert abs(found.loss_shares[5]) < 0.05 * found.loss_shares.max()
    assert_allclose(found.importance, np.abs(found.values).mean(axis=0))


def test_groups_are_one_player(table):
    X, y = table
    machine = KernelRidge(kernel=ExpectedRBF(0.05)).fit(X, y)
    found = explain(machine, ROWS, groups={"first": [0, 1], "last": ["x4"]})
    assert found.columns == ("first", "last", "x2", "x3")
    assert_efficient(found)
    np.testing.assert_array_equal(found.observed[2], [True, False, False, False])
    assert_allclose(found.values[2, 0], found.prediction[2] - found.base[2])
    everything = explain(machine, ROWS[:1], groups={"all": range(5)})
    assert_allclose(everything.values[0, 0], everything.prediction[0] - everything.base[0])
    for groups, message in (
        ({"a": [0, 1], "b": [1]}, "in the groups 'a' and 'b'"),
        ({"a": ["height"]}, "not among the columns"),
        ({"a": [5]}, "not among the columns"),
        ({"x2": [0, 1]}, "another name"),
    ):
        with pytest.raises(ValueError, match=message):
            explain(machine, ROWS, groups=groups)


def frame_of(table):
    X, y = table
    frame = pd.DataFrame(X, columns=["age", "weight", "dose", "x", "z"])
    frame["sex"] = np.where(y > 2, "f", "m")
    frame.loc[::7, "sex"] = None
    frame["crp"] = [f"{value:.2f}" if value > 0.4 else "<0.4" for value in np.abs(X[:, 0])]
    frame.loc[frame["crp"] == "nan", "crp"] = None
    return frame, np.where(y > np.median(y), "yes", "no")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_with_words_and_limits(table, kind, tmp_path):
    frame, label = frame_of(table)
    model = LogisticRegression(
        kernel=ExpectedRBF(), density=MixedDensity(2, n_init=1, random_state=0)
    ).fit(frame, label)
    save(model, tmp_path / "model.absentia")
    rows = frame[:3]
    if kind == "polars":
        rows = pytest.importorskip("polars").from_pandas(rows)
    for each in (model, load(tmp_path / "model.absentia")):
        found = explain(each, rows, output="decision")
        assert found.columns == tuple(frame.columns)
        assert_efficient(found)
        assert_allclose(found.prediction, model.decision_function(frame[:3]))
    assert "sex" in found.to_frame().to_string()
    np.testing.assert_array_equal(found.observed, frame[:3].notna())
    # A limit is known too, and its column has a value.
    limited = np.flatnonzero(frame["crp"][:150] == "<0.4")[:1]
    assert explain(model, frame.iloc[limited], output="decision").values[0, -1] != 0


def test_columns_that_the_model_did_not_learn_from(table):
    """Frames may have further columns, of words too, and lack some with a warning."""
    X, _ = table
    frame = pd.DataFrame(X[:40], columns=[f"c{j}" for j in range(X.shape[1])])
    model = LinearRegression().fit(frame.fillna(0.0), np.arange(40.0))
    density = GaussianDensity().fit(frame)
    expected = explain(model, frame[:3], density=density)
    wider = frame[:3].assign(word=["a", "b", None])[["word", *frame.columns]]
    for rows in (wider, pl.from_pandas(wider)):
        found = explain(model, rows, density=density)
        assert found.columns == expected.columns
        np.testing.assert_allclose(found.values, expected.values)
    with pytest.warns(UserWarning, match="c0"):
        found = explain(model, wider.drop(columns="c0"), density=density)
    assert not found.values[:, 0].any()
    unnamed = LinearRegression().fit(frame.fillna(0.0).to_numpy(), np.arange(40.0))
    with pytest.raises(ValueError, match=r"learned from an array of \d numbers, but X is a frame"):
        explain(unnamed, wider, density=density)


def test_limits_of_arrays(table):
    X, y = table
    machine = KernelRidge(kernel=ExpectedLinear()).fit(X, y)
    upper = np.full(ROWS.shape, np.inf)
    upper[1, 1] = 0.0
    rows = bounded(ROWS, lower=np.full(ROWS.shape, -np.inf), upper=upper)
    found = explain(machine, rows)
    assert found.observed[1, 1]
    assert found.values[1, 1] != 0
    assert_allclose(found.prediction, machine.predict(rows))


def test_other_models(table):
    X, y = table
    label = y > np.median(y)
    auto = AutoClassifier(members=["beliefs", "boosting"], n_splits=2, random_state=0).fit(X, label)
    found = explain(auto, ROWS)
    assert_efficient(found)
    assert_allclose(found.prediction, auto.predict_proba(ROWS)[:, 1])
    process = GaussianProcessRegressor().fit(X, y)
    assert_efficient(explain(process, ROWS))
    conformal = ConformalRegressor(KernelRidge(), random_state=0).fit(X, y)
    assert_efficient(explain(conformal, ROWS))
    wrapper = MarginalRegressor(LinearRegression(), n_draws=16, random_state=0).fit(X, y)
    assert_allclose(explain(wrapper, ROWS).prediction, wrapper.predict(ROWS))


def test_rows_without_values_and_columns_that_were_never_observed(table):
    X, y = table
    machine = KernelRidge(kernel=ExpectedRBF(0.05)).fit(X, y)
    nothing = explain(machine, np.full((2, 5), NAN))
    assert not nothing.values.any()
    assert not nothing.observed.any()
    assert_allclose(nothing.prediction, nothing.base)
    with pytest.warns(UserWarning, match="missing in every training row"):
        narrow = KernelRidge(kernel=ExpectedRBF(0.05)).fit(
            np.column_stack([X, np.full(len(X), NAN)]), y
        )
    found = explain(narrow, np.column_stack([ROWS, [1.0, 2.0, 3.0]]))
    assert_allclose(found.values[:, 5], 0.0, atol=1e-12)
    assert_efficient(found)
    with pytest.warns(UserWarning, match="missing in every training row"):  # averaged over draws
        drawn = KernelRidge().fit(np.column_stack([X, np.full(len(X), NAN)]), y)
    found = explain(drawn, np.column_stack([ROWS, [1.0, 2.0, 3.0]]))
    assert_allclose(found.values[:, 5], 0.0, atol=1e-12)
    expected = explain(KernelRidge().fit(X, y), ROWS)
    assert_allclose(found.values[:, :5], expected.values, rtol=1e-8, atol=1e-10)


def test_bad_input_gets_a_sentence(table):
    X, y = table
    label = (y > np.median(y)).astype(int)
    ridge, vectors = KernelRidge().fit(X, y), SVC().fit(X, label)
    plain = PlainLogistic().fit(np.nan_to_num(X), label)
    for model, settings, message in (
        (ridge, {"output": "probability"}, "is for classifiers"),
        (ridge, {"output": "odds"}, "output must be"),
        (ridge, {"method": "fast"}, "method must be"),
        (ridge, {"n_draws": 1}, "n_draws must be"),
        (ridge, {"max_coalitions": 0}, "max_coalitions must be"),
        (ridge, {"y": [1.0]}, "one per row"),
        (vectors, {"output": "probability"}, "has no predict_proba"),
        (vectors, {"output": "prediction"}, "predicts classes"),
        (vectors, {"y": [0, 1, 1]}, "need probabilities"),
        (plain, {}, "no density"),
    ):
        with pytest.raises(ValueError, match=message):
            explain(model, ROWS, **settings)
    with pytest.raises(TypeError, match="pass the rows"):
        explain(ridge, ridge.density_.condition(ROWS))
    density = GaussianDensity().fit(X)
    with pytest.raises(ValueError, match="class 7"):
        explain(plain, ROWS, density=density, y=[7, 0, 1])
    wide = np.random.default_rng(0).normal(size=(60, 22))
    machine = KernelRidge(kernel=ExpectedLinear()).fit(wide, wide[:, 0])
    with pytest.raises(ValueError, match="22 observed columns"):
        explain(machine, wide[:1], method="exact")
    assert_efficient(explain(machine, wide[:1], max_coalitions=700))


def test_an_explanation_is_frozen_readable_and_drawn(table, monkeypatch):
    X, y = table
    machine = KernelRidge(kernel=ExpectedRBF(0.05)).fit(X, y)
    many, one = explain(machine, X[:20]), explain(machine, ROWS[:1])
    assert "mean absolute values" in repr(many)
    assert len(many) == 20
    assert repr(one).startswith("Explanation of 1 row, prediction: ")
    with pytest.raises(ValueError, match="read-only"):
        one.values[0] = 1.0
    assert list(one.to_frame()) == ["row", "prediction", "base", *(f"value_x{j}" for j in range(5))]
    waterfall, swarm = one.plot(), many.plot(max_columns=3)
    assert "row 0" in waterfall.axes[0].get_title()
    assert len(swarm.axes[0].collections) == 3
    assert many.plot(row=-1).axes[0].get_title().startswith("row 19")
    with pytest.raises(ValueError, match="one of the 20 rows"):
        many.plot(row=20)
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        one.to_shap()
