"""Correlations with intervals, and synthetic tables with missing values."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from absentia import GaussianDensity, LowRankDensity, MixedDensity

COVARIANCE = np.array([[1.0, 0.6, 0.0], [0.6, 2.0, 0.5], [0.0, 0.5, 1.0]])


def table(seed, n=150, missing=0.25):
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(np.zeros(3), COVARIANCE, size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def test_complete_tables_have_the_errors_of_the_textbook():
    X = table(0, 400, missing=0.0)
    found = GaussianDensity(shrinkage=0, reg_covar=0).fit(X).correlation(X, ci=0.95)
    r = np.corrcoef(X.T)
    np.testing.assert_allclose(found.estimate, r, atol=1e-8)
    expected = np.tanh(np.arctanh(r[0, 1]) - 1.96 / np.sqrt(400))
    assert abs(found.lower[0, 1] - expected) < 0.03
    assert (np.diagonal(found.lower) == 1).all()
    covariance = GaussianDensity(shrinkage=0, reg_covar=0).fit(X).correlation(kind="covariance")
    np.testing.assert_allclose(covariance.estimate, np.cov(X.T, bias=True), atol=1e-8)
    assert covariance.lower is None


def test_intervals_cover_on_incomplete_tables():
    """40 tables: the count of covering intervals of 95 % is binomial, 34 or more in 0.998."""
    truth = COVARIANCE[0, 1] / np.sqrt(COVARIANCE[0, 0] * COVARIANCE[1, 1])
    covered = 0
    for seed in range(40):
        X = table(seed, 100)
        density = GaussianDensity(shrinkage=0).fit(X)
        found = density.correlation(X, ci=0.95, n_bootstrap=30)
        covered += found.lower[0, 1] <= truth <= found.upper[0, 1]
    assert covered >= 34


def test_names_frames_and_pictures():
    frame = pd.DataFrame(table(1), columns=["a", "b", "c"])
    found = GaussianDensity().fit(frame).correlation(frame, ci=0.9, n_bootstrap=10)
    lines = found.to_frame()
    assert tuple(lines.loc[0, ["first", "second"]]) in {("a", "b"), ("b", "c")}
    assert (lines["lower"] <= lines["estimate"]).all()
    axes = found.plot().axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "b", "c"]
    words = frame.assign(w=["u", "v"] * 75)
    assert MixedDensity(1).fit(words).correlation().names == ["a", "b", "c"]
    assert LowRankDensity(1).fit(frame).correlation().estimate.shape == (3, 3)


def test_bad_input_is_refused():
    density = GaussianDensity().fit(table(0))
    with pytest.raises(ValueError, match="pass these rows"):
        density.correlation(ci=0.9)
    with pytest.raises(ValueError, match="ci must be a level"):
        density.correlation(table(0), ci=95)
    with pytest.raises(ValueError, match="kind must be"):
        density.correlation(kind="partial")


def test_synthetic_tables_are_close_to_training():
    rng = np.random.default_rng(0)
    X = np.exp(table(2, 1500, missing=0.0) / 2)
    X[X[:, 0] > 1.5, 1] = np.nan
    X[rng.random(len(X)) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    density = GaussianDensity(margins="auto").fit(frame)
    made = pd.DataFrame(density.sample(1500, random_state=0, missing=frame), columns=frame.columns)
    np.testing.assert_allclose(made.isna().mean(), frame.isna().mean(), atol=0.04)
    masks = [rows.isna().to_numpy().astype(float) for rows in (frame, made)]
    shares = [mask.T @ mask / 1500 for mask in masks]
    np.testing.assert_allclose(shares[1], shares[0], atol=0.04)
    assert ks_2samp(made["a"].dropna(), frame["a"].dropna()).statistic < 0.06
    assert (made.min() > 0).all()
    assert not np.isnan(density.sample(10, random_state=0)).any()
