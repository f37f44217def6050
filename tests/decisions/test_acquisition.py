"""What to measure next: against dense integration, for all kinds of models, at the corners."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import ndtr, ndtri
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator

import absentia
from absentia import (
    SVC,
    SVR,
    AcquisitionPolicy,
    ConformalClassifier,
    ConformalRegressor,
    GaussianDensity,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelRidge,
    LogisticRegression,
    MixtureDensity,
    bounded,
    measure_next,
)
from absentia.beliefs.column_trials import trapezoidal
from absentia.beliefs.draws import DrawPoints, draw_rows
from absentia.decisions import expected_gains
from absentia.densities.missing_values import MissingValues
from absentia.tables import Table
from oracles import acquisition as oracle

QUICK = GaussianDensity(max_iter=20, tol=1e-2)


def example(n=150, seed=0, rate=0.2):
    """Return rows of four columns of which the first tells most, the last nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] += 0.5 * X[:, 0]
    signal = 2 * X[:, 0] + X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < rate] = np.nan
    return X, signal


@pytest.fixture(scope="module")
def machine():
    X, signal = example()
    return LogisticRegression(C=5.0, kernel="expected_rbf").fit(X, np.digitize(signal, [-1, 1]))


ROWS = np.array([[np.nan] * 4, [0.5, np.nan, np.nan, 0.1], [np.nan, 1.0, 0.2, np.nan]])


@pytest.mark.parametrize("density", [GaussianDensity(), MixtureDensity(2, random_state=0)])
@pytest.mark.parametrize(("loss", "plain"), [("log", oracle.entropy), ("brier", oracle.brier)])
def test_gains_are_those_of_dense_integration(density, loss, plain):
    X, signal = example()
    machine = LogisticRegression(kernel="expected_rbf", gamma=0.05, density=density)
    machine.fit(X, np.digitize(signal, [-1, 1]))
    found = measure_next(machine, ROWS, loss=loss)
    prior = machine.density_.prior_
    parts = prior.weights, prior.means, prior.covariances
    for i, row in enumerate(ROWS):
        for j in np.flatnonzero(np.isnan(row)):
            gain, after = oracle.gain(machine.predict_proba, plain, *parts, row, j)
            # The rule of step 1/2 ends at five deviations.
            assert found.gain[i, j] == pytest.approx(gain, rel=1e-3, abs=1e-6)
            assert found.spread_after[i, j] == pytest.approx(after, rel=1e-4)
    assert np.isnan(found.gain[~np.isnan(ROWS)]).all()


@pytest.mark.parametrize("density", [GaussianDensity(), MixtureDensity(3, random_state=0)])
def test_support_points_have_the_moments_of_the_belief(density):
    X, _ = example()
    density = density.fit(X)
    unknowns = MissingValues.of(density, ["a", "b", "c", "d"], 4)
    trials = unknowns.trials(Table(ROWS, columns_checked=True), np.isnan(ROWS), trapezoidal(0))
    prior = density.prior_
    for cell, (i, j) in enumerate(zip(trials.row, trials.column, strict=True)):
        lines = slice(trials.starts[cell], trials.starts[cell] + trials.counts[cell])
        weights, points = trials.weights[lines], trials.table.array[lines, j]
        w, m, v = oracle.belief_about_value(
            prior.weights, prior.means, prior.covariances, ROWS[i], j
        )
        first, second = w @ m, w @ (m**2 + v)
        assert weights.sum() == pytest.approx(1.0, rel=1e-12)
        assert weights @ points == pytest.approx(first, abs=1e-10)
        # Nodes end at five deviations, beyond which lie 2e-6 of the variance.
        assert weights @ points**2 == pytest.approx(second, rel=1e-5)


