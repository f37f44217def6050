"""What columns were worth on known rows, and how it enters the choice of the next measurement."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from absentia import (
    AcquisitionPolicy,
    KernelRidge,
    LogisticRegression,
    column_worth,
    measure_next,
)

pd = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


def example(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + 0.3 * X[:, 1] > 0
    return np.where(rng.random(X.shape) < 0.2, np.nan, X), y


@pytest.fixture(scope="module")
def machine():
    return LogisticRegression(C=10.0).fit(*example())


def test_worth_is_the_rise_of_the_log_loss(machine):
    X, y = example()
    found = column_worth(machine, X, y, random_state=3)
    rng = np.random.RandomState(3)

    def loss(rows):
        return -np.log(machine.predict_proba(rows)[np.arange(len(y)), y.astype(int)]).mean()

    for j in range(3):
        order = rng.permutation(len(X))
        shuffled = X.copy()
        shuffled[:, j] = X[order, j]
        assert found[j] == pytest.approx(max(loss(shuffled) - loss(X), 0.0), abs=1e-10)
    assert found[0] == found.max()


def test_frames_and_numbers():
    X, _ = example()
    target = np.nan_to_num(X) @ [2.0, 1.0, 0.0]
    ridge = KernelRidge(gamma=0.1).fit(X, target)
    worth = column_worth(ridge, X, target)
    assert worth.argmax() == 0
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = KernelRidge(gamma=0.1).fit(frame, target)
    np.testing.assert_allclose(column_worth(named, frame, target), worth, rtol=1e-6)
    with_polars = polars.from_pandas(frame)
    np.testing.assert_allclose(column_worth(named, with_polars, target), worth, rtol=1e-6)


def test_a_part_of_the_gain_is_worth(machine):
    row = np.array([[np.nan, np.nan, 0.1]])
    plain = measure_next(machine, row).gain[0]
    worth = [1.0, 4.0, 9.0]  # the largest is that of a column that was measured already
    for share in (0.0, 0.3, 1.0):
        found = measure_next(machine, row, worth=worth, worth_share=share).gain[0]
        unit = plain[:2].max()
        wanted = (1 - share) * plain[:2] + share * np.array([0.25, 1.0]) * unit
        np.testing.assert_allclose(found[:2], wanted, rtol=1e-12)
        assert np.isnan(found[2])
    by_name = measure_next(machine, row, worth={"x1": 4.0, "x0": 1.0}, worth_share=0.3)
    np.testing.assert_allclose(
        by_name.gain, measure_next(machine, row, worth=worth, worth_share=0.3).gain
    )
    nothing = measure_next(machine, row, worth=[0.0, 0.0, 1.0]).gain
    np.testing.assert_array_equal(nothing[0, :2], plain[:2])


def test_a_policy_with_all_of_the_share_follows_the_worth(machine):
    X, _ = example()
    policy = AcquisitionPolicy(machine, worth=[1.0, 2.0, 3.0], worth_share=1.0)
    trace = policy.run(np.full((5, 3), np.nan), np.nan_to_num(X[:5]))
    np.testing.assert_array_equal(trace.measured, [[2] * 5, [1] * 5, [0] * 5])


def test_bad_input(machine):
    X, y = example()
    row = np.full((1, 3), np.nan)
    with pytest.raises(ValueError, match=r"worth_share must be a number from 0 to 1, found 2"):
        measure_next(machine, row, worth=[1, 1, 1], worth_share=2)
    with pytest.raises(ValueError, match="worth must be one number per column, 3 of them"):
        measure_next(machine, row, worth=[1, 1])
    with pytest.raises(ValueError, match="worth must be finite and not negative"):
        measure_next(machine, row, worth=[1, -1, 1])
    with pytest.raises(ValueError, match="worth name the column 'z'"):
        measure_next(machine, row, worth={"z": 1.0})
    silent = SVC().fit(np.nan_to_num(X), y)
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        column_worth(silent, np.nan_to_num(X), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        column_worth(machine, X, y[:-1])
