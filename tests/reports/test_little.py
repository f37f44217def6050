"""Little's test against its definition, and its size and power."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest
from scipy.stats import kstest, kurtosis

from absentia import GaussianDensity, Patterns, amputation
from absentia.reports import little
from absentia.reports.little import little_test
from oracles.little import gaussian_by_em, little_statistic


def correlated(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


@pytest.mark.parametrize(("n", "d", "rate"), [(60, 2, 0.2), (80, 4, 0.3), (50, 3, 0.5)])
def test_the_statistic_is_that_of_little_1988(n, d, rate):
    X = amputation.mcar(correlated(n, d, seed=n), rate, random_state=0)
    X = X[~np.isnan(X).all(axis=1)]
    test = little_test(X, tol=1e-8)
    statistic, freedom = little_statistic(X, *gaussian_by_em(X))
    assert test.degrees_of_freedom == freedom
    assert test.statistic == pytest.approx(statistic, rel=1e-6)
    assert test.converged
    assert test.n_patterns == len(np.unique(np.isnan(X), axis=0))


def test_what_carries_nothing_changes_nothing():
    X = amputation.mcar(correlated(80, 3, seed=1), 0.3, random_state=0)
    X = X[~np.isnan(X).all(axis=1)]
    plain = little_test(X)
    constant = np.where(np.arange(len(X)) % 2, 7.0, np.nan)
    padded = np.column_stack([X, np.full(len(X), np.nan), constant])
    padded = np.vstack([padded, np.full(5, np.nan)])
    assert little_test(padded).statistic == pytest.approx(plain.statistic, rel=1e-10)
    assert little_test(padded).degrees_of_freedom == plain.degrees_of_freedom
    scaled = little_test(X * [1e-8, 1.0, 1e8], tol=1e-8)
    assert scaled.statistic == pytest.approx(little_test(X, tol=1e-8).statistic, rel=1e-6)


def test_p_values_are_uniform_when_values_are_missing_completely_at_random():
    # Views give few patterns with many rows each, where the approximation is good.
    groups = [[0], [1, 2]]
    p_values = []
    for seed in range(60):
        X = correlated(400, 4, seed)
        p_values.append(little_test(amputation.views(X, 0.2, groups, random_state=seed)).p_value)
    assert kstest(p_values, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("mechanism", [amputation.self_censoring, amputation.mar])
def test_what_is_not_missing_completely_at_random_is_found_out(mechanism):
    X = mechanism(correlated(500, 3, seed=0), 0.2, random_state=0)
    assert little_test(X).p_value < 1e-4


def proportions(n, d, seed):
    return np.random.default_rng(seed).dirichlet(np.full(d, 3.0), size=n)


@pytest.mark.parametrize("seed", [0, 4])
def test_redundant_columns_count_by_their_rank(seed):
    X = amputation.mcar(proportions(120, 4, seed), 0.15, random_state=seed)
    X = X[~np.isnan(X).all(axis=1)]
    test = little_test(X, tol=1e-8)
    statistic, freedom = little_statistic(X, *gaussian_by_em(X))
    assert test.degrees_of_freedom == freedom < (~np.isnan(np.unique(np.isnan(X), axis=0))).sum()
    # The fit is regularised by 1e-9, which moves regressions on redundant columns by its root.
    assert test.statistic == pytest.approx(statistic, rel=1e-4)


def test_a_column_twice_changes_nothing():
    X = amputation.mcar(correlated(150, 3, seed=0), 0.2, random_state=0)
    plain, twice = little_test(X, tol=1e-8), little_test(np.column_stack([X, X]), tol=1e-8)
    assert twice.degrees_of_freedom == plain.degrees_of_freedom
    assert twice.statistic == pytest.approx(plain.statistic, rel=1e-5)  # regularised by 1e-9


def test_p_values_are_uniform_when_columns_are_redundant():
    p_values = []
    for seed in range(75):
        X = amputation.mcar(proportions(300, 5, seed), 0.15, random_state=seed)
        p_values.append(little_test(X, p_value="chi-square").p_value)
    assert kstest(p_values, "uniform").pvalue > 1e-3
    assert min(p_values) > 1e-5


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.eye(5), "all rows miss the same columns"),
        ([[np.nan, 1.0], [np.nan, 2.0]], "all rows miss the same columns"),
        ([[np.nan, 1.0, 2.0], [3.0, 2.0, np.nan], [2.0, 1.0, 0.0]], "more rows than columns"),
        ([[1.0, np.nan], [1.0, 3.0]], "no column of the table varies"),
        ([[np.nan, np.nan]], "no column of the table varies"),
        ([[np.nan, 1.0], [np.nan, 2.0], [3.0, np.nan], [5.0, np.nan]], "no two patterns share"),
    ],
)
def test_where_there_is_nothing_to_compare(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        little_test(X)


def test_permutations_keep_the_size_where_chi_square_does_not():
    """Log-normal columns of 60 rows: few rows per pattern, whose means are far from normal."""
    chances = []
    for seed in range(15):
        X = np.exp(1.5 * np.random.default_rng(seed).normal(size=(60, 5)))
        X = amputation.mcar(X, 0.05, random_state=seed)
        tests = [little_test(X, tol=1e-3, p_value=kind) for kind in ("chi-square", "auto")]
        assert [test.method for test in tests] == ["chi-square", "permutation"]
        assert [test.trusted for test in tests] == [False, True]
        chances.append([test.p_value for test in tests])
    rejected = (np.array(chances) < 0.05).sum(axis=0)
    # Of 15 with a size of 5 %, four or more have a probability of 0.5 %.
    assert rejected[1] <= 3 < rejected[0]


def test_chi_square_is_trusted_for_many_rows_and_normal_columns():
    X = amputation.mcar(correlated(400, 3, seed=0), 0.2, random_state=0)
    test = little_test(X)
    assert (test.method, test.trusted) == ("chi-square", True)
    permuted = little_test(X, p_value="permutation")
    assert permuted.statistic == test.statistic
    # The share of tens of tables.
    assert permuted.p_value == pytest.approx(test.p_value, abs=0.2)


@pytest.mark.parametrize(
    ("statistics", "chance"),
    [
        ([1.0], 1.0),  # ten of ten are as large
        ([0.0, 1.0], 10 / 20),
        ([0.0], 1 / 200),
        ([1.0] * 9 + [0.0] * 200, 10 / 200),
    ],
)
def test_permutations_end_with_the_tenth_larger_statistic(monkeypatch, statistics, chance):
    X = amputation.mcar(correlated(60, 2, seed=0), 0.2, random_state=0)
    X = X[~np.isnan(X).all(axis=1)]
    density, values, tables = GaussianDensity().fit(X), cycle(statistics), []

    def statistic(table, patterns, tol):
        tables.append(table)
        return next(values), 1, density

    monkeypatch.setattr(little, "_statistic", statistic)
    found = little._permuted_chance(X, Patterns.of(X), 1e-5, 1.0, density, random_state=0)
    assert found == chance
    assert len(tables) == {1.0: 10, 10 / 20: 20}.get(chance, 199)
    complete = X[~np.isnan(X).any(axis=1)]
    for table in tables[:5]:
        np.testing.assert_array_equal(np.isnan(table), np.isnan(X))
        # Rows have moved, and nothing was drawn in place of what was observed.
        kept = (table[:, None] == complete).all(axis=2).any(axis=1)
        assert 10 < kept.sum() < len(complete)
        assert (table[0] != X[0]).any()


def test_chi_square_is_trusted_by_its_kurtosis_and_rows_per_column():
    """A row with excess kurtosis k adds k / n to the variance of the term of its pattern."""
    X = np.random.default_rng(0).laplace(size=(100, 2))
    X[:20, 0] = X[20:30, 1] = np.nan
    excess = kurtosis(X, axis=0, nan_policy="omit")
    expected = (2 / 70 + 1 / 20 + 1 / 10) * excess.mean()
    assert little._excess_variance(X, Patterns.of(X)) == pytest.approx(expected, rel=1e-12)
    # Two degrees of freedom: a tenth of the variance of chi-square is 0.4.
    for scale in (1.0, 0.5):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(little, "_excess_variance", lambda *_, s=scale: 0.599 * s)
            assert little_test(X, p_value="chi-square").trusted == (scale == 0.5)


def test_permutations_find_what_is_not_at_random():
    X = amputation.self_censoring(np.exp(correlated(150, 3, seed=0)), 0.3, random_state=0)
    test = little_test(X)
    assert test.method == "permutation"
    assert test.p_value < 0.05


@pytest.mark.parametrize(("n", "trusted"), [(19, False), (20, True)])
def test_ten_rows_per_column_are_enough(monkeypatch, n, trusted):
    monkeypatch.setattr(little, "_excess_variance", lambda *_: 0.0)
    X = correlated(n, 2, seed=0)
    X[:5, 0] = np.nan
    assert little_test(X, p_value="chi-square").trusted == trusted


@pytest.mark.parametrize(("room", "permuted"), [(0, True), (-1, False)])
def test_tables_are_permuted_up_to_a_cost(monkeypatch, room, permuted):
    """The cost of a statistic is the number of patterns times the columns cubed."""
    X = correlated(25, 3, seed=0)
    X[:5, 0] = X[4:9, 1] = X[12:15, 2] = np.nan
    cost = len(Patterns.of(X).masks) * 3**3
    monkeypatch.setattr(little, "_LARGEST", cost + room)
    monkeypatch.setattr(little, "_permuted_chance", lambda *_: -1.0)
    assert (little_test(X).p_value == -1.0) == permuted
