"""The specs of members, and members on rows that miss what no training row misses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from absentia import (
    AutoClassifier,
    AutoRegressor,
    GaussianDensity,
    LargeScaleLogisticRegression,
    load,
    save,
)
from absentia.automatic.assembly import try_member
from absentia.automatic.committee import hide_cells
from absentia.automatic.folds import Folds, Settings, density_for
from absentia.automatic.member_specs import SPECS, MemberSpec, plan_members
from absentia.automatic.member_tuning import EstimatorPlan, LearningRows

SETTINGS = Settings(["beliefs-mask"], n_splits=2, n_jobs=1)


def wide_table(n, seed):
    """Rows of many columns, made of few factors; holes in the last three tell of the class."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, 4))
    loadings = np.random.default_rng(99).normal(size=(4, 80))
    X = factors @ loadings + rng.normal(size=(n, 80))
    y = (factors[:, 0] > 0.4).astype(int) + (factors[:, 1] > 0.5)
    X[:, -3:][rng.random((n, 3)) < np.array([0.1, 0.4, 0.9])[y, None]] = np.nan
    return (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0), y


@pytest.fixture(scope="module")
def trained():
    X, y = wide_table(180, 0)
    rows = LearningRows(X, y, None, 3)
    (plan,) = plan_members(rows, SETTINGS)
    return rows, try_member(plan, Folds(rows, SETTINGS)).fitted


def test_columns_that_no_row_missed_do_not_make_new_rows_unlike_all_others(trained):
    rows, member = trained
    X, y = wide_table(300, 1)
    shares = np.bincount(rows.y) / len(rows.y)
    guess = log_loss(y, np.tile(shares, (len(y), 1)))
    as_they_are = log_loss(y, member.answer(X))
    hidden = log_loss(y, member.answer(hide_cells(X, 0.6, 0)))
    assert as_they_are < hidden < 0.8 * guess


def test_only_columns_that_some_rows_miss_have_a_weight(trained):
    _, member = trained
    weight = member.model[-1].mask_weight
    assert (weight[:-3] == 0).all()
    assert (weight[-3:] > 0).all()


def test_one_weight_where_every_column_has_holes():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 3)) < 0.3, np.nan, rng.normal(size=(60, 3)))
    rows = LearningRows(X, rng.integers(2, size=60), None, 2)
    (plan,) = plan_members(rows, SETTINGS)
    assert plan.masks == [0.02, 0.1, 0.5]


def test_many_rows_take_the_weights_to_fourier_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random(400) < 0.3, 1] = np.nan
    rows = LearningRows(X, (X[:, 0] > 0).astype(int), None, 2)
    (plan,) = plan_members(rows, SETTINGS)
    member = try_member(replace(plan, most_kernel_rows=399), Folds(rows, SETTINGS)).fitted
    machine = member.model[-1]
    assert isinstance(machine, LargeScaleLogisticRegression)
    assert machine.mask_weight[1] in (0.02, 0.1, 0.5)
    assert not machine.mask_weight[[0, 2]].any()
    hidden = hide_cells(X, 0.5, 0)
    assert log_loss(rows.y, member.answer(hidden)) < np.log(2)


def test_a_machine_with_such_weights_can_be_saved(tmp_path):
    X, y = wide_table(90, 2)
    machine = AutoClassifier(members=["beliefs-mask"], n_repeats=1, random_state=0).fit(X, y)
    save(machine, tmp_path / "machine.absentia")
    again = load(tmp_path / "machine.absentia")
    np.testing.assert_array_equal(again.predict_proba(X[:5]), machine.predict_proba(X[:5]))


@pytest.mark.parametrize(("n_columns", "tol"), [(100, None), (101, 1e-2)])
def test_the_density_of_a_wide_table_is_fitted_to_fewer_digits(n_columns, tol):
    density = density_for(n_columns, "gaussian")
    assert density == "gaussian" if tol is None else density.tol == tol
    own = GaussianDensity(tol=1e-7)
    assert density_for(n_columns, own) is own


def test_a_member_is_one_spec(monkeypatch):
    def median(rows, settings):
        model = make_pipeline(SimpleImputer(strategy="median"), SGDRegressor(random_state=0))
        return EstimatorPlan(model, {"sgdregressor__alpha": (1e-4, 1e-2)})

    spec = MemberSpec("median", "linear model on medians", median)
    monkeypatch.setitem(SPECS, "median", spec)
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 3)) < 0.2, np.nan, rng.normal(size=(80, 3)))
    y = np.nan_to_num(X[:, 0]) + 0.1 * rng.normal(size=80)
    model = AutoRegressor(members=["median", "linear"], n_repeats=1, random_state=0).fit(X, y)
    assert model.members_.names == ("median", "linear")
    assert model.members_.descriptions[0] == "linear model on medians"
    assert (model.members_.scores > 0.5).all()


def test_default_members_of_complete_rows():
    rows = LearningRows(np.eye(30), np.arange(30) % 2, None, 2)
    names = [plan.name for plan in plan_members(rows, Settings())]
    on_beliefs = ["beliefs-scores", "beliefs-mixture"]
    assert names == ["linear", "boosting", "beliefs", "forest", "extra-trees", *on_beliefs]
