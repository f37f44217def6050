"""The report says what is missing, in numbers, words and a picture."""

from __future__ import annotations

import dataclasses
import sys
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from absentia import MissingnessReport, amputation, describe_missingness
from absentia.reports.little import little_test


@pytest.fixture
def frame():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 5)), columns=list("abcde"))
    X = amputation.views(X, 0.2, [["a", "c"], ["d"]], random_state=0)
    X.loc[:1] = np.nan
    return X


def test_the_numbers_are_those_of_the_mask(frame):
    report = describe_missingness(frame)
    mask = frame.isna().to_numpy()
    assert report.columns == tuple("abcde")
    assert report.n_samples == 300
    assert report.rate == pytest.approx(mask.mean())
    np.testing.assert_allclose(report.column_rates, mask.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        report.together, np.corrcoef(mask.astype(float), rowvar=False), atol=1e-12
    )
    assert report.n_complete_rows == (~mask.any(axis=1)).sum()
    assert report.n_empty_rows == 2
    assert report.blocks == ((0, 2), (1, 4))
    assert report.little == little_test(frame)
    commonest = report.commonest_patterns(2)
    assert report.patterns.counts[commonest[0]] == report.patterns.counts.max()
    assert [pair[:2] for pair in report.strongest_pairs(3)] == sorted(
        [pair[:2] for pair in report.strongest_pairs(3)],
        key=lambda pair: -abs(report.together[pair]),
    )


def test_columns_that_never_or_always_miss_are_correlated_with_nothing():
    X = np.array([[1.0, np.nan, np.nan], [2.0, np.nan, 1.0], [3.0, np.nan, np.nan]])
    report = describe_missingness(X)
    np.testing.assert_array_equal(report.together, np.eye(3))
    assert report.blocks == ()
    assert report.strongest_pairs() == []


def test_the_summary_reads_well(frame):
    text = str(describe_missingness(frame))
    assert text.splitlines()[0].startswith("300 rows, 5 columns: ")
    assert "2 rows without any value" in text
    assert "  always: a, c" in text
    assert "complete\n" in text
    assert "degrees of freedom" in text
    assert "No evidence against it, but that is not a proof." in text
    assert max(len(line) for line in text.splitlines()) < 100


def test_the_summary_doubts_what_is_doubtful():
    # Only what is correlated with the censored values can give the censoring away.
    X = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=400)
    X = amputation.self_censoring(X, 0.3, random_state=0)
    assert "Doubtful" in str(describe_missingness(X))
    wide = amputation.mcar(np.random.default_rng(0).normal(size=(60, 20)), 0.4, random_state=0)
    text = str(describe_missingness(wide))
    assert "Every row has a pattern of its own" in text
    assert "Caution: most rows have a pattern of their own" in text
    assert "and 12 more, from" in text


@pytest.mark.parametrize(
    ("X", "reason"),
    [
        (np.ones((3, 2)), "nothing is missing"),
        ([[1, None], [2, None]], "all rows miss the same columns"),
        ([[None, None]], "no column of the table varies"),
    ],
)
def test_without_a_test_it_says_why(X, reason):
    report = describe_missingness(X)
    assert report.little is None
    assert reason in str(report)
    report.plot()
    plt.close("all")


def test_the_test_is_run_when_asked_and_not_when_it_would_take_long(frame):
    assert "not requested" in str(describe_missingness(frame, mcar_test=False))
    wide = amputation.mcar(np.random.default_rng(0).normal(size=(400, 250)), 0.1, random_state=0)
    report = describe_missingness(wide)
    assert report.little is None
    assert "pass mcar_test=True" in str(report)
    with pytest.raises(ValueError, match="mcar_test must be"):
        describe_missingness(frame, mcar_test="never")


def test_a_report_is_a_value(frame):
    report = describe_missingness(frame)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.little = None
    assert repr(report).startswith("MissingnessReport of 300 rows in 5 columns")
    assert isinstance(report, MissingnessReport)


