"""Cells and rows that a density cannot explain."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import kstest
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import absentia
from absentia import GaussianDensity, MixedDensity, MixtureDensity, OutlierDetector
from absentia.densities.suspicious_cells import suspicious_cells
from oracles.cell_pvalues import cell_pvalue, gaussian_row_pvalue


def correlated(n=300, d=5, missing=0.3, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
    X = rng.normal(size=(n, d)) @ root + np.arange(d)
    return np.where(rng.random(X.shape) < missing, np.nan, X)


def test_rows_of_a_gaussian_have_the_chi_square_tail():
    X = correlated()
    density = GaussianDensity().fit(X)
    expected = [gaussian_row_pvalue(row, density.mean_, density.covariance_) for row in X[:50]]
    np.testing.assert_allclose(density.row_pvalues(X)[:50], expected, rtol=1e-9)


def test_a_row_with_nothing_observed_has_p_value_one():
    X = correlated()
    nothing = np.full((1, X.shape[1]), np.nan)
    for density in (GaussianDensity(), MixtureDensity(2, random_state=0)):
        assert density.fit(X).row_pvalues(nothing) == 1.0


def test_far_rows_keep_an_order_beyond_the_smallest_number():
    X = correlated(missing=0.0)
    detector = OutlierDetector().fit(X)
    far = np.tile(X.mean(axis=0), (3, 1))
    far[:, 0] += [1e3, 1e6, 1e9]
    scores = detector.score_samples(far)
    assert np.isfinite(scores).all()
    assert (np.diff(scores) < 0).all()


@pytest.mark.parametrize(
    "density", [GaussianDensity(), MixtureDensity(2, random_state=0)], ids=["gaussian", "mixture"]
)
def test_p_values_are_uniform_for_every_mask(density):
    density = density.fit(correlated(n=400))
    fresh = density.sample(1500, random_state=1)
    rng = np.random.default_rng(2)
    masks = rng.random((5, fresh.shape[1])) < 0.4
    masks[:, 0] = False
    cells = np.full(fresh.shape, np.nan)
    for at, mask in enumerate(masks):
        rows = np.where(mask, np.nan, fresh[at::5])
        assert kstest(density.row_pvalues(rows), "uniform").pvalue > 1e-3
        cells[at::5] = rows
    p_values = suspicious_cells(density, cells, level=1e-9).all_p_values
    for j in range(fresh.shape[1]):
        assert kstest(p_values[~np.isnan(cells[:, j]), j], "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    "density", [GaussianDensity(), MixtureDensity(2, random_state=0)], ids=["gaussian", "mixture"]
)
def test_cells_agree_with_one_at_a_time(density):
    X = correlated(n=120)
    prior = density.fit(X).prior_
    found = suspicious_cells(density, X[:20], level=1e-12).all_p_values
    for i, j in np.argwhere(~np.isnan(X[:20])):
        expected = cell_pvalue(X[i], j, prior.weights, prior.means, prior.covariances)
        np.testing.assert_allclose(found[i, j], expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(X[:20]))


def test_the_wrong_cell_is_named_and_not_its_neighbours():
    X = correlated(n=400, missing=0.1)
    X[7] = correlated(n=400, missing=0.0)[7]
    X[7, 2] += 30.0
    found = suspicious_cells("gaussian", X)
    assert (found.rows[0], found.columns[0]) == (7, 2)
    assert found.mask[7].sum() == 1
    clean = np.delete(X[7], 2)
    assert abs(found.expected[0] - X[7, 2]) > 20 > np.abs(clean).max()


def test_two_wrong_cells_of_one_row_are_both_named():
    X = correlated(n=400, missing=0.0, seed=3)
    X[11, [0, 3]] += [25.0, -25.0]
    mask = suspicious_cells("gaussian", X).mask
    np.testing.assert_array_equal(np.flatnonzero(mask[11]), [0, 3])


def test_gross_errors_do_not_hide_each_other():
    X = correlated(n=200, missing=0.2, seed=4)
    rng = np.random.default_rng(0)
    rows = rng.choice(200, size=8, replace=False)
    X[rows, 1] = 1e9
    X[17, 0] = 60.0
    mask = suspicious_cells("gaussian", X).mask
    assert mask[rows, 1].all()
    assert mask[17, 0]


def mixed_table(n, seed):
    """A column of spread 3 whose mean depends on a category, and one that follows it."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=n).astype(float)
    x = 3 * rng.normal(size=n) + 5 * (kind == 0)
    X = np.column_stack([x, 0.5 * x + rng.normal(size=n), kind])
    return np.where(rng.random(X.shape) < [0.1, 0.3, 0.3], np.nan, X)


def test_a_gross_error_has_a_tiny_p_value_under_a_mixture_of_numbers_and_categories():
    X = mixed_table(300, 0)
    density = MixedDensity(categories=[2], random_state=0)
    fitted = density.fit(X)
    X[7, 0] = 900.0
    assert fitted.row_pvalues(X[7:8]) < 1e-6
    assert suspicious_cells(fitted, X[:20]).all_p_values[7, 0] < 1e-6
    # The error takes part in the fit, and a component of its own would explain it.
    assert suspicious_cells(density, X).all_p_values[7, 0] < 1e-6
    scores = OutlierDetector(density).fit(X).score_samples(X)
    assert scores.argmin() == 7
    assert scores[7] < np.log(1e-6)


