"""Limits of values ("<0.5") in the automatic machines: learned from, hidden, drawn, saved."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from absentia import AutoClassifier, AutoRegressor, GaussianDensity, bounded
from absentia.automatic.committee import hide_cells
from absentia.automatic.folds import Settings
from absentia.automatic.member_specs import SPECS
from absentia.automatic.member_tuning import LearningRows
from absentia.densities.fit_density import filled_within_limits
from absentia.persistence import load, save
from absentia.tables.known_limits import KeepsLimits
from absentia.tables.table import Table

RNG = np.random.default_rng(0)
VALUES = RNG.multivariate_normal([0, 0, 0], [[1, 0.3, 0], [0.3, 1, 0], [0, 0, 1]], size=160)
#: Half of the first column lies below the limit, another part is missing for no reason at all.
LOST = RNG.random(160) < 0.3
BELOW = (VALUES[:, 0] < 0) & ~LOST
X = np.where((BELOW | LOST)[:, None] & (np.arange(3) == 0), np.nan, VALUES)
UPPER = np.where(BELOW[:, None] & (np.arange(3) == 0), 0.0, np.inf)
TABLE = bounded(X, upper=UPPER)
Y = VALUES[:, 0] > 0
#: Half of the fits of the defaults.
QUICK = {"n_repeats": 1, "hidden": (0.5,), "random_state": 0}


@pytest.mark.parametrize("member", ["beliefs", "linear", "forest", "indicators"])
def test_members_learn_from_limits(member):
    """What is below the limit is of one class, what is only missing of either."""
    with_limits = AutoClassifier(members=[member], **QUICK).fit(TABLE, Y)
    without = AutoClassifier(members=[member], **QUICK).fit(X, Y)
    assert with_limits.log_loss_ < 0.8 * without.log_loss_
    found = with_limits.predict_proba(TABLE)
    assert (found[BELOW, 1] < 0.5).mean() > 0.95
    # The same rows as plain holes are far less certain.
    assert found[BELOW, 1].mean() < with_limits.predict_proba(X)[BELOW, 1].mean() - 0.1


def test_frames_with_limits_as_text(tmp_path):
    frame = pd.DataFrame(VALUES, columns=["a", "b", "c"]).astype(object)
    frame["a"] = np.where(BELOW, "<0", np.where(LOST, "", VALUES[:, 0].round(6).astype(str)))
    frame["b"] = frame["b"].astype(float)
    frame["c"] = frame["c"].astype(float)
    machine = AutoClassifier(members=["forest", "beliefs"], **QUICK).fit(frame, Y)
    plain = AutoClassifier(members=["forest", "beliefs"], **QUICK).fit(frame.replace("<0", ""), Y)
    assert machine.log_loss_ < 0.8 * plain.log_loss_
    save(machine, tmp_path / "model")
    again = load(tmp_path / "model").predict_proba(frame)
    np.testing.assert_array_equal(again, machine.predict_proba(frame))
    doubt = machine.predict_uncertainty(frame[:30])
    assert np.isfinite(doubt.total).all()
    # Of a value with a limit less is unknown than of a missing one.
    limited, lost = np.flatnonzero(BELOW[:30]), np.flatnonzero(LOST[:30])
    assert doubt.missing[limited].mean() < doubt.missing[lost].mean()


def test_regressors_answer_and_have_intervals():
    y = VALUES[:, 0] + 0.1 * VALUES[:, 1]
    machine = AutoRegressor(members=["boosting", "beliefs"], random_state=0).fit(TABLE, y)
    assert (machine.predict(TABLE)[BELOW] < 0.2).mean() > 0.9
    intervals = machine.predict_interval(TABLE)
    assert np.isfinite(intervals).all()


def test_hidden_cells_lose_their_limits():
    hidden = hide_cells(TABLE, 0.6, seed=0)
    assert isinstance(hidden, Table)
    gone = TABLE.limited & ~hidden.limited
    assert gone.any()
    assert hidden.limited.any()
    assert hidden.unknown[gone].all()
    assert not np.isfinite(hidden.upper[gone]).any()
    # A limited value is no hole: it is hidden as often as an observed one.
    shares = [(hidden.unknown & ~TABLE.unknown)[:, 0][part].mean() for part in (BELOW, ~LOST)]
    assert abs(shares[0] - shares[1]) < 0.15
    # Without limits the same cells are hidden as in an array.
    plain = hide_cells(X, 0.6, seed=0)
    np.testing.assert_array_equal(plain, hide_cells(Table(X), 0.6, seed=0).array)


def test_means_within_limits():
    density = GaussianDensity().fit(TABLE)
    filled = filled_within_limits(density, TABLE)
    assert filled.lower is None
    np.testing.assert_array_equal(filled.mask, TABLE.unknown)
    means = density.condition(TABLE).mean()
    np.testing.assert_allclose(filled.array[BELOW, 0], means[BELOW, 0], rtol=1e-12)
    assert (filled.array[BELOW, 0] <= 0).all()


def test_means_keep_within_limits_where_a_density_ignores_them():
    from absentia import LowRankDensity

    with pytest.warns(UserWarning, match="limit"):
        density = LowRankDensity(1).fit(TABLE)
    filled = filled_within_limits(density, TABLE)
    assert (filled.array[BELOW, 0] <= 0).all()


@pytest.mark.parametrize(
    "transformer",
    [StandardScaler(), QuantileTransformer(n_quantiles=20, output_distribution="normal")],
    ids=lambda step: type(step).__name__,
)
def test_limits_are_transformed_as_values_are(transformer):
    step = KeepsLimits(transformer).fit(TABLE)
    found = step.transform(TABLE)
    expected = step.transformer_.transform(np.where(BELOW[:, None], 0.0, VALUES))[:, 0]
    np.testing.assert_allclose(found.upper[BELOW, 0], expected[BELOW])
    assert np.isneginf(found.lower).all()
    assert (found.array[~BELOW & ~LOST, 0] >= found.upper[BELOW, 0].max()).all()
    plain = KeepsLimits(transformer).fit(X)
    np.testing.assert_array_equal(plain.transform(X), transformer.fit(X).transform(X))


def test_which_members_take_limits():
    rows = LearningRows(TABLE, Y.astype(int), None, 2)
    settings = Settings(n_jobs=1)
    packages = ("catboost", "lightgbm")
    taking = {
        name: spec.plan(rows, settings).takes_limits
        for name, spec in SPECS.items()
        if name not in packages
    }
    on_beliefs = {"linear", "gaussian-process"} | {n for n in SPECS if n.startswith("beliefs")}
    assert {name for name, takes in taking.items() if takes} == on_beliefs
