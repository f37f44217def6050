"""The tests of differences, against a published example and against SciPy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lab.experiments.reporting.significance import (
    compare_ranks,
    means_by,
    paired_table,
    ranks_by_rate,
    summary_table,
)

#: Accuracies of four classifiers on 14 data sets: Table 6 of Demsar (2006), whose text gives the
#: mean ranks 3.143, 2.000, 2.893, 1.964, Friedman's statistic 9.28 and the difference 1.25.
DEMSAR = pd.DataFrame(
    {
        "C4.5": [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.000, 0.940,
                 0.619, 0.972, 0.957],
        "C4.5+m": [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.000, 0.962,
                   0.666, 0.981, 0.978],
        "C4.5+cf": [0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.000, 0.965,
                    0.614, 0.9751, 0.946],
        "C4.5+m+cf": [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.000, 0.962,
                      0.669, 0.975, 0.970],
    }
)  # fmt: skip


def test_demsars_example():
    comparison = compare_ranks(DEMSAR)
    assert comparison.ranks.round(3).to_dict() == {
        "C4.5+m+cf": 1.964,
        "C4.5+m": 2.0,
        "C4.5+cf": 2.893,
        "C4.5": 3.143,
    }
    assert comparison.critical_difference == pytest.approx(1.25, abs=0.005)  # as printed there
    expected = stats.friedmanchisquare(*DEMSAR.to_numpy().T)
    assert comparison.p_value == pytest.approx(expected.pvalue)
    assert comparison.n_blocks == 14
    assert "C4.5+m+cf" in str(comparison)


def test_lower_may_be_better_and_the_best_is_told_apart():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: k + 0.1 * rng.random(30) for k, name in enumerate("abcd")})
    up, down = compare_ranks(table), compare_ranks(table, lower_is_better=True)
    assert list(up.ranks.index) == list("dcba")
    assert list(down.ranks.index) == list("abcd")
    assert down.as_good_as_best() == ["a"]
    assert down.p_value < 1e-10


def test_missing_scores_cost_a_method_or_a_block():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((20, 4)), columns=list("abcd"))
    table.loc[:10, "d"] = np.nan
    table.loc[3, "a"] = np.nan
    comparison = compare_ranks(table)
    assert comparison.left_out == ("d",)
    assert comparison.n_blocks == 19


def test_too_little_to_compare():
    assert compare_ranks(pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]})) is None
    assert compare_ranks(pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0]})) is None
    alike = compare_ranks(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [1.0, 2.0]}))
    assert alike.p_value == 1.0


def test_tables_average_folds_before_samples():
    scores = pd.DataFrame(
        [
            ("d", "m", 0, 0, 0.1, "accuracy", 0.8),
            ("d", "m", 0, 1, 0.1, "accuracy", 0.6),
            ("d", "m", 1, 0, 0.1, "accuracy", 0.9),
            ("d", "m", 1, 1, 0.1, "accuracy", 0.9),
            ("d", "m", 1, 1, 0.1, "log_loss", 9.0),
        ],
        columns=["dataset", "method", "sample", "fold", "rate", "metric", "value"],
    )
    row = summary_table(scores, "accuracy").iloc[0]
    assert row["mean"] == pytest.approx(0.8)
    assert row["sd"] == pytest.approx(0.1)
    assert row["n"] == 2
    assert paired_table(scores, "accuracy", ("dataset",)).loc["d", "m"] == pytest.approx(0.8)


def scores_of(rows):
    columns = ["dataset", "mechanism", "rate", "sample", "method", "value"]
    return pd.DataFrame(rows, columns=columns).assign(metric="accuracy")


def test_every_rate_has_the_same_weight_in_a_mean():
    rows = [("a", "mar", 0.3, sample, "x", 0.9) for sample in range(5)]
    scores = scores_of([*rows, ("a", "mar", 0.6, 0, "x", 0.5)])
    assert means_by(scores, "accuracy", ["dataset"]).loc["a", "x"] == pytest.approx(0.7)


def test_a_method_that_was_run_on_a_part_has_no_mean():
    rows = [("a", "mar", rate, 0, "x", 0.9) for rate in (0.3, 0.6)]
    scores = scores_of([*rows, ("a", "mar", 0.3, 0, "part", 1.0)])
    assert list(means_by(scores, "accuracy", ["dataset"]).columns) == ["x"]


@pytest.mark.parametrize("lower", [False, True])
def test_ranks_at_each_rate(lower):
    rows = [
        (data, "mar", rate, 0, method, value)
        for data in "ab"
        for rate, values in {0.1: (0.9, 0.8, 0.7), 0.5: (0.5, 0.6, 0.6)}.items()
        for method, value in zip("xyz", values, strict=True)
    ]
    ranks = ranks_by_rate(
        scores_of(rows), "accuracy", ("dataset", "rate"), list("xyz"), lower_is_better=lower
    )
    up = {0.1: [1.0, 2.0, 3.0], 0.5: [3.0, 1.5, 1.5]}
    for rate, expected in up.items():
        wanted = [4 - rank for rank in expected] if lower else expected
        assert ranks.loc[rate].tolist() == wanted
