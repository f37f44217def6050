"""Answers of any model for incomplete rows: the parts of their uncertainty, and regions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import entr
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.linear_model import LogisticRegression as PlainLogistic

from absentia import (
    SVC,
    SVR,
    SVRCV,
    AutoClassifier,
    GaussianDensity,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelRidge,
    LargeScaleRidge,
    LogisticRegression,
    MarginalClassifier,
    MarginalRegressor,
    predict_uncertainty,
)
from absentia.beliefs.draws import DrawPoints
from absentia.densities.missing_values import MissingValues
from absentia.machines.averaging import uncertainty_over_draws
from absentia.predictions.marginal import find_density
from absentia.tables import Table
from predictions.contract import example


def linear_parts(weights, covariance, missing):
    """Return the missing part of a linear function of a Gaussian, and each column's own part."""
    L, seen = np.flatnonzero(missing), np.flatnonzero(~missing)
    S = covariance[np.ix_(L, L)]
    if len(seen):
        cross = covariance[np.ix_(L, seen)]
        S = S - cross @ np.linalg.inv(covariance[np.ix_(seen, seen)]) @ cross.T
    by_column = np.zeros(len(missing))
    by_column[L] = (S @ weights[L]) ** 2 / np.diag(S)
    return weights[L] @ S @ weights[L], by_column


def test_a_linear_model_of_a_gaussian_has_the_parts_of_the_closed_form():
    X, holes = example()
    weights = np.array([1.0, -2.0, 0.5, 0.0, 1.0])
    model = LinearRegression().fit(X, X @ weights)
    density = GaussianDensity().fit(X)
    doubt = predict_uncertainty(model, holes, density=density, n_draws=2048)
    wanted = [linear_parts(weights, density.covariance_, np.isnan(row)) for row in holes]
    # Quasi-random draws: the error is about one in a thousand with 2048 of them.
    np.testing.assert_allclose(doubt.missing, [total for total, _ in wanted], rtol=2e-2, atol=1e-9)
    by_column = np.array([part for _, part in wanted])
    np.testing.assert_allclose(doubt.by_column, by_column, rtol=5e-2, atol=2e-2 * by_column.max())
    np.testing.assert_array_equal(doubt.total, doubt.missing)


def test_entropies_of_one_missing_value_agree_with_an_integral():
    X, _ = example()
    model = PlainLogistic(max_iter=2000).fit(X, X[:, 0] > 0.5)
    density = GaussianDensity().fit(X)
    row = X[:1].copy()
    row[0, 0] = np.nan
    doubt = predict_uncertainty(model, row, density=density, n_draws=4096)
    belief = density.condition(row)
    centre, deviation = belief.mean()[0, 0], np.sqrt(belief.covariance()[0, 0, 0])

    def averaged(function):
        def integrand(x):
            trial = X[:1].copy()
            trial[0, 0] = x
            return function(model.predict_proba(trial)[0]) * norm.pdf(x, centre, deviation)

        return quad(integrand, centre - 8 * deviation, centre + 8 * deviation, limit=200)[0]

    p = averaged(lambda p: p[1])
    total = -p * np.log(p) - (1 - p) * np.log(1 - p)
    noise = averaged(lambda p: -(p * np.log(np.maximum(p, 1e-300))).sum())
    # 4096 quasi-random draws of a function with a steep step.
    np.testing.assert_allclose(doubt.prediction[0, 1], p, atol=2e-3)
    np.testing.assert_allclose(doubt.total, total, atol=2e-3)
    np.testing.assert_allclose(doubt.noise, noise, atol=2e-3)
    np.testing.assert_allclose(doubt.missing, total - noise, atol=4e-3)
    np.testing.assert_array_equal(doubt.by_column[0], [doubt.missing[0], 0, 0, 0, 0])


