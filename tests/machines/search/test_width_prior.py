"""The deviation of the prior on widths, chosen by refitting them in folds."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import SVC, GaussianProcessRegressor, KernelRidge, LogisticRegression
from absentia.machines.search import widths
from absentia.tables import open_memory


def table(n=80, d=6, relevant=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, :relevant]).sum(axis=1) + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def test_one_relevant_column_asks_for_a_loose_prior():
    X, y = table(n=60, d=4)
    chosen = widths.choose_width_prior(KernelRidge(gamma="loo-ard"), open_memory(X), y)
    assert chosen in (1.0, 3.0)


def test_the_choice_is_made_by_rows_left_out(monkeypatch):
    """Written out: five folds, one machine fitted anew in each."""
    X, y = table(n=40, d=3)
    monkeypatch.setattr(widths, "WIDTH_PRIORS", (0.3, 1.0))
    losses = []
    shuffled = np.random.RandomState(0).permutation(40)
    folds = np.array_split(shuffled, 5)
    for deviation in (0.3, 1.0):
        errors = []
        for fold in folds:
            train = np.setdiff1d(np.arange(40), fold)
            machine = KernelRidge(gamma="loo-ard", width_prior=deviation)
            machine.fit(X[train], y[train])
            errors.extend((machine.predict(X[fold]) - y[fold]) ** 2)
        losses.append(errors)
    gains = np.subtract(*losses)
    clear = gains.mean() > gains.std() / np.sqrt(40)
    chosen = widths.choose_width_prior(KernelRidge(gamma="loo-ard"), open_memory(X), y)
    assert chosen == (1.0 if clear else 0.3)


def test_few_rows_that_cannot_tell_keep_the_default():
    losses = np.tile(np.random.default_rng(0).exponential(size=30), (4, 1))
    losses[[0, 2]] += 1
    losses[3] += np.where(np.arange(30) % 2, 0.9, -1.1)  # better by 0.1, plus or minus 0.18
    assert widths.recommended(losses, 1) == 1
    losses[3] = losses[1] - 0.1
    assert widths.recommended(losses, 1) == 3
    weights = np.ones(30)
    assert widths.recommended(losses, 1, weights) == 3


@pytest.mark.parametrize("make", [SVC, LogisticRegression])
def test_classifiers_choose_as_well(make, monkeypatch):
    monkeypatch.setattr(widths, "WIDTH_PRIORS", (0.3, 1.0))
    X, y = table(n=40, d=3)
    machine = make(gamma="loo-ard", width_prior="cv").fit(X, np.where(y > 0, "up", "down"))
    assert set(machine.predict(X)) == {"up", "down"}


def test_gaussian_processes_say_what_was_chosen(monkeypatch):
    monkeypatch.setattr(widths, "WIDTH_PRIORS", (0.3, 1.0))
    X, y = table(n=50, d=4)
    machine = GaussianProcessRegressor(gamma="ard", width_prior="cv").fit(X, y)
    assert machine.width_prior_ == 1.0


def test_a_class_of_one_row_cannot_be_left_out():
    X, _ = table(n=10)
    labels = np.array(["a"] * 9 + ["b"])
    with pytest.raises(ValueError, match="at least two rows of each class"):
        LogisticRegression(gamma="loo-ard", width_prior="cv").fit(X, labels)
