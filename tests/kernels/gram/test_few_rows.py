"""A few rows against many columns, which stand in the lanes: entries are those of the formula."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import SVC, ExpectedRBF, GenRBF
from absentia.beliefs.conditioning import condition
from absentia.engine.compiling import always_compiled
from absentia.kernels import gram_blocks
from absentia.kernels.gram import dispatch, lane_pairs
from kernels.gram.test_expected import KINDS, _formula, _prior, _table


@pytest.fixture
def calls(monkeypatch):
    """Count the calls of the compiled loop, whatever the size of the matrix."""
    found = []
    compiled = lane_pairs.few_rows
    monkeypatch.setattr(lane_pairs, "few_rows", lambda *args: (found.append(args), compiled(*args)))
    with always_compiled():
        yield found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("k", "d"), [(1, 1), (1, 6), (2, 7), (1, 34)])
@pytest.mark.parametrize("n", [1, 3])
def test_entries_are_those_of_the_formula(n, k, d, kind, calls):
    rng = np.random.default_rng(d)
    prior = _prior(rng, d, k)
    P = condition(prior, _table(rng, n, d, "scattered"))[0]
    Q = condition(prior, _table(rng, 211, d, kind))[0]
    gamma = 0.5 / d
    for scaled in (True, False):
        K = ExpectedRBF(gamma, scaled=scaled)(P, Q)
        np.testing.assert_allclose(K, _formula(P, Q, gamma, scaled=scaled), rtol=1e-10)
    assert len(calls) == 2 * k * k
    norms = [
        [_formula(row, row, gamma).item() for row in (side[i : i + 1] for i in range(len(side)))]
        for side in (P, Q)
    ]
    normalised = _formula(P, Q, gamma) / np.sqrt(np.outer(*norms))
    np.testing.assert_allclose(GenRBF(gamma)(P, Q), normalised, rtol=1e-10)


def test_widths_of_columns(calls):
    rng = np.random.default_rng(0)
    prior = _prior(rng, 5, 2)
    P = condition(prior, _table(rng, 2, 5, "scattered"))[0]
    Q = condition(prior, _table(rng, 50, 5, "scattered"))[0]
    gammas = np.array([1e-3, 0.1, 3.0, 0.2, 1.0])
    exact = _formula(P, Q, 1.0, np.diag(gammas))
    np.testing.assert_allclose(ExpectedRBF(gammas)(P, Q), exact, rtol=1e-10)
    assert calls


@pytest.mark.parametrize("missing", [0, 3, 5])
def test_a_row_that_misses_nothing_or_everything(missing, calls):
    rng = np.random.default_rng(0)
    prior = _prior(rng, 5, 1)
    row = np.append(np.full(missing, np.nan), rng.normal(size=5 - missing))
    P = condition(prior, row[None])[0]
    Q = condition(prior, _table(rng, 80, 5, "scattered"))[0]
    np.testing.assert_allclose(ExpectedRBF(0.2)(P, Q), _formula(P, Q, 0.2), rtol=1e-10)
    assert calls


def test_columns_of_very_different_sizes_and_a_single_one(calls):
    rng = np.random.default_rng(0)
    d = 12
    prior = _prior(rng, d, 1)
    X = rng.normal(size=(d + 1, d))
    X[np.arange(d) < np.arange(d + 1)[:, None]] = np.nan  # row i misses the first i
    P = condition(prior, _table(rng, 1, d, "scattered"))[0]
    Q = condition(prior, X)[0]
    np.testing.assert_allclose(ExpectedRBF(0.1)(P, Q), _formula(P, Q, 0.1), rtol=1e-10)
    last = Q[-1]
    np.testing.assert_allclose(ExpectedRBF(0.1)(P, last), _formula(P, last, 0.1), rtol=1e-10)
    assert len(calls) == 2


def test_rows_far_from_all_others_are_left_to_other_ways(calls):
    rng = np.random.default_rng(0)
    prior = _prior(rng, 5, 1)
    X = _table(rng, 60, 5, "scattered")
    X[3] += 1e6
    P, Q = condition(prior, X[3:4])[0], condition(prior, X)[0]
    np.testing.assert_allclose(ExpectedRBF(0.2)(P, Q), _formula(P, Q, 0.2), rtol=1e-10)
    assert not calls


@pytest.mark.parametrize("k", [1, 2])
def test_rows_one_by_one_have_the_bits_of_all_of_them(k, calls):
    rng = np.random.default_rng(0)
    prior = _prior(rng, 7, k)
    P = condition(prior, _table(rng, dispatch.FEW_ROWS, 7, "scattered"))[0]
    Q = condition(prior, _table(rng, 90, 7, "both"))[0]
    whole = GenRBF(0.1)(P, Q)
    for height in (1, 3):
        blocks = [block for _, block in gram_blocks(GenRBF(0.1), P, Q, block_rows=height)]
        np.testing.assert_array_equal(np.vstack(blocks), whole)
    assert len(calls) == k * k * (1 + 4 + 2)


def test_a_tile_of_many_rows_takes_the_path_of_many(calls):
    rng = np.random.default_rng(0)
    prior = _prior(rng, 7, 1)
    P, Q = (condition(prior, _table(rng, n, 7, "scattered"))[0] for n in (30, 90))
    next(gram_blocks(GenRBF(0.1), P, Q, block_rows=1))
    GenRBF(0.1)(P, Q)
    assert not calls
    GenRBF(0.1)(P[:1], Q)
    assert calls


def test_a_wide_table_takes_overlaps_where_those_cost_less(calls):
    rng = np.random.default_rng(0)
    prior = _prior(rng, 200, 1)
    Q = condition(prior, _table(rng, 40, 200, "scattered"))[0]
    GenRBF(1 / 200)(Q[:4], Q)
    assert not calls
    found = GenRBF(1 / 200)(Q[:1], Q)
    assert calls
    np.testing.assert_allclose(found, GenRBF(1 / 200)(Q)[:1], rtol=1e-10)


def test_what_belongs_to_support_vectors_is_prepared_once(monkeypatch):
    rng = np.random.default_rng(0)
    X = _table(rng, 400, 9, "scattered")
    machine = SVC(n_jobs=1).fit(X, np.nansum(X, axis=1) + 0.1 * rng.normal(size=400) > 0)
    expected = machine.decision_function(X[:9])
    prepared = []
    make = lane_pairs.LaneColumns.of
    monkeypatch.setattr(
        lane_pairs.LaneColumns, "of", lambda *args: (prepared.append(args), make(*args))[1]
    )
    for i in range(9):
        found = machine.decision_function(X[i : i + 1])
        np.testing.assert_allclose(found, expected[i], atol=1e-12)
    assert len(prepared) == 1


def test_the_density_is_measured_in_widths_once_for_all_new_rows():
    rng = np.random.default_rng(0)
    prior = _prior(rng, 5, 1)
    P, Q = (condition(prior, _table(rng, n, 5, "scattered"))[0] for n in (1, 90))
    units = np.arange(1.0, 6.0)
    assert P.in_units(units).prior is Q.in_units(units).prior
    assert P.in_units(2 * units).prior is not P.in_units(units).prior