def test_the_picture_shows_the_columns_that_miss_most(frame):
    figure = describe_missingness(frame).plot(max_columns=3, max_patterns=4)
    rates, patterns, together = figure.axes[:3]
    assert [label.get_text() for label in patterns.get_xticklabels()] == ["a", "c", "d"]
    assert len(patterns.get_yticklabels()) == 4
    assert len(rates.lines[0].get_ydata()) == 3
    assert together.images[0].get_array().shape == (3, 3)
    plt.close(figure)


def test_without_matplotlib_the_plot_says_what_to_install(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install .*\[plot\]'"):
        describe_missingness(frame, mcar_test=False).plot()


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_tables_with_words_and_dates_are_described(frame, kind):
    table = frame.assign(
        ward=["x", None, "y"] * 100,
        lead=["<0.5", "-", *[f"{value:.3f}" for value in range(298)]],
        day=pd.date_range("2024-01-01", periods=300),
    )
    if kind == "polars":
        polars = pytest.importorskip("polars")
        table = polars.from_pandas(table)
    report = describe_missingness(table)
    assert report.columns == (*"abcde", "ward", "lead", "day")
    np.testing.assert_allclose(report.column_rates[5:], [1 / 3, 2 / 300, 0], atol=1e-15)
    assert report.little is not None
    assert "1 value such as '<0.5' is a limit" in report.notes[0]
    assert report.notes[-1] == "Little's test uses only numbers, so not ward, which holds words."
    assert "\nNotes\n  lead: numbers written as text" in str(report)


def test_words_alone_are_described_without_a_test():
    report = describe_missingness(pd.DataFrame({"word": ["a", None, "b"], "x": [1, 2, 3]}))
    assert report.little is None
    assert "nothing is missing from the columns of numbers" in str(report)


def test_an_infinite_value_does_not_stop_the_report():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[0, 0], X[1, 0], X[3, 1] = np.inf, -np.inf, np.nan
    for table in (X, pd.DataFrame(X)):
        report = describe_missingness(table)
        np.testing.assert_allclose(report.column_rates, [2 / 30, 1 / 30])
        assert "2 infinite values count as missing" in str(report)
    with pytest.raises(ValueError, match="could not convert string"):
        describe_missingness([["a", "b"]])
    with pytest.raises(ValueError, match="must be unique"):
        describe_missingness(pd.DataFrame([["a", 1]], columns=["x", "x"]))


def test_labels_of_the_picture_tell_columns_apart():
    names = [
        "mean_corpuscular_haemoglobin_first",
        "mean_corpuscular_haemoglobin_second",
        "mean_corpuscular_volume_of_red_cells_second",
        "mean_corpuscular_value_of_red_cells_second",
        r"$\frac{$",
    ]
    X = amputation.mcar(np.random.default_rng(0).normal(size=(50, 5)), 0.3, random_state=0)
    figure = describe_missingness(pd.DataFrame(X, columns=names)).plot()
    labels = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert len(set(labels)) == 5
    assert max(len(label) for label in labels[:2]) <= 22
    figure.canvas.draw()
    plt.close(figure)


def test_the_memory_for_a_wide_table_does_not_grow_with_the_square_of_its_columns():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((20, 6000)) < 0.3, np.nan, 1.0)
    X[:, 5000] = np.nan  # always missing, which goes together with nothing
    X[:, 17] = np.where(np.arange(20) < 15, np.nan, 1.0)
    X[:, 4321] = X[:, 17]
    X[0, 17] = 1.0
    tracemalloc.start()
    report = describe_missingness(X)
    text = str(report)
    pairs = report.strongest_pairs(3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6, peak  # a matrix of all columns takes 288 MB
    assert report.together.shape == (300, 300)
    assert 5000 not in report.compared
    assert "correlation of missingness, among the 300 columns that miss most" in text
    mask = np.isnan(X).astype(float)
    for i, j, strength in pairs:
        assert strength == pytest.approx(np.corrcoef(mask[:, i], mask[:, j])[0, 1], abs=1e-12)
    assert (17, 4321) in [pair[:2] for pair in report.strongest_pairs(20)]
    assert report.plot().axes[2].images[0].get_array().shape == (40, 40)