def test_predictions_are_those_of_the_wrapper():
    X, holes = example()
    wrapper = MarginalClassifier(PlainLogistic(max_iter=2000), random_state=0)
    wrapper.fit(holes, X[:, 0] > 0)
    doubt = wrapper.predict_uncertainty(holes)
    np.testing.assert_allclose(doubt.prediction, wrapper.predict_proba(holes), rtol=1e-10)
    assert (doubt.missing[:10] == 0).all()
    assert (doubt.missing >= 0).all()
    again = predict_uncertainty(wrapper, holes)
    np.testing.assert_array_equal(again.missing, doubt.missing)


def test_several_outputs_have_parts_of_their_own():
    X, holes = example()
    model = LinearRegression().fit(X, X[:, :2])
    wrapper = MarginalRegressor(FrozenEstimator(model), random_state=0).fit(X)
    doubt = wrapper.predict_uncertainty(holes)
    assert doubt.total.shape == (len(X), 2)
    assert doubt.by_column.shape == (len(X), 5, 2)
    frame = doubt.to_frame()
    assert {"prediction_0", "missing_1", "by_x4_1"} <= set(frame.columns)
    doubt.plot()
    doubt.plot(10)


def test_a_model_that_knows_its_own_error_has_a_model_part():
    X, holes = example()
    model = BayesianRidge().fit(X, X[:, 0] + np.random.default_rng(0).normal(size=len(X)))
    wrapper = MarginalRegressor(FrozenEstimator(model), random_state=0).fit(X)
    doubt = wrapper.predict_uncertainty(holes)
    _, std = model.predict(X[:10], return_std=True)
    np.testing.assert_allclose(doubt.model[:10], std**2, rtol=1e-10)
    assert (doubt.model > 0).all()


@pytest.mark.parametrize(
    "machine", [LogisticRegression(), KernelRidge(), SVR()], ids=lambda m: type(m).__name__
)
def test_every_machine_has_an_uncertainty(machine):
    X, holes = example(n=60)
    target = X[:, 0] > 0 if isinstance(machine, LogisticRegression) else X[:, 0]
    machine.fit(holes, target)
    doubt = predict_uncertainty(machine, holes[:14])
    assert np.abs(doubt.missing[:10]).max() < 1e-12
    assert doubt.missing[10] > 0
    assert np.isfinite(doubt.by_column).all()
    if not isinstance(machine, LogisticRegression):
        np.testing.assert_allclose(doubt.prediction[:10], machine.predict(X[:10]), rtol=1e-8)


def test_a_search_is_asked_for_its_best_machine():
    X, holes = example(n=60)
    search = SVRCV(Cs=(1.0,), gammas=(0.1,), cv=2).fit(holes, X[:, 0])
    one = predict_uncertainty(search, holes[:12])
    two = predict_uncertainty(search.best_estimator_, holes[:12])
    np.testing.assert_array_equal(one.total, two.total)


def test_machines_on_features_have_an_uncertainty_too():
    X, holes = example(n=60)
    machine = LargeScaleRidge(n_components=64, random_state=0).fit(holes, X[:, 0])
    doubt = predict_uncertainty(machine, holes[:14])
    np.testing.assert_allclose(doubt.prediction[:10], machine.predict(X[:10]), rtol=1e-8)
    assert doubt.missing[10] > 0


def test_what_cannot_be_asked_is_refused():
    X, holes = example()
    with pytest.raises(ValueError, match="n_draws must be an integer from 2"):
        predict_uncertainty(KernelRidge().fit(holes, X[:, 0]), holes, n_draws=1)
    with pytest.raises(ValueError, match="SVC has no predict_proba"):
        predict_uncertainty(SVC().fit(holes, X[:, 0] > 0), holes)
    with pytest.raises(ValueError, match="has no density"):
        predict_uncertainty(LinearRegression().fit(X, X[:, 0]), holes)