def test_variance_of_a_linear_function_is_explained_exactly():
    """For ``f(x) = a'x`` measuring x_j explains ``(a' S[:, j])^2 / S[j, j]``, S the belief's."""
    X, _ = example(rate=0.0)
    density = GaussianDensity().fit(X)
    a = np.array([1.0, -2.0, 0.5, 0.0])

    class Linear(KernelRidge):
        def predict(self, X):
            return density.impute(X) @ a

    model = Linear().fit(X, X @ a)
    found = measure_next(model, ROWS, density=density)
    beliefs = density.condition(ROWS)
    for i, S in enumerate(beliefs.covariance()):
        for j in np.flatnonzero(np.isnan(ROWS[i])):
            # The rule ends at five deviations, beyond which lie 3e-6 of the variance.
            assert found.gain[i, j] == pytest.approx((a @ S[:, j]) ** 2 / S[j, j], rel=1e-5)
    # Before: a'Sa, by draws; 64 of them have a relative error of sqrt(2 / 64).
    exact = np.einsum("j,ijk,k->i", a, beliefs.covariance(), a)
    assert (np.abs(found.loss_before - exact) < 5 * np.sqrt(2 / 64) * exact + 1e-12).all()


def test_the_most_telling_column_comes_first(machine):
    found = measure_next(machine, ROWS)
    assert found.best[0] == "x0"
    assert found.ranking(0)[-1] == "x3"
    assert found.ranking(1) == ["x1", "x2"]
    frame = found.to_frame()
    assert frame.columns.tolist() == ["row", "column", "gain", "cost", "gain_per_cost"]
    assert frame["row"].tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    assert all(part["gain_per_cost"].is_monotonic_decreasing for _, part in frame.groupby("row"))
    np.testing.assert_allclose(found.loss_before, oracle.entropy(machine.predict_proba(ROWS)))


def test_costs_budget_and_columns(machine):
    plain = measure_next(machine, ROWS)
    costly = measure_next(machine, ROWS, costs={"x0": 1000.0})
    np.testing.assert_allclose(costly.gain, plain.gain)
    assert costly.best[0] != "x0"
    np.testing.assert_allclose(costly.gain_per_cost[0, 0], plain.gain[0, 0] / 1000)
    limited = measure_next(machine, ROWS, costs=[5.0, 1.0, 1.0, 1.0], budget=2.0)
    assert "x0" not in limited.ranking(0)
    assert measure_next(machine, ROWS, budget=0.5).best == ["stop"] * 3
    assert measure_next(machine, ROWS, among=["x3"]).best == ["x3", "stop", "x3"]
    assert measure_next(machine, ROWS, among=[1, -1]).ranking(0) == ["x1", "x3"]
    assert measure_next(machine, ROWS, stop_below=10.0).best == ["stop"] * 3
    free = measure_next(machine, ROWS, costs=[0.0, 1.0, 1.0, 1.0])
    assert free.best[0] == "x0"
    assert np.isposinf(free.gain_per_cost[0, 0])


def test_rows_with_nothing_to_measure(machine):
    found = measure_next(machine, np.zeros((2, 4)))
    assert found.best == ["stop", "stop"]
    assert found.to_frame().empty
    assert measure_next(machine, np.zeros((2, 4)), lookahead=2).best == ["stop", "stop"]
    assert "columns, 2 rows with nothing worth measuring" in repr(found)


def test_rows_do_not_depend_on_their_company(machine):
    many = np.vstack([ROWS, ROWS[::-1], ROWS])
    together = measure_next(machine, many, lookahead=2)
    apart = measure_next(machine, ROWS, lookahead=2)
    np.testing.assert_allclose(together.gain[:3], apart.gain, rtol=1e-10)
    np.testing.assert_allclose(together.gain[3:6], apart.gain[::-1], rtol=1e-10)


def test_a_loss_of_ones_own(machine):
    def entropy(probabilities):
        return oracle.entropy(probabilities)

    mine, theirs = measure_next(machine, ROWS, loss=entropy), measure_next(machine, ROWS)
    np.testing.assert_allclose(mine.gain, theirs.gain, rtol=1e-10)

    def cost_of_best_decision(probabilities):  # to treat costs 1, not to treat a patient 10
        return np.minimum(1.0, 10.0 * probabilities[:, 2])

    assert (np.nan_to_num(measure_next(machine, ROWS, loss=cost_of_best_decision).gain) >= 0).all()


