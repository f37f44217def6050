"""Tables at the edge: noise, few rows of a class, many columns, many rows, no time."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from absentia import AutoClassifier, AutoRegressor

QUICK = {"members": ("linear", "beliefs", "boosting"), "hidden": (), "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)


def test_a_fold_whose_rows_have_a_class_of_their_own():
    groups = np.arange(60) // 12
    y = np.where(groups == 4, 1, 0)
    model = AutoClassifier(**QUICK).fit(HOLES, y, groups=groups)
    assert np.isfinite(model.predict_proba(HOLES)).all()
    assert model.score_ <= 1.0


def test_groups_of_one_row_are_as_no_groups():
    model = AutoRegressor(**QUICK | {"members": ("linear",)}).fit(HOLES, X[:, 0])
    alone = AutoRegressor(**QUICK | {"members": ("linear",)})
    alone.fit(HOLES, X[:, 0], groups=np.arange(60))
    assert np.isfinite(alone.out_of_fold_).all()
    assert abs(alone.score_ - model.score_) < 0.2


def test_more_columns_than_rows():
    wide = RNG.normal(size=(24, 40))
    wide[RNG.random(wide.shape) < 0.1] = np.nan
    model = AutoClassifier(**QUICK).fit(wide, np.arange(24) % 2)
    assert np.isfinite(model.predict_proba(wide)).all()


def test_a_constant_target():
    model = AutoRegressor(**QUICK).fit(HOLES, np.full(60, 3.5))
    np.testing.assert_allclose(model.predict(HOLES), 3.5)
    with pytest.raises(ValueError, match="class"):
        AutoClassifier(**QUICK).fit(HOLES, np.zeros(60))


def test_no_weight_at_all():
    with pytest.raises(ValueError, match="weight"):
        AutoClassifier(**QUICK).fit(HOLES, Y, sample_weight=np.zeros(60))


def test_a_tenth_of_a_second_returns_a_model():
    many = np.tile(HOLES, (200, 1))
    model = AutoClassifier(time_budget=0.1, random_state=0).fit(many, np.tile(Y, 200))
    assert model.score(many, np.tile(Y, 200)) > 0.8
    assert "left out, the time was up" in model.members_.remarks


def test_dask_tables_get_a_sentence():
    array = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="LargeScale"):
        AutoClassifier().fit(array.from_array(HOLES, chunks=20), Y)


@pytest.mark.slow
def test_memory_grows_with_the_rows_not_with_their_square():
    n = 12_000
    rows = RNG.normal(size=(n, 4))
    y = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    rows[RNG.random(rows.shape) < 0.2] = np.nan
    tracemalloc.start()
    AutoClassifier(members=("linear", "beliefs"), hidden=(0.5,), n_splits=2, random_state=0).fit(
        rows, y
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * n**2 / 3  # a Gram matrix has 1.2 GB, 1024 features a twelfth of that


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 100, 400])
def test_scores_on_noise_are_those_of_new_rows(n):
    rng = np.random.default_rng(n)
    gaps = []
    for seed in range(2400 // n if n < 400 else 6):
        rows = rng.normal(size=(n + 500, 3))
        rows[rng.random(rows.shape) < 0.2] = np.nan
        y = rng.normal(size=n + 500)
        quick = QUICK | {"members": ("linear", "beliefs"), "n_repeats": 1, "random_state": seed}
        model = AutoRegressor(**quick).fit(rows[:n], y[:n])
        error = np.mean((model.predict(rows[n:]) - y[n:]) ** 2)
        # The error of the mean has a known expectation, which makes the difference less noisy.
        mean = y[:n].mean()
        error -= np.mean((y[n:] - mean) ** 2) - (1 + mean**2)
        gaps.append(model.score_ - (1 - error / np.var(y[:n])))
    assert abs(np.mean(gaps)) < 2 * np.std(gaps) / np.sqrt(len(gaps))


def test_a_budget_holds_within_a_quarter():
    many = np.tile(HOLES, (50, 1)) + 0.01 * RNG.normal(size=(3000, 3))
    started = time.process_time()
    AutoClassifier(members=("linear", "boosting", "forest"), time_budget=4.0).fit(
        many, np.tile(Y, 50)
    )
    # Processor time of one thread: a busy machine makes the wall clock slower, not this.
    assert time.process_time() - started < 5.0