def test_the_value_is_frozen_and_says_what_it_is():
    X, holes = example()
    frame = pd.DataFrame(holes, columns=list("abcde"))
    wrapper = MarginalRegressor(LinearRegression(), random_state=0).fit(frame, X[:, 0])
    doubt = wrapper.predict_uncertainty(frame[8:12])
    assert repr(doubt).startswith("Uncertainty of 4 rows, mean variance: ")
    assert len(doubt) == 4
    assert doubt.columns == tuple("abcde")
    assert list(doubt.to_frame().columns)[:5] == [
        "prediction",
        "total",
        "model",
        "noise",
        "missing",
    ]
    assert ((doubt.missing_share >= 0) & (doubt.missing_share <= 1)).all()
    with pytest.raises(dataclasses.FrozenInstanceError):
        doubt.total = doubt.model
    with pytest.raises(ValueError, match="read-only"):
        doubt.total[0] = 0.0
    assert len(doubt.plot().axes) == 1
    bars = doubt.plot(2).axes[0]
    assert {label.get_text() for label in bars.get_yticklabels()} <= set("abcde")


@pytest.mark.parametrize("kind", ["machine", "process", "marginal", "automatic"])
def test_probabilities_have_the_names_of_the_classes(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    words = np.where(X[:, 0] > 0, "ill", "well")
    model = {
        "machine": LogisticRegression(),
        "process": GaussianProcessClassifier(),
        "marginal": MarginalClassifier(PlainLogistic(), n_draws=4),
        "automatic": AutoClassifier(members=("beliefs",), n_splits=2),
    }[kind].fit(X, words)
    doubt = predict_uncertainty(model, [[np.nan, 1.0]], by_column=False)
    assert doubt.classes == ("ill", "well")
    assert list(doubt.to_frame().columns[:3]) == ["probability_ill", "probability_well", "total"]
    # Classes with one spelling keep their numbers.
    alike = dataclasses.replace(doubt, classes=("1", "1")).to_frame()
    assert list(alike.columns[:2]) == ["probability_0", "probability_1"]


def test_the_density_of_a_model_is_found_inside_a_wrapper():
    machine = KernelRidge().fit(np.eye(4), np.arange(4))
    assert find_density(FrozenEstimator(machine)) is machine.density_


class OwnSpread(RegressorMixin, BaseEstimator):
    """The first column, with a standard deviation of one plus half of it."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X, return_std=False):
        X = np.asarray(X)
        return (X[:, 0], np.abs(1 + 0.5 * X[:, 0])) if return_std else X[:, 0]


def test_the_own_variance_is_averaged_over_draws():
    """``E[(1 + x / 2)^2]`` of a normal variable that is missing, not the square of a mean."""
    X, _ = example()
    wrapper = MarginalRegressor(
        FrozenEstimator(OwnSpread().fit(X)), density="gaussian", n_draws=2048, random_state=0
    ).fit(X)
    mean, variance = wrapper.density_.mean_[0], wrapper.density_.covariance_[0, 0]
    doubt = wrapper.predict_uncertainty(np.full((2, 5), np.nan))
    expected = (1 + mean / 2) ** 2 + variance / 4
    np.testing.assert_allclose(doubt.model, expected, rtol=5e-3)
    np.testing.assert_allclose(doubt.missing, variance, rtol=5e-3)
    np.testing.assert_allclose(doubt.noise, 0.0)
    np.testing.assert_allclose(doubt.by_column[:, 0], variance, rtol=2e-2)


def test_a_machine_that_knows_no_noise_has_none():
    X, holes = example(n=60)
    for machine in (KernelRidge(), SVR()):
        doubt = predict_uncertainty(machine.fit(holes, X[:, 0]), holes)
        assert not doubt.noise.any()
        assert not doubt.model.any()
        np.testing.assert_array_equal(doubt.total, doubt.missing)


def test_a_machine_of_several_outputs_has_parts_of_each():
    X, holes = example(n=60)
    machine = KernelRidge().fit(holes, np.column_stack([X[:, 0], 10 * X[:, 1]]))
    doubt = predict_uncertainty(machine, holes[:14])
    assert doubt.prediction.shape == doubt.total.shape == (14, 2)
    assert doubt.by_column.shape == (14, 5, 2)
    for output, factor in enumerate((1.0, 10.0)):
        alone = KernelRidge().fit(holes, factor * X[:, output])
        one = predict_uncertainty(alone, holes[:14])
        np.testing.assert_allclose(doubt.missing[:, output], one.missing, rtol=1e-6, atol=1e-12)
        # Rules are refined for all outputs or for one: to 2 % of the largest part.
        np.testing.assert_allclose(
            doubt.by_column[:, :, output], one.by_column, atol=0.02 * one.by_column.max()
        )


def test_beliefs_are_answered_as_the_rows_they_are_about():
    X, holes = example(n=60)
    machine = KernelRidge().fit(holes, X[:, 0])
    rows = machine.density_.condition(holes[:14])
    np.testing.assert_allclose(
        predict_uncertainty(machine, rows).missing,
        predict_uncertainty(machine, holes[:14]).missing,
        rtol=1e-8,
        atol=1e-12,
    )


def test_noise_of_a_process_without_a_closed_form_is_told_apart():
    X, holes = example(n=60)
    process = GaussianProcessRegressor(gamma=0.1).fit(X, X[:, 0] + X[:, 1])
    doubt = predict_uncertainty(process, holes[:14], n_draws=64)
    np.testing.assert_allclose(doubt.total, doubt.model + doubt.noise + doubt.missing, rtol=1e-12)
    assert (doubt.noise == doubt.noise[0]).all()


def test_an_answer_tells_its_noise_and_each_output_is_resolved():
    """A line settles at once; a wave beside it, of one cycle per deviation, does not."""
    X, _ = example()
    density = GaussianDensity().fit(X[:, :2])
    unknowns = MissingValues.of(density, ["a", "b"], 2)
    rows = Table(np.array([[np.nan, np.nan], [0.5, 1.0]]), columns_checked=True)

    def answer(complete, _):
        first = complete[:, 0]
        return np.column_stack([first, np.sin(6 * first)]), complete**2

    doubt = uncertainty_over_draws(
        answer, unknowns, rows, DrawPoints.sobol(4096, 2, 0), LinearRegression(), noise=None
    )
    (mean, of_b), variances = density.mean_, np.diag(density.covariance_)
    wave = np.exp(-18 * variances[0]) * np.sin(6 * mean)
    square = (1 - np.exp(-72 * variances[0]) * np.cos(12 * mean)) / 2
    parts = [variances[0], square - wave**2]
    np.testing.assert_allclose(doubt.missing, [parts, [0.0, 0.0]], rtol=1e-2)
    np.testing.assert_allclose(doubt.by_column[0, 0], parts, rtol=1e-2)
    expected = [[mean**2 + variances[0], of_b**2 + variances[1]], [0.25, 1.0]]
    np.testing.assert_allclose(doubt.noise, expected, rtol=1e-2)
    np.testing.assert_array_equal(doubt.model, 0.0)


def test_a_column_that_decides_alone_has_all_information():
    """The class depends on one of two missing columns: against a grid of it."""
    X, _ = example()
    density = GaussianDensity().fit(X[:, :2])
    unknowns = MissingValues.of(density, ["a", "b"], 2)

    def probabilities(first):
        second = 1 / (1 + np.exp(-3 * first))
        return np.column_stack([1 - second, second])

    doubt = uncertainty_over_draws(
        lambda complete, _: (probabilities(complete[:, 0]), None),
        unknowns,
        Table(np.full((1, 2), np.nan), columns_checked=True),
        DrawPoints.sobol(4096, 2, 0),
        PlainLogistic(),
    )
    grid = norm.ppf((np.arange(4000) + 0.5) / 4000)
    found = probabilities(density.mean_[0] + np.sqrt(density.covariance_[0, 0]) * grid)
    mean = found.mean(axis=0)
    noise = entr(found).sum(axis=1).mean()
    whole = entr(mean).sum()
    np.testing.assert_allclose(doubt.noise, noise, rtol=5e-3)
    np.testing.assert_allclose(doubt.total, whole, rtol=5e-3)
    np.testing.assert_allclose(doubt.missing, whole - noise, rtol=5e-3)
    np.testing.assert_allclose(doubt.by_column[0, 0], whole - noise, rtol=5e-3)
    share = density.covariance_[0, 1] ** 2 / np.prod(np.diag(density.covariance_))
    assert doubt.by_column[0, 1] < max(2 * share, 1e-3)
