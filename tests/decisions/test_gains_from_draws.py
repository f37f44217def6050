"""Gains of all columns from one set of draws: against closed forms, dense integration, pairs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.tree import DecisionTreeRegressor

from absentia import (
    AcquisitionPolicy,
    ConformalRegressor,
    GaussianDensity,
    KernelRidge,
    LogisticRegression,
    MarginalClassifier,
    MarginalRegressor,
    measure_next,
)
from absentia.decisions.expected_gains import _expected_loss, _gains_of_pairs, _groups
from absentia.machines.uncertainty import entropy
from oracles import acquisition as oracle


def example(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] += 0.5 * X[:, 0]
    return X, 2 * X[:, 0] + X[:, 1] + 0.5 * X[:, 2]


ROWS = np.array([[np.nan] * 4, [0.5, np.nan, np.nan, 0.1], [1.0, 1.0, 0.2, 0.3]])


def test_the_variance_that_a_value_explains_in_closed_form():
    X, signal = example()
    linear = FrozenEstimator(LinearRegression().fit(X, signal))
    model = MarginalRegressor(linear, density="gaussian", random_state=0).fit(X)
    found = measure_next(model, ROWS, n_draws=4096)
    w, S = np.array([2.0, 1.0, 0.5, 0.0]), model.density_.covariance_
    for row, given in enumerate(ROWS[:2]):
        seen, left = np.flatnonzero(~np.isnan(given)), np.flatnonzero(np.isnan(given))
        C = S[np.ix_(left, left)]
        if len(seen):
            C = C - S[np.ix_(left, seen)] @ np.linalg.solve(S[np.ix_(seen, seen)], S[seen][:, left])
        explained = (C @ w[left]) ** 2 / np.diag(C)
        total = w[left] @ C @ w[left]
        # Eight groups of a normal variable keep 0.97 of its variance.
        np.testing.assert_allclose(found.gain[row, left], explained, atol=0.05 * total)
        np.testing.assert_allclose(found.loss_before[row], total, rtol=0.01)
    assert np.isnan(found.gain[2]).all()
    np.testing.assert_allclose(
        found.spread_after[:2] ** 2, found.loss_before[:2, None] - found.gain[:2]
    )


@pytest.mark.parametrize(("loss", "plain"), [("log", oracle.entropy), ("brier", oracle.brier)])
def test_gains_are_those_of_dense_integration(loss, plain):
    X, signal = example()
    model = MarginalClassifier(
        FrozenEstimator(PlainLogistic().fit(X, np.digitize(signal, [-1, 1]))),
        density=GaussianDensity(),
        n_draws=256,
        random_state=0,
    ).fit(X)
    density = model.density_
    for n_draws, tolerance in ((512, 0.03), (8192, 0.02)):  # groups lose what differs within them
        found = measure_next(model, ROWS[:2], loss=loss, n_draws=n_draws).gain
        for row, j in zip(*np.nonzero(np.isnan(ROWS[:2])), strict=True):
            wanted, _ = oracle.gain(
                model.predict_proba,
                plain,
                [1.0],
                density.mean_[None],
                density.covariance_[None],
                ROWS[row],
                j,
                n_grid=201,
            )
            assert found[row, j] == pytest.approx(wanted, abs=tolerance)


def test_a_column_that_says_nothing_gains_nothing():
    X, signal = example()
    model = MarginalClassifier(FrozenEstimator(PlainLogistic().fit(X, signal > 0)), random_state=0)
    model.fit(X)
    found = measure_next(model, ROWS[:1], n_draws=512)
    assert found.gain[0, 3] < 0.004
    assert found.gain[0, 0] > 0.3
    again = measure_next(model, ROWS[[1, 0]], n_draws=512)  # whatever the other rows are
    np.testing.assert_allclose(again.gain[1], found.gain[0])
    known = np.array([[3.0, 1.0, np.nan, np.nan]])
    assert measure_next(model, known, n_draws=512, stop_below=0.01).best == ["stop"]


def test_pairs_come_from_the_same_draws():
    square = np.random.default_rng(3).normal(size=(400, 3))
    machine = LogisticRegression(C=10.0, kernel="expected_rbf", gamma=0.3)
    machine.fit(square, square[:, 0] * square[:, 2] > 0)
    nothing = np.full((1, 3), np.nan)
    near = measure_next(machine, nothing, n_draws=512)
    assert near.gain.max() < 0.02
    for lookahead in (2, "auto"):
        far = measure_next(machine, nothing, n_draws=512, lookahead=lookahead)
        assert far.gain[0, [0, 2]].min() > 0.1 > far.gain[0, 1]
        np.testing.assert_array_equal(far.spread_after, near.spread_after)
    # Beyond the budget there are no pairs; a dear second step is worth less.
    poor = measure_next(machine, nothing, n_draws=512, lookahead=2, budget=1.5)
    np.testing.assert_allclose(poor.gain, near.gain, atol=1e-12)
    dear = measure_next(machine, nothing, n_draws=512, lookahead=2, costs=[1.0, 1.0, 9.0])
    assert dear.gain[0, 0] == pytest.approx(0.2 * far.gain[0, 0], rel=0.1)
    policy = AcquisitionPolicy(machine, n_draws=256, lookahead="auto", max_steps=2)
    trace = policy.run(np.full((10, 3), np.nan), square[:10])
    np.testing.assert_array_equal(np.sort(trace.measured, axis=0), [[0] * 10, [2] * 10])


@pytest.mark.parametrize("density", ["mixed", "gaussian"])
def test_words_are_groups_of_their_own(density):
    rng = np.random.default_rng(0)
    ward = rng.choice(["red", "green", "blue"], size=300, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame({"pulse": rng.normal(size=300), "ward": ward})
    machine = LogisticRegression(C=10.0, density=density)
    machine.fit(frame, 0.5 * frame["pulse"] + 4 * (ward == "green") > 1)
    nothing = pd.DataFrame({"pulse": [np.nan], "ward": [None]}, dtype=object)
    found = measure_next(machine, nothing, n_draws=512)
    assert found.best == ["ward"]
    assert found.gain[0, 0] == pytest.approx(measure_next(machine, nothing).gain[0, 0], abs=0.1)


def test_regressors_without_a_spread_and_bad_input():
    X, signal = example()
    ridge = KernelRidge(gamma=0.05).fit(X, signal)
    assert measure_next(ridge, ROWS[:1], n_draws=256).best == ["x0"]
    with pytest.raises(ValueError, match="n_draws must be an integer from 16 to 16777216, found 8"):
        measure_next(ridge, ROWS[:1], n_draws=8)
    promise = ConformalRegressor(FrozenEstimator(ridge)).fit(*example(seed=1))
    with pytest.raises(ValueError, match="leave both out with loss='width'"):
        measure_next(promise, ROWS[:1], loss="width", n_draws=64)


def test_what_groups_differ_by_chance_is_subtracted():
    """Of 16 draws in eight groups, pairs differ whatever their column says."""
    X, signal = example()
    machine = LogisticRegression(C=5.0).fit(X, signal > 0)
    nothing = np.full((1, 4), np.nan)
    found = measure_next(machine, nothing, n_draws=16)
    # Uncorrected, the last column gains a quarter of what the first does.
    assert found.gain[0, 3] < 0.1 * found.gain[0, 0]


@pytest.mark.parametrize("classifies", [True, False])
def test_the_loss_of_groups_is_that_of_their_means(classifies):
    """Against a loop over rows and groups, some of which have one draw or none."""
    rng = np.random.default_rng(0)
    answers = rng.dirichlet([1.0, 2.0], size=(3, 9))
    groups = np.array([[0, 0, 1, 1, 1, 3, 3, 3, 3]] * 2 + [[0, 1, 2, 3, 3, 3, 3, 3, 3]])
    loss = entropy if classifies else (lambda found: found[:, 1])
    setting = SimpleNamespace(loss=loss, model=SimpleNamespace(classifies=classifies))
    expected = []
    for of_row, group in zip(answers, groups, strict=True):
        total = 0.0
        for g in np.unique(group):
            mean = of_row[group == g].mean(axis=0)
            if not classifies:
                mean[1] += of_row[group == g, 0].var()
            total += (group == g).mean() * loss(mean[None])[0]
        expected.append(total)
    np.testing.assert_allclose(_expected_loss(setting, answers, groups), expected, rtol=1e-12)


def test_pairs_are_those_of_the_slow_formula():
    """Each column gets what the other gains beyond the best one now, at the average cost."""
    rng = np.random.default_rng(0)
    groups = {j: rng.integers(0, j + 2, size=(5, 40)) for j in range(3)}
    one = rng.random((5, 3))
    one[1, 2] = one[4, 0] = np.nan  # no candidates

    def gain(cells):  # any number that depends on which draws are together
        return np.array([0.1 * len(np.unique(of_row)) for of_row in cells])

    costs, budget = np.array([1.0, 3.0, 0.5]), 3.9
    expected = one.copy()
    for row in range(5):
        for j, k in ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)):
            if costs[j] + costs[k] > budget or np.isnan(one[row, [j, k]]).any():
                continue
            both = 0.1 * len(set(zip(groups[j][row], groups[k][row], strict=True)))
            others = np.nanmax([0.0, *np.delete(one[row], j)])
            more = max(both - one[row, j] - others, 0.0)
            worth = one[row, j] + 2 * costs[j] / (costs[j] + costs[k]) * more
            expected[row, j] = max(expected[row, j], worth)
    setting, drawn = SimpleNamespace(costs=costs, budget=budget), SimpleNamespace(gain=gain)
    found = _gains_of_pairs(setting, drawn, one, groups)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.nanmax(found - one) > 0.1
    # A pair may cost the budget, and no more.
    setting.budget = 1.5
    assert (_gains_of_pairs(setting, drawn, one, groups) > one).any()
    setting.budget = 1.5 - 1e-9
    np.testing.assert_array_equal(_gains_of_pairs(setting, drawn, one, groups), one)
    # Shares are those of the costs, in any currency.
    setting.budget, cheap = None, SimpleNamespace(costs=1e-3 * costs, budget=None)
    of_cheap = _gains_of_pairs(cheap, drawn, one, groups)
    np.testing.assert_allclose(_gains_of_pairs(setting, drawn, one, groups), of_cheap, rtol=1e-12)
    # Two that cost nothing share evenly.
    free = SimpleNamespace(costs=np.zeros(3), budget=0.0)
    alike = SimpleNamespace(costs=np.ones(3), budget=None)
    of_both = [_gains_of_pairs(of, drawn, one, groups) for of in (free, alike)]
    np.testing.assert_allclose(*of_both, rtol=1e-12)


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_two_missing_values_are_a_pair_where_one_gains_little(unit):
    """Where one step gains more than a tenth, "auto" stays with it, in any unit."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    nothing = np.full((1, 2), np.nan)
    for signal, alone in ((X[:, 0] + X[:, 0] * X[:, 1], True), (X[:, 0] * X[:, 1], False)):
        tree = DecisionTreeRegressor(random_state=0).fit(X, unit * signal)
        model = MarginalRegressor(FrozenEstimator(tree), density="gaussian", random_state=0).fit(X)
        one, two, auto = (
            measure_next(model, nothing, n_draws=256, lookahead=k).gain[0] for k in (1, 2, "auto")
        )
        assert two.sum() > 1.1 * one.sum()
        np.testing.assert_array_equal(auto, one if alone else two)


def test_draws_of_a_category_belong_to_the_nearest():
    options = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    column = SimpleNamespace(places=(1, 2, 3), options=options)
    which = np.random.default_rng(0).integers(0, 3, size=(5, 8))
    near = options[which] + 0.1 * np.random.default_rng(1).normal(size=(5, 8, 3))
    complete = np.concatenate([np.full((5, 8, 1), 9.0), near], axis=2)
    np.testing.assert_array_equal(_groups(complete, column, 4), which)