def parity(n=300, seed=0, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 1] * X[:, d - 2] > 0).astype(int)


@pytest.mark.parametrize("d", [4, 9])
def test_two_steps_see_what_one_does_not(d):
    X, y = parity(d=d)
    machine = LogisticRegression(C=10.0, kernel="expected_rbf", gamma=1.0 / d).fit(X, y)
    row = np.full((1, d), np.nan)
    two = measure_next(machine, row, lookahead=2)
    assert set(two.ranking(0)[:2]) == {"x1", f"x{d - 2}"}
    assert two.gain[0, 1] > 3 * measure_next(machine, row).gain[0, 1]
    # Nothing to follow within the budget: the same as one step.
    short = measure_next(machine, row, lookahead=2, budget=1.0)
    np.testing.assert_allclose(short.gain, measure_next(machine, row).gain)


def test_auto_looks_two_steps_ahead_only_where_one_step_sees_little():
    """The class is a product of two columns, and in other rows what a third says."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    X[:, 3] = np.where(rng.random(400) < 0.5, 3.0, -3.0)
    y = np.where(X[:, 3] > 0, X[:, 0] * X[:, 1] > 0, X[:, 2] > 0).astype(int)
    machine = LogisticRegression(C=10.0, kernel="expected_rbf", gamma=0.25).fit(X, y)
    rows = np.full((3, 4), np.nan)
    rows[:2, 3] = 3.0, -3.0
    rows[2] = 0.5, 0.5, np.nan, 3.0  # a single value is missing: there is no pair
    one, two, auto = (measure_next(machine, rows, lookahead=k) for k in (1, 2, "auto"))
    assert auto.ranking(0) == two.ranking(0)
    assert set(auto.ranking(0)[:2]) == {"x0", "x1"}
    np.testing.assert_array_equal(auto.gain[0], two.gain[0])
    np.testing.assert_array_equal(auto.gain[1:], one.gain[1:])
    assert auto.best[1] == "x2"


def test_what_all_missing_values_gain_is_the_bound_for_auto(monkeypatch):
    """Against the plain average over the same draws, answered one by one."""
    X, _ = parity()
    y = X[:, 1] * X[:, 2] + 0.5 * X[:, 0] > 0
    machine = LogisticRegression(C=10.0, kernel="expected_rbf", gamma=0.25).fit(X, y)
    row = np.full((1, 4), np.nan)
    draws = draw_rows(machine.density_.condition(row), DrawPoints.sobol(64, 4, seed=0))[0]
    answers = np.array([machine.predict_proba(draw[None])[0] for draw in draws])
    of_all = oracle.entropy(answers.mean(axis=0)[None])[0] - oracle.entropy(answers).mean()
    one, two = (measure_next(machine, row, n_draws=64, lookahead=k) for k in (1, 2))
    alone = np.nanmax(one.gain)
    assert np.nanmax(two.gain) > alone
    for factor, expected in ((1 + 1e-9, two), (1 - 1e-9, one)):
        monkeypatch.setattr(expected_gains, "_ENOUGH", factor * alone / of_all)
        found = measure_next(machine, row, lookahead="auto", n_draws=64)
        np.testing.assert_array_equal(found.gain, expected.gain)


CLASSIFIERS = {
    "logistic": lambda: LogisticRegression(density=QUICK),
    "gaussian process": lambda: GaussianProcessClassifier(density=QUICK, gamma=0.1, scale=1.0),
    "calibrated": lambda: CalibratedClassifierCV(SVC(density=QUICK), ensemble=False, cv=3),
    "conformal": lambda: ConformalClassifier(LogisticRegression(density=QUICK), random_state=0),
    "boosted": lambda: HistGradientBoostingClassifier(max_iter=10),
    "marginal": lambda: absentia.MarginalClassifier(
        HistGradientBoostingClassifier(max_iter=10), n_draws=8, random_state=0
    ),
}
REGRESSORS = {
    "ridge": lambda: KernelRidge(density=QUICK),
    "svr": lambda: SVR(density=QUICK),
    "gaussian process": lambda: GaussianProcessRegressor(density=QUICK, gamma=0.1),
    "conformal": lambda: ConformalRegressor(KernelRidge(density=QUICK), random_state=0),
    "boosted": lambda: HistGradientBoostingRegressor(max_iter=10),
    "marginal": lambda: absentia.MarginalRegressor(
        HistGradientBoostingRegressor(max_iter=10), n_draws=8, random_state=0
    ),
}


def fitted(make, X, y):
    try:
        return make().fit(X, y)
    except AttributeError:
        pytest.skip("no marginal models here")


def check_contract(model, density):
    """What holds of measure_next for every kind of model."""
    for lookahead in (1, 2, "auto"):
        found = measure_next(model, ROWS, lookahead=lookahead, density=density)
        assert np.isfinite(found.gain[np.isnan(ROWS)]).all()
        assert np.isnan(found.gain[~np.isnan(ROWS)]).all()
        # Concave losses: knowing more is never expected to be worse.
        assert (found.gain[np.isnan(ROWS)] > -1e-9).all()
        assert (found.loss_before >= 0).all()
        assert found.best[0] == "x0"
    trace = AcquisitionPolicy(model, density=density, max_steps=2).run(ROWS, np.ones((3, 4)))
    assert trace.answers.shape[:2] == (len(trace) + 1, 3)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_contract_of_classifiers(kind):
    X, signal = example()
    density = GaussianDensity().fit(X) if kind == "boosted" else None
    check_contract(fitted(CLASSIFIERS[kind], X, signal > 0), density)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_contract_of_regressors(kind):
    X, signal = example()
    density = GaussianDensity().fit(X) if kind == "boosted" else None
    check_contract(fitted(REGRESSORS[kind], X, signal), density)


def test_spread_of_a_gaussian_process_falls():
    X, signal = example()
    model = GaussianProcessRegressor(density=QUICK, gamma=0.1).fit(X, signal)
    found = measure_next(model, ROWS)
    std = model.predict(ROWS, return_std=True)[1]
    np.testing.assert_allclose(found.loss_before, std**2)
    assert (found.spread_after[0] < std[0]).all()
    # By quadrature of its own: what is left once the first column is known.
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    prior = model.density_.prior_
    trial = np.full((7, 4), np.nan)
    trial[:, 0] = prior.means[0, 0] + np.sqrt(prior.covariances[0, 0, 0]) * nodes
    left = model.predict(trial, return_std=True)[1] ** 2 @ weights / weights.sum()
    # Seven nodes are exact to the fifth digit here.
    assert found.spread_after[0, 0] ** 2 == pytest.approx(left, rel=1e-4)


def test_frozen_and_frames(machine):
    X, signal = example()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = LogisticRegression(C=5.0, kernel="expected_rbf")
    model.fit(frame, np.digitize(signal, [-1, 1]))
    rows = pd.DataFrame(ROWS, columns=list("abcd"), index=["p", "q", "r"])
    found = measure_next(model, rows, costs={"b": 2.0})
    np.testing.assert_allclose(found.gain, measure_next(machine, ROWS).gain)
    assert found.best[0] == "a"
    polars = measure_next(FrozenEstimator(model), pl.DataFrame(rows).fill_nan(None))
    np.testing.assert_allclose(polars.gain, found.gain)
    trace = AcquisitionPolicy(model, max_steps=1).run(rows, np.zeros((3, 4)))
    assert trace.to_frame()["column"][0] == "a"


def test_a_column_that_the_density_never_saw(machine):
    X, signal = example()
    X[:, 3] = np.nan
    with pytest.warns(UserWarning, match="missing in every training row"):
        model = LogisticRegression().fit(X, signal > 0)
    found = measure_next(model, ROWS)
    assert np.isnan(found.gain[:, 3]).all()
    assert found.best[2] == "x0"


def test_bad_input(machine):
    X, signal = example()
    with pytest.raises(ValueError, match="costs name the column 'x9', which the table does not"):
        measure_next(machine, ROWS, costs={"x9": 1.0})
    with pytest.raises(ValueError, match=r"not negative, found -1 for column 'x2'"):
        measure_next(machine, ROWS, costs={"x2": -1.0})
    with pytest.raises(ValueError, match="one number per column, 4 of them"):
        measure_next(machine, ROWS, costs=[1.0, 2.0])
    with pytest.raises(ValueError, match="lookahead must be 1, 2 or 'auto', found 3"):
        measure_next(machine, ROWS, lookahead=3)
    with pytest.raises(ValueError, match="among names the column 'pulse'"):
        measure_next(machine, ROWS, among=["pulse"])
    with pytest.raises(ValueError, match="does not suit a classifier; use 'log' or 'brier'"):
        measure_next(machine, ROWS, loss="variance")
    with pytest.raises(ValueError, match="loss must be"):
        measure_next(machine, ROWS, loss="hinge")
    with pytest.raises(ValueError, match="budget must be a number of at least 0"):
        measure_next(machine, ROWS, budget=-1.0)
    with pytest.raises(ValueError, match=r"SVC has no predict_proba.*CalibratedClassifierCV"):
        measure_next(SVC(density=QUICK).fit(X, signal > 0), ROWS)
    boosted = HistGradientBoostingClassifier(max_iter=2).fit(X, signal > 0)
    with pytest.raises(ValueError, match="HistGradientBoostingClassifier has no density"):
        measure_next(boosted, ROWS)
    forest = RandomForestClassifier(2).fit(X, signal > 0)
    with pytest.raises(ValueError, match="RandomForestClassifier has no density"):
        measure_next(forest, ROWS)
    with pytest.raises(ValueError, match="X has 3 columns, but the density has 4"):
        measure_next(machine, ROWS[:, :3])
    with pytest.raises(ValueError, match="must have the shape of X"):
        AcquisitionPolicy(machine).run(ROWS, np.zeros((2, 4)))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_draws": 10**12}, "n_draws must be an integer from 16 to 16777216"),
        ({"n_draws": 3}, "n_draws must be an integer from 16"),
        ({"stop_below": float("nan")}, "stop_below must be a finite number"),
        ({"worth_share": 2}, "worth_share must be a number from 0 to 1"),
        ({"worth_share": float("nan")}, "worth_share must be a number from 0 to 1"),
        ({"loss": lambda answers: 1.0}, "loss must return one number per row"),
        ({"loss": lambda answers: answers}, "loss must return one number per row"),
    ],
)
def test_numbers_and_losses_that_make_no_sense_are_refused(wrong, sentence):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    machine = LogisticRegression().fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match=sentence):
        measure_next(machine, [[np.nan, np.nan, 0.3]], **wrong)


@pytest.mark.parametrize("upper", [1.0, 0.0])
def test_gains_of_a_limited_value_are_those_of_the_truncated_one(upper):
    """Against 4,000 quantiles of the truncated Gaussian; 7 nodes are within 3 % here."""
    rng = np.random.default_rng(0)
    full = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=200)
    X = np.where(rng.random(full.shape) < 0.2, np.nan, full)
    model = LogisticRegression(C=1.0).fit(X, full[:, 0] > 0)
    mean, S = model.density_.mean_, model.density_.covariance_
    centre = mean[0] + S[0, 1] / S[1, 1] * (0.3 - mean[1])
    deviation = np.sqrt(S[0, 0] - S[0, 1] ** 2 / S[1, 1])
    levels = (np.arange(4000) + 0.5) / 4000
    values = centre + deviation * ndtri(levels * ndtr((upper - centre) / deviation))
    chances = model.predict_proba(np.c_[values, np.full(4000, 0.3)])

    def entropy(p):
        return -(p * np.log(p)).sum(axis=-1)

    expected = entropy(chances.mean(axis=0)) - entropy(chances).mean()
    row = bounded(np.array([[np.nan, 0.3]]), upper=np.array([[upper, np.inf]]))
    found = measure_next(model, row).gain[0, 0]
    assert found == pytest.approx(expected, rel=0.03)