def test_p_values_of_numbers_and_categories_are_uniform_for_every_mask():
    density = MixedDensity(3, categories=[2], random_state=0).fit(mixed_table(400, 1))
    fresh = density.sample(1500, random_state=1)
    for mask in ([0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]):
        rows = np.where(mask, np.nan, fresh)
        # The error of the draws, which all rows share, must be small beside that of 1500 rows.
        p_values = density.row_pvalues(rows, n_draws=20_000)
        assert kstest(p_values, "uniform").pvalue > 1e-3
        cells = suspicious_cells(density, rows, level=1e-9).all_p_values
        for j in np.flatnonzero(np.logical_not(mask[:2])):
            assert kstest(cells[:, j], "uniform").pvalue > 1e-3


def test_false_discoveries_are_bounded():
    shares = []
    for seed in range(10):
        X = correlated(n=200, missing=0.2, seed=seed)
        rng = np.random.default_rng(seed)
        wrong = np.zeros(X.shape, dtype=bool)
        wrong[rng.choice(200, size=10, replace=False), rng.integers(5, size=10)] = True
        wrong &= ~np.isnan(X)
        found = suspicious_cells("gaussian", np.where(wrong, X + 40.0, X), level=0.1).mask
        shares.append((found & ~wrong).sum() / max(found.sum(), 1))
        assert found[wrong].mean() > 0.9
    assert np.mean(shares) < 0.1 + 3 * np.std(shares) / np.sqrt(len(shares))


@pytest.fixture
def people():
    rng = np.random.default_rng(5)
    kind = rng.choice(["child", "adult"], size=300)
    height = np.where(kind == "child", 120.0, 172.0) + rng.normal(0, 6, size=300)
    frame = pd.DataFrame(
        {"kind": kind, "height": height, "arm": height * 0.4 + rng.normal(size=300)}
    )
    frame.loc[::7, "kind"] = None
    frame.loc[3, ["kind", "height", "arm"]] = ["child", 178.0, 71.0]
    frame.loc[10, ["kind", "height", "arm"]] = ["adult", 17.2, 69.0]
    return frame


@pytest.mark.parametrize("make", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("density", [MixedDensity(2, random_state=0), "gaussian"])
def test_frames_with_words_name_columns_and_words(people, make, density):
    found = suspicious_cells(density, make(people))
    lines = {(line.row, line.column): line for line in found.to_frame().itertuples()}
    assert found.all_p_values[3, 0] < 0.02
    assert lines[10, "height"].value == pytest.approx(17.2)
    assert 160 < lines[10, "height"].expected < 185
    assert "row 10, height: 17.2, expected 1" in repr(found)


def test_an_unlikely_word_is_suspicious(people):
    density = MixedDensity(2, smoothing=0.01, random_state=0).fit(people.drop(index=3))
    line = suspicious_cells(density, people).to_frame().query("row == 3").iloc[0]
    assert (line["column"], line["value"], line["expected"]) == ("kind", "child", "adult")


def test_a_saved_density_and_a_saved_detector_answer_the_same(people, tmp_path):
    detector = OutlierDetector(MixedDensity(2, random_state=0), n_draws=200).fit(people)
    absentia.save(detector, tmp_path / "detector.absentia")
    loaded = absentia.load(tmp_path / "detector.absentia")
    np.testing.assert_array_equal(loaded.score_samples(people), detector.score_samples(people))


def test_outliers_of_incomplete_rows_are_found_better_than_behind_an_imputer():
    X = correlated(n=500, d=8, missing=0.3, seed=6)
    rng = np.random.default_rng(0)
    wrong = np.zeros(500, dtype=bool)
    wrong[rng.choice(500, size=25, replace=False)] = True
    X[wrong] = X[wrong][:, rng.permutation(8)]
    ours = -OutlierDetector().fit(X).score_samples(X)
    forest = make_pipeline(SimpleImputer(), IsolationForest(random_state=0)).fit(X)
    theirs = -forest.score_samples(X)
    assert roc_auc_score(wrong, ours) > roc_auc_score(wrong, theirs)


def test_contamination_is_the_share_of_outliers():
    X = correlated(n=200)
    labels = OutlierDetector(contamination=0.1).fit_predict(X)
    assert (labels == -1).sum() == 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: suspicious_cells("gaussian", X, level=0.0), "level must be"),
        (lambda X: suspicious_cells("gausian", X), "density must be one of"),
        (lambda X: OutlierDetector(contamination=0.7).fit(X), "contamination must be"),
        (lambda X: suspicious_cells("gaussian", GaussianDensity().fit(X).condition(X)), "beliefs"),
    ],
)
def test_bad_input_gets_a_sentence(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(correlated(n=30))


@parametrize_with_checks([OutlierDetector()])
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)
