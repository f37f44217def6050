"""Holes on purpose: the rate is met, the mechanism is the paper's, the input is left alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia import amputation
from absentia.missingness.amputation import SourceTable, mar, mcar, mnar, self_censoring, views
from oracles.amputation import removed_by_bisection, squared_mahalanobis

GROUPS = [[0, 1, 2], [3, 4], [5, 6, 7]]
MECHANISMS = {
    "mcar": mcar,
    "mar": mar,
    "mnar": lambda *args, **kwargs: mnar(*args, **kwargs).table,
    "self_censoring": self_censoring,
    "views": lambda X, rate, **kwargs: views(X, rate, GROUPS, **kwargs),
}


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 8)) @ rng.normal(size=(8, 8)) + 3


@pytest.mark.parametrize("rate", [0.0, 0.003, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_rate_is_met_within_half_a_point(X, name, rate):
    before = X.copy()
    holes = MECHANISMS[name](X, rate, random_state=1)
    assert abs(np.isnan(holes).mean() - rate) <= 0.005
    np.testing.assert_array_equal(X, before)
    assert not np.shares_memory(holes, X)
    if name != "mnar":
        np.testing.assert_array_equal(holes[~np.isnan(holes)], X[~np.isnan(holes)])


@given(st.integers(5, 60), st.integers(2, 6), st.floats(0, 0.75), st.integers(0, 2**31))
def test_the_rate_is_met_to_the_nearest_value_in_any_table(n, d, rate, seed):
    X = np.random.default_rng(seed).normal(size=(n, d)).round()  # with ties
    for mechanism in (mcar, mar, self_censoring):
        assert np.isnan(mechanism(X, rate, random_state=seed)).sum() == round(rate * n * d)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_seed_decides(X, name):
    first, again, other = (MECHANISMS[name](X, 0.4, random_state=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(np.isnan(first), np.isnan(other))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_frame_stays_a_frame(X, name):
    names = [f"c{j}" for j in range(8)]
    frame = pd.DataFrame(X, columns=names, index=np.arange(len(X)) + 100)
    array = MECHANISMS[name](X, 0.4, random_state=1)
    holes = MECHANISMS[name](frame, 0.4, random_state=1)
    assert holes.index.equals(frame.index)
    np.testing.assert_array_equal(holes.to_numpy(), array)
    polars = MECHANISMS[name](pl.DataFrame(X, schema=names), 0.4, random_state=1)
    assert sum(polars.null_count().row(0)) == np.isnan(array).sum()
    assert list(polars.columns) == list(holes.columns)
    assert set(holes.columns) <= set(names)


@pytest.mark.parametrize("name", MECHANISMS)
def test_bad_requests_get_a_sentence(X, name):
    mechanism = MECHANISMS[name]
    for rate in (-0.1, 1.1, np.nan, "half", None):
        with pytest.raises(ValueError, match="rate must be a number from 0 to 1"):
            mechanism(X, rate)
    with pytest.raises(ValueError, match="Infinity"):
        mechanism(np.full((4, 8), np.inf), 0.3)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "pyarrow", "words"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_tables_may_miss_values_already(X, name, kind):
    """The rate is that of the observed values, and what was missing stays missing."""
    names = [f"c{j}" for j in range(8)]
    gone = np.random.default_rng(3).random(X.shape) < 0.2
    frame = pd.DataFrame(np.where(gone, np.nan, X), columns=names)
    if kind == "words":
        frame["c7"] = pd.Series(np.where(X[:, 7] > 3, "high", "low"), dtype=object).mask(gone[:, 7])
    made = {
        "polars": pl.from_pandas,
        "pyarrow": pa.Table.from_pandas,
        "array": pd.DataFrame.to_numpy,
    }
    table = made.get(kind, pd.DataFrame)(frame)
    after = MECHANISMS[name](table, 0.3, random_state=0)
    assert type(after) is type(table)
    after = after.to_pandas() if hasattr(after, "to_pandas") else pd.DataFrame(after)
    after.columns = names[: after.shape[1]] if kind == "array" else after.columns
    missing = after.isna().to_numpy()
    if name == "mnar":
        assert missing.mean() == pytest.approx(1 - 0.8 * 0.7, abs=0.02)
        return
    assert missing[gone].all()
    assert missing[~gone].mean() == pytest.approx(0.3, abs=0.005)


def test_what_is_removed_completely_at_random_is_unrelated_to_everything():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    missing = np.isnan(mcar(X, 0.3, random_state=0))
    scale = np.sqrt(0.3 * 0.7 / len(X))
    assert np.all(np.abs(missing.mean(axis=0) - 0.3) < 5 * scale)
    together = np.corrcoef(np.column_stack([missing, X]), rowvar=False)
    assert np.all(np.abs(together[np.triu_indices(6, 1)][:12]) < 5 / np.sqrt(len(X)) + 1e-12)


@pytest.mark.parametrize("power", [2, 1])
def test_removal_near_anchors_is_equation_26(X, power):
    """The order statistic is the mask that a search for t ends at, with the same draws."""
    seed, n, d, rate = 5, *X.shape, 0.3
    holes = mar(X, rate, power=power, random_state=seed)
    generator = np.random.RandomState(seed)
    anchors = generator.choice(n, size=d, replace=False)
    uniforms = np.exp(-generator.standard_exponential((n, d)))
    excluded = np.zeros((n, d), dtype=bool)
    excluded[anchors, np.arange(d)] = True
    distances = squared_mahalanobis(X, X[anchors]) ** (power / 2)
    expected = removed_by_bisection(distances, uniforms, excluded, rate)
    np.testing.assert_array_equal(np.isnan(holes), expected)
    assert not np.isnan(holes[anchors, np.arange(d)]).any()


def test_removal_for_hidden_reasons_is_equation_27(X):
    seed, rate = 6, 0.4
    table, visible, hidden = mnar(X, rate, random_state=seed)
    assert sorted([*visible, *hidden]) == list(range(8))
    assert len(visible) == len(hidden) == 4
    generator = np.random.RandomState(seed)
    generator.permutation(8)
    anchors = generator.choice(len(X), size=4, replace=False)
    uniforms = np.exp(-generator.standard_exponential((len(X), 4)))
    excluded = np.zeros((len(X), 4), dtype=bool)
    excluded[anchors, np.arange(4)] = True
    distances = squared_mahalanobis(X[:, hidden], X[np.ix_(anchors, hidden)])
    expected = removed_by_bisection(distances, uniforms, excluded, rate)
    np.testing.assert_array_equal(np.isnan(table), expected)
    np.testing.assert_array_equal(table[~expected], X[:, visible][~expected])


def test_an_odd_number_of_columns_leaves_the_larger_half_visible(X):
    assert len(mnar(X[:, :5], 0.2, random_state=0).visible) == 3
    with pytest.raises(ValueError, match="only one"):
        mnar(X[:, :1], 0.2)


@pytest.mark.parametrize("mechanism", [mar, self_censoring])
def test_constant_and_collinear_columns_and_more_columns_than_rows_do_no_harm(mechanism):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(40, 2))
    X = np.column_stack([base, np.ones(40), base.sum(axis=1), base[:, 0] * 1e8])
    for table in (X, np.ones((40, 5)), rng.normal(size=(6, 40))):
        holes = mechanism(table, 0.4, random_state=0)
        assert np.isnan(holes).sum() == round(0.4 * table.size)


def test_the_larger_a_value_the_likelier_it_is_censored():
    X = np.random.default_rng(0).normal(size=(20_000, 1)) * 5 + 2
    missing = np.isnan(self_censoring(X, 0.3, strength=2.0, random_state=0))[:, 0]
    z = (X[:, 0] - X.mean()) / X.std()
    # Logistic regression by Newton's method: its slope is the strength.
    design, beta = np.column_stack([np.ones_like(z), z]), np.zeros(2)
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ beta))
        information = (design.T * (p * (1 - p))) @ design
        beta += np.linalg.solve(information, design.T @ (missing - p))
    assert abs(beta[1] - 2.0) < 5 * np.sqrt(np.linalg.inv(information)[1, 1])
    small = np.isnan(self_censoring(X, 0.3, strength=-2.0, random_state=0))[:, 0]
    assert X[small].mean() < X.mean() < X[missing].mean()
    with pytest.raises(ValueError, match="strength must be a finite number"):
        self_censoring(X, 0.3, strength=np.inf)


def test_views_go_as_wholes(X):
    holes = np.isnan(views(X, 0.4, GROUPS, random_state=0))
    for group in GROUPS:
        assert np.all(holes[:, group].all(axis=1) == holes[:, group].any(axis=1))
    assert holes.all(axis=1).any()
    kept = np.isnan(views(X, 0.4, GROUPS, keep_one=True, random_state=0))
    assert not kept.all(axis=1).any()
    spared = np.isnan(views(X, 0.4, [[0, 1], [-1, -2, -3, -4]], random_state=0))
    assert not spared[:, [2, 3]].any()


def test_views_by_name(X):
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    by_name = views(frame, 0.4, [["a", "b", "c"], ["d", "e"], ["f", "g", "h"]], random_state=0)
    np.testing.assert_array_equal(by_name, views(X, 0.4, GROUPS, random_state=0))


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        ([], "groups is empty"),
        ([[]], "at least one column"),
        (["ab"], "at least one column"),
        ([0, 1], "at least one column"),
        ([[0, 8]], "column 8, but the table has 8 columns"),
        ([["z"]], "column 'z'"),
        ([[0, 1], [1, 2]], "'x1' is in the groups more than once"),
    ],
)
def test_groups_that_make_no_sense(X, groups, sentence):
    with pytest.raises(ValueError, match=sentence):
        views(X, 0.1, groups)


def test_a_rate_out_of_reach_says_what_is_within(X):
    with pytest.raises(ValueError, match=r"at most 0\.250 of the values"):
        views(X, 0.3, [[0, 1]])
    with pytest.raises(ValueError, match=r"at most 0\.900 of the values"):
        mar(X[:10], 0.95)


def test_the_mechanisms_are_reachable_from_the_package():
    import absentia

    assert absentia.amputation.mcar is amputation.mcar


def patients(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "ward": rng.choice(["a", "b", "c"], n),
            "admitted": pd.date_range("2024-01-01", periods=n),
            "visits": rng.integers(0, 5, n),
        }
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar", "self_censoring", "views"])
def test_tables_with_words_and_dates_lose_values_too(mechanism, kind):
    table = patients()
    if kind != "pandas":
        table = {"polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[kind](table)
    options = {"groups": [["age", "ward"], ["visits"]]} if mechanism == "views" else {}
    holes = getattr(amputation, mechanism)(table, 0.25, random_state=0, **options)
    columns = list(range(4))
    if mechanism == "mnar":
        holes, columns, _ = holes
    assert type(holes) is type(table)
    holes = holes if kind == "pandas" else holes.to_pandas()
    removed = holes.isna().to_numpy()
    assert removed.mean() == pytest.approx(0.25, abs=0.01)  # to the nearest view of a row
    before = patients().iloc[:, columns]
    assert list(holes.columns) == list(before.columns)
    for name in holes.columns:
        kept = holes[name].notna()
        assert kept.any()
        assert (holes.loc[kept, name] == before.loc[kept, name]).all()


def test_words_go_at_random_where_values_censor_themselves():
    table = patients(2000)
    holes = amputation.self_censoring(table, 0.3, random_state=0)
    assert holes["age"].mean() < table["age"].mean() - 3
    gone = table["ward"][holes["ward"].isna()].value_counts(normalize=True)
    np.testing.assert_allclose(gone[["a", "b", "c"]], 1 / 3, atol=0.06)  # 600 draws: 3 deviations


@pytest.mark.parametrize("value", [0.1, 0.3, 100_000.1])
def test_a_constant_column_has_standard_score_zero(value):
    """Whether or not its mean is rounded: it says nothing about which values go."""
    X = np.column_stack([np.arange(1000.0), np.full(1000, value)])
    assert not SourceTable.of(X).standard_scores()[:, 1].any()
