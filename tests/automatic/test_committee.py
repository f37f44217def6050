"""How much more a row misses than training rows did."""

from __future__ import annotations

import numpy as np

from absentia.automatic.committee import MissingNorm, hide_cells

RNG = np.random.default_rng(0)


def test_training_rows_are_nothing_new_but_for_a_few():
    mask = RNG.random((400, 8)) < 0.3
    assert (MissingNorm.of(mask).excess(mask) > 0).mean() <= 0.05


def test_a_column_that_was_never_missing_is_new_however_little_it_is():
    mask = RNG.random((400, 8)) < 0.3
    mask[:, 0] = False
    norm = MissingNorm.of(mask)
    row = np.zeros((1, 8), dtype=bool)
    assert not norm.is_new(row)[0]
    row[0, 0] = True
    assert norm.is_new(row)[0]


def test_excess_grows_from_zero_to_one():
    norm = MissingNorm.of(np.zeros((5, 10), dtype=bool))
    rows = np.tril(np.ones((11, 10), dtype=bool), -1)
    np.testing.assert_allclose(norm.excess(rows), np.arange(11) / 10)
    everything_missing = MissingNorm.of(np.ones((5, 3), dtype=bool))
    assert np.isfinite(everything_missing.excess(np.ones((1, 3), dtype=bool))).all()


def test_hidden_cells_meet_their_share_and_leave_one():
    X = RNG.normal(size=(500, 7))
    X[RNG.random(X.shape) < 0.4] = np.nan
    observed = ~np.isnan(X)
    some, more = hide_cells(X, 0.3, seed=1), hide_cells(X, 0.6, seed=1)
    assert np.isnan(more)[np.isnan(some)].all()
    assert np.array_equal(some[~np.isnan(some)], X[~np.isnan(some)])
    share = 1 - (~np.isnan(some)).sum() / observed.sum()
    assert abs(share - 0.3) < 0.03
    assert (~np.isnan(hide_cells(X, 0.99, seed=1))).any(axis=1)[observed.any(axis=1)].all()
