"""Comparison of methods on one table: folds, verdict, picture, text and page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import ttest_rel
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

import absentia
from absentia.cli.app import train_command
from absentia.recipe.comparison import (
    QUICK_METHODS,
    Comparison,
    _names_of,
    compare,
    standard_error,
)
from absentia.recipe.training import BASELINES, METHODS, Baseline

RNG = np.random.default_rng(0)
FOLDS = RNG.normal(0.8, 0.02, size=5)


def comparison(scores, seconds=None, task="classification", baseline=0.5):
    """Return a comparison with these scores, which may be one number or one for each fold."""
    measure = "accuracy" if task == "classification" else "R²"
    seconds = seconds or dict.fromkeys(scores, 1.0)
    folds = {
        name: {measure: np.atleast_1d(values), "seconds": np.array([seconds[name]])}
        for name, values in scores.items()
    }
    return Comparison(task, folds, baseline, {}, ())


def test_the_error_is_larger_than_that_of_independent_folds():
    plain = FOLDS.std(ddof=1) / np.sqrt(5)
    # 1/n + 1/(k - 1) in place of 1/n.
    assert standard_error(FOLDS) == pytest.approx(plain * np.sqrt(1 + 5 / 4))
    assert np.isnan(standard_error(FOLDS[:1]))


def test_what_is_far_behind_is_not_as_good_and_the_quick_one_is_named():
    scores = {
        "slow": FOLDS + 0.001,
        "quick": FOLDS + 1e-3 * np.array([1, -1, 1, -1, 1]),
        "poor": FOLDS - 0.1 + 1e-3 * np.array([1, 0, 1, 0, 1]),
    }
    found = comparison(scores, {"slow": 30.0, "quick": 2.0, "poor": 1.0})
    assert (found.best, found.as_good) == ("slow", ["quick"])
    assert "no significant difference from quick" in found.verdict
    assert ttest_rel(scores["slow"], scores["poor"]).pvalue < 1e-4


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"a": FOLDS}, "Use a: R²"),
        ({"a": FOLDS, "b": FOLDS, "c": FOLDS}, "no significant difference between the 3 methods"),
        ({"a": FOLDS, "b": FOLDS - 0.2 + 0.001 * RNG.normal(size=5)}, "significantly ahead of all"),
        ({"a": FOLDS[:1], "b": FOLDS[:1] - 0.5}, "no significant difference from b"),
    ],
)
def test_sentences_of_the_corners(scores, said):
    assert said in comparison(scores, task="regression", baseline=0.0).verdict


def test_nothing_learned_is_said():
    found = comparison({"a": FOLDS}, baseline=0.8)
    assert found.verdict.startswith("No method is clearly better than the best constant prediction")


NOISE = 0.01 * np.array([-1, 1, 0, 1, -1])


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"genrbf": 0.9, "knn": 0.8}, "Train genrbf: absentia train f.csv -t y -o model.absentia "),
        (
            {"knn": 0.9, "mean": 0.85, "genrbf-mixture": 0.7, "genrbf": 0.6},
            "Train genrbf-mixture: absentia train f.csv -t y -o model.absentia "
            "--method genrbf-mixture",
        ),
        (
            {"knn": 0.9, "genrbf": 0.899},
            "Train genrbf: absentia train",
        ),
        (
            {"knn": 0.9, "mean": 0.85},
            "knn cannot be trained from the command line. Train automatic: absentia train f.csv "
            "-t y -o model.absentia",
        ),
    ],
)
def test_the_command_trains_what_is_recommended_or_says_that_it_cannot(scores, said):
    best = max(scores.values())
    folds = {k: v + NOISE * (1 if v == best else -1) for k, v in scores.items()}
    assert train_command(comparison(folds), "f.csv", "y").startswith(said)


@pytest.mark.parametrize(
    ("score", "difference"), [(0.7, "significantly better"), (0.899, "no significant difference")]
)
def test_only_what_can_be_trained_is_recommended(score, difference):
    found = comparison({"knn": 0.9 + NOISE, "mean": 0.85 - NOISE, "genrbf": score - NOISE})
    assert found.best == "knn"
    assert found.verdict.startswith(f"Use genrbf: accuracy {score:.3f} ± 0.007. knn, which ")
    assert f"has accuracy 0.900 ± 0.007: {difference}." in found.verdict


def test_a_quick_comparison_has_the_automatic_machine():
    assert QUICK_METHODS[0] == "automatic"
    assert "automatic" in _names_of(None)
    assert set(QUICK_METHODS) <= {*METHODS, *BASELINES}


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "pyarrow"])
def test_every_kind_of_table_is_compared_alike(kind):
    X = RNG.normal(size=(60, 2)).round(1)
    X[::7, 1] = np.nan
    table = pd.DataFrame(X, columns=["x0", "x1"])
    make = {"polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas, "array": np.asarray}
    found = compare(make.get(kind, pd.DataFrame)(table), X[:, 0] > 0, methods=["random-forest"])
    assert "60 rows, 2 columns after encoding" in " ".join(found.notes)
    assert found.best == "random-forest"


@pytest.fixture(scope="module")
def frame():
    """A table with words, dates and limits."""
    rng = np.random.default_rng(0)
    n = 150
    values = rng.normal(size=(n, 2))
    # As missing values, those on the one side and those on the other are the same.
    text = values[:, 0].round(5).astype(str)
    text = np.where(values[:, 0] < -0.5, "<-0.5", np.where(values[:, 0] > 0.5, ">0.5", text))
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    frame = pd.DataFrame({"a": text, "b": values[:, 1], "day": day.astype(str)})
    frame["word"] = rng.choice(["x", "y", "z"], n)
    frame.loc[rng.random(n) < 0.2, "word"] = None
    frame["size"] = values[:, 0]
    frame["kind"] = np.where(values[:, 0] > 0, "high", "low")
    frame.loc[3, "kind"] = None
    return frame


@pytest.fixture(scope="module")
def found(frame):
    methods = ["mean-indicator", "hist-gradient-boosting", "genrbf"]
    return absentia.compare(frame, "kind", methods=methods, ignore=["size"])


def test_methods_on_beliefs_use_limits_and_others_do_not(found):
    assert found.best == "genrbf"
    assert found.mean("genrbf") > found.mean("mean-indicator") + 0.1
    said = "values with limits such as <0.5: used by genrbf; missing for the other methods."
    assert any(said in note for note in found.notes)
    assert any("1 row has no kind" in note for note in found.notes)
    assert any(note.startswith("149 rows, 6 columns after encoding") for note in found.notes)


def test_the_text_the_frame_the_picture_and_the_page_have_one_order(found):
    table = found.to_frame()
    assert list(table.index) == found.methods
    assert list(table["accuracy"]) == sorted(table["accuracy"], reverse=True)
    assert (table["log loss"].isna() == ["boosting" not in name for name in table.index]).all()
    lines = repr(found).splitlines()
    places = [next(k for k, line in enumerate(lines) if line.startswith(n)) for n in table.index]
    assert places == sorted(places)
    panel = found.plot().axes[0]
    assert [tick.get_text() for tick in panel.get_yticklabels()] == found.methods[::-1]
    assert any(set(line.get_xdata()) == {found.baseline} for line in panel.lines)
    page = found.to_html("<mine>", advice="Train it.")
    assert "&lt;mine&gt;" in page
    assert "Train it." in page
    places = [page.index(f">{name}</td>") for name in found.methods]
    assert places == sorted(places)


def test_a_quantity_is_compared_in_its_own_units(frame):
    table = frame.drop(columns="kind")
    options = {"methods": ["genrbf", "iterative", "random-forest"], "max_rows": 100}
    found = compare(table.assign(size=1000 + 200 * table["size"]), "size", **options, n_jobs=2)
    assert found.task == "regression"
    assert found.methods[0] == "genrbf"
    assert found.mean("genrbf") > 0.5
    assert 20 < found.mean("genrbf", "mean absolute error") < 150
    assert "Only a sample of 100 of the 150 rows is used." in found.notes
    other = compare(table, table["size"], ignore=["size"], methods=["genrbf"], max_rows=100)
    # libsvm stops at a tolerance of 1e-3.
    assert other.mean("genrbf") == pytest.approx(found.mean("genrbf"), abs=1e-3)


def test_folds_depend_on_the_seed_and_repeats_only(frame):
    X, y = frame[["b", "size"]], frame["kind"]
    options = {"methods": ["mean-indicator"], "max_rows": 60}
    first, again = (compare(X, y, random_state=1, **options) for _ in range(2))
    values = first.scores["mean-indicator"]["accuracy"]
    np.testing.assert_array_equal(values, again.scores["mean-indicator"]["accuracy"])
    more = compare(X, y, random_state=1, repeats=2, **options).scores["mean-indicator"]
    np.testing.assert_array_equal(more["accuracy"][:5], values)
    assert len(more["accuracy"]) == 10


def test_a_method_that_fails_does_not_stop_the_others(monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0] > 0

    def refuse(task, seed, n_columns):
        raise ValueError("Column 'x1' is odd.")

    broken = type("Broken", (), {"about": "", "make": staticmethod(refuse), "package": ""})
    monkeypatch.setitem(absentia.recipe.training.BASELINES, "iterative", broken)
    found = compare(X, y, methods=["iterative", "mean-indicator"])
    assert found.errors == {"iterative": "Column 'x1' is odd."}
    assert found.methods == ["mean-indicator"]
    assert "iterative failed: Column 'x1' is odd." in repr(found)
    with pytest.raises(ValueError, match="Every method failed; the first error is: Column 'x1'"):
        compare(X, y, methods=["iterative"])


def test_methods_are_checked_before_anything_takes_time():
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match="There is no method 'magic'; the methods are automatic"):
        compare(X, y, methods=["magic"])


def test_boosted_trees_are_compared_on_one_thread(monkeypatch):
    """Two OpenMP threads on cores that others use can take a hundred times as long."""
    seen = []

    class Counting(HistGradientBoostingClassifier):
        def fit(self, X, y):
            seen.append(_openmp_effective_n_threads())
            return super().fit(X, y)

    make = lambda task, seed, n_columns: Counting(max_iter=1)  # noqa: E731
    monkeypatch.setitem(BASELINES, "hist-gradient-boosting", Baseline("", make))
    X = np.random.default_rng(0).normal(size=(60, 2))
    compare(X, X[:, 0] > 0, methods=["hist-gradient-boosting"])
    assert set(seen) == {1}
