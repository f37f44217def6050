"""What missing values could be, in the user's own columns: draws, trials, limits, lost columns."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import Beliefs, GaussianDensity, MixedDensity, bounded
from absentia.beliefs.column_trials import BeliefColumn, option_probabilities, trapezoidal
from absentia.beliefs.draws import DrawPoints, draw_rows
from absentia.densities.missing_values import MissingValues
from absentia.tables import Table
from absentia.tables.column_plan import ColumnPlan


def mixed_table(n=300, seed=0):
    """Return a category (5 or 7), a number that depends on it, and a second number."""
    rng = np.random.default_rng(seed)
    kind = np.where(rng.random(n) < 0.3, 5.0, 7.0)
    return np.column_stack([kind, rng.normal(4.0 * (kind == 7.0)), rng.normal(size=n)])


def test_draws_of_categories_have_their_probabilities():
    X = mixed_table()
    density = MixedDensity(2, categories=[0], random_state=0).fit(X)
    unknowns = MissingValues.of(density, ["kind", "a", "b"], 3)
    rows = Table(np.array([[np.nan, 2.0, np.nan], [5.0, np.nan, 1.0]]), columns_checked=True)
    beliefs = unknowns.believe(rows)
    points = DrawPoints.sobol(4096, unknowns.n_drawn, seed=0)
    draws = unknowns.completed(rows, draw_rows(beliefs, points))
    assert draws.shape == (2, 4096, 3)
    assert set(np.unique(draws[:, :, 0])) == {5.0, 7.0}
    np.testing.assert_array_equal(draws[0, :, 1], 2.0)
    np.testing.assert_array_equal(draws[1, :, 0], 5.0)
    np.testing.assert_array_equal(draws[1, :, 2], 1.0)
    # 4096 quasi-random points: an error of a few thousandths.
    share = (draws[0, :, 0] == 7.0).mean()
    assert share == pytest.approx(beliefs.probabilities(0)[0, 1], abs=5e-3)
    assert draws[1, :, 1].mean() == pytest.approx(beliefs.mean()[1, 0], abs=1e-2)


def test_a_table_of_categories_alone():
    X = mixed_table()[:, :1]
    density = MixedDensity(1, categories=[0], random_state=0).fit(X)
    unknowns = MissingValues.of(density, ["kind"], 1)
    rows = Table(np.array([[np.nan]]), columns_checked=True)
    points = DrawPoints.sobol(1024, unknowns.n_drawn, seed=0)
    draws = unknowns.completed(rows, draw_rows(unknowns.believe(rows), points))
    assert (draws == 7.0).mean() == pytest.approx((X == 7.0).mean(), abs=5e-3)
    trials = unknowns.trials(rows, np.ones((1, 1), dtype=bool), trapezoidal(0))
    np.testing.assert_array_equal(trials.table.array.ravel(), [5.0, 7.0])
    assert trials.weights[1] == pytest.approx((X == 7.0).mean(), abs=1e-2)


def test_trials_of_numbers_and_categories_side_by_side():
    X = mixed_table()
    density = MixedDensity(2, categories=[0], random_state=0).fit(X)
    unknowns = MissingValues.of(density, ["kind", "a", "b"], 3)
    rows = Table(np.array([[np.nan, np.nan, 0.5]]), columns_checked=True)
    trials = unknowns.trials(rows, unknowns.missing(rows.array), trapezoidal(0))
    np.testing.assert_array_equal(trials.counts, [2, 22])
    np.testing.assert_allclose(trials.expected(np.ones(24)), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(np.isnan(trials.table.array[:2]), [[False, True, False]] * 2)
    np.testing.assert_array_equal(np.isnan(trials.table.array[2:]), [[True, False, False]] * 22)
    mean = trials.expected(np.nan_to_num(trials.table.array[:, 1]))[1]
    assert mean == pytest.approx(unknowns.believe(rows).mean()[0, 0], rel=1e-10)


def test_draws_and_trials_keep_within_limits():
    rng = np.random.default_rng(0)
    density = GaussianDensity().fit(rng.normal(size=(200, 2)))
    unknowns = MissingValues.of(density, ["a", "b"], 2)
    rows = bounded(np.array([[np.nan, np.nan]]), [[1.0, -np.inf]], [[2.0, np.inf]])
    draws = unknowns.completed(
        rows, draw_rows(unknowns.believe(rows), DrawPoints.sobol(256, unknowns.n_drawn, 0))
    )
    assert draws[:, :, 0].min() >= 1.0
    assert draws[:, :, 0].max() <= 2.0
    assert draws[:, :, 1].std() > 0.8
    trials = unknowns.trials(rows, np.ones((1, 2), dtype=bool), trapezoidal(0))
    tried = trials.table.array[:11, 0]
    assert tried.min() >= 1.0
    assert tried.max() <= 2.0
    # The value that is tried has no limits any more; the other trial rows keep theirs.
    assert np.isinf(trials.table.lower[:11]).all()
    np.testing.assert_array_equal(trials.table.lower[11:, 0], 1.0)


def test_a_column_that_the_density_lost_stays_missing():
    X = np.column_stack([np.random.default_rng(0).normal(size=50), np.full(50, np.nan)])
    with pytest.warns(UserWarning, match="missing in every training row"):
        density = GaussianDensity().fit(X)
    unknowns = MissingValues.of(density, ["a", "lost"], 2)
    rows = Table(np.array([[np.nan, np.nan], [1.0, np.nan]]), columns_checked=True)
    np.testing.assert_array_equal(unknowns.incomplete(rows.array), [True, False])
    np.testing.assert_array_equal(unknowns.missing(rows.array), [[True, False], [False, False]])
    draws = unknowns.completed(
        rows, draw_rows(unknowns.believe(rows), DrawPoints.sobol(8, unknowns.n_drawn, 0))
    )
    assert np.isnan(draws[:, :, 1]).all()
    assert np.isfinite(draws[:, :, 0]).all()
    nothing = unknowns.trials(rows, np.zeros((2, 2), dtype=bool), trapezoidal(0))
    assert len(nothing.table) == 0


def test_probabilities_of_indicators_are_cut_off_and_add_up():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    ward = rng.choice(["red", "green", "blue"], 300, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame({"size": rng.normal(3.0 * (ward == "red")), "ward": ward})
    plan = ColumnPlan.of(frame, codes=False)
    density = GaussianDensity().fit(plan.read(frame))
    unknowns = MissingValues.of(density, plan.labels, len(plan.labels), plan)
    rows = plan.read(pd.DataFrame({"size": [0.0, 30.0, None], "ward": [None] * 3}))
    found = option_probabilities(unknowns.believe(rows), unknowns.columns[1])
    assert found.shape == (3, 3)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    shares = [(ward == word).mean() for word in plan.readings[1].categories]
    np.testing.assert_allclose(found[2], shares, rtol=1e-10)
    assert found[1].max() == pytest.approx(1.0)  # far out, the others are cut off at zero


def test_probabilities_of_one_indicator_in_other_units():
    """Two categories at -1 and 3 of a standardised column: a mean of 0 is a quarter of the way."""
    column = BeliefColumn("ward", (0,), (0,), None, np.array([[-1.0], [3.0]]))
    beliefs = Beliefs.from_moments([[0.0], [3.5], [-2.0]], variances=1.0)
    expected = [[0.75, 0.25], [0.0, 1.0], [1.0, 0.0]]
    np.testing.assert_allclose(option_probabilities(beliefs, column), expected, rtol=1e-12)


def test_indicators_below_all_categories_say_nothing():
    """Means that leave no category any probability: all have the same."""
    options = np.eye(3)
    column = BeliefColumn("ward", (0, 1, 2), (0, 1, 2), None, options)
    beliefs = Beliefs.from_moments([[-1.0, -2.0, -0.5], [0.5, -1.0, 1.5]], variances=1.0)
    expected = [[1 / 3, 1 / 3, 1 / 3], [0.25, 0.0, 0.75]]
    np.testing.assert_allclose(option_probabilities(beliefs, column), expected, rtol=1e-12)
