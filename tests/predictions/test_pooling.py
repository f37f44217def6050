"""Pooled estimates: Rubin's rules, degrees of freedom, and models fitted to completed tables."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from absentia import GaussianDensity, pool, pooled
from absentia.predictions.pooling import barnard_rubin
from oracles.pooling import pooled_scalar, wald_statistic


def regression(seed, n=100):
    """A regression whose second column is missing at random, more than a third of it."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    z = 0.6 * x + 0.8 * rng.normal(size=n)
    y = 1 + x + z + rng.normal(size=n)
    z[rng.random(n) < 1 / (1 + np.exp(1.5 - (x + y) / 1.5))] = np.nan
    return np.column_stack([x, z]), y


@pytest.mark.parametrize("n", [None, 30])
def test_one_parameter_is_pooled_as_the_rules_say(n):
    rng = np.random.default_rng(0)
    Q, U = rng.normal(size=12), rng.uniform(0.1, 0.3, 12)
    found = pool(Q, U, n=n, k=3)
    expected = pooled_scalar(Q, U, np.inf if n is None else n - 3)
    got = (
        found.estimates[0],
        found.covariance[0, 0],
        found.degrees_of_freedom[0],
        found.increase[0],
        found.missing_information[0],
    )
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_degrees_of_freedom_have_the_limits_that_mice_tests():
    """The identities of mice's tests: Rubin's formula, and the limit without missing values."""
    share = np.linspace(1e-4, 1, 100)
    np.testing.assert_allclose(barnard_rubin(10, share), 9 / share**2, rtol=1e-12)
    old, observed = 9 / share**2, 101 / 103 * 100 * (1 - share)
    np.testing.assert_allclose(
        barnard_rubin(10, share, 100.0), old * observed / (old + observed), rtol=1e-12
    )
    assert barnard_rubin(10, np.zeros(1), 100.0)[0] == pytest.approx(100 * 101 / 103)
    assert np.isinf(barnard_rubin(10, np.zeros(1))[0])


def test_several_parameters_and_the_wald_test():
    rng = np.random.default_rng(1)
    Q = np.array([1.0, -0.5]) + 0.1 * rng.normal(size=(8, 2))
    roots = rng.normal(size=(8, 2, 2))
    U = 0.05 * (roots @ roots.transpose(0, 2, 1) + 2 * np.eye(2))
    found = pool(Q, U, names=["a", "b"])
    statistic, p_value = found.wald_test()
    assert statistic == pytest.approx(wald_statistic(Q.tolist(), U.tolist()), rel=1e-10)
    assert 0 < p_value < 0.05
    # One parameter: the square of its t statistic but for the way the variances are added.
    single, _ = found.wald_test(["b"])
    assert single == pytest.approx(found.estimates[1] ** 2 / found.covariance[1, 1], rel=1e-10)
    assert "Pooled over 8 imputations" in str(found)
    assert list(found.to_frame().index) == ["a", "b"]
    assert "<th>a</th>" in found._repr_html_()


def test_without_missing_values_pooling_is_the_complete_fit():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=60)
    found = pooled(LinearRegression(), X, y, m=3, random_state=0)
    design = np.column_stack([np.ones(60), X])
    expected, *_ = np.linalg.lstsq(design, y, rcond=None)
    np.testing.assert_allclose(found.estimates, expected, atol=1e-10)
    assert not found.between.any()
    np.testing.assert_allclose(found.degrees_of_freedom, 57 * 58 / 60)


def test_callables_frames_and_classes():
    X, y = regression(0, 200)
    frame = pd.DataFrame(X, columns=["x", "z"])
    classes = np.where(y > 1, "ill", "well")
    found = pooled(LogisticRegression(C=1e6), frame, classes, m=4, random_state=0)
    assert found.names == ["intercept", "x", "z"]
    assert found.estimates[2] < 0  # "well" is the second class

    def means(table, target):
        return table.mean(axis=0), np.diag(table.var(axis=0, ddof=1) / len(table))

    found = pooled(means, X, y, m=4, random_state=0)
    assert (
        found.missing_information[1] > found.missing_information[0] == pytest.approx(0.0, abs=0.02)
    )


def test_bad_input_is_refused_in_one_sentence():
    X, y = regression(0, 60)
    with pytest.raises(ValueError, match="at least two imputations, found 1"):
        pool([[1.0]], [[1.0]])
    with pytest.raises(ValueError, match=r"estimates must have shape"):
        pool(np.zeros((3, 2)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="no coefficient per column"):
        pooled(RandomForestRegressor(3), X, y, m=2, random_state=0)
    with pytest.raises(ValueError, match="singular"):
        pool(np.zeros((3, 2)), np.ones((3, 2, 2))).wald_test()
    calls = []

    def moody(table, target):
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("did not converge")
        return table.mean(axis=0), np.eye(2)

    with pytest.warns(UserWarning, match="1 of 4 completed tables were left out"):
        assert pooled(moody, X, y, m=4, random_state=0).m == 3


@pytest.mark.slow
def test_intervals_of_proper_imputations_cover_and_those_of_improper_ones_do_not():
    covered = {}
    for proper in (True, False):
        hits = []
        for seed in range(150):
            found = pooled(
                LinearRegression(),
                *regression(seed, 60),
                density=GaussianDensity(shrinkage=0.0),
                m=8,
                proper=proper,
                random_state=seed,
            )
            low, high = found.interval().T
            hits.append((low <= 1) & (high >= 1))
        covered[proper] = np.mean(hits)
    assert 0.93 <= covered[True] <= 0.97
    assert covered[False] < covered[True] - 0.02


def test_columns_without_values_lose_no_name():
    X, y = regression(0)
    X = np.column_stack([X[:, 0], np.full(len(X), np.nan), X[:, 1]])
    with pytest.warns(UserWarning, match="no coefficient: 'x1'"):
        found = pooled(LinearRegression(), X, y, m=2, random_state=0)
    assert found.names == ["intercept", "x0", "x2"]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.warns(UserWarning, match="no coefficient: 'b'"):
        found = pooled(LinearRegression(), frame, y, m=2, random_state=0)
    assert found.names == ["intercept", "a", "c"]


def test_one_imputation_and_undetermined_coefficients_get_one_sentence():
    X, y = regression(0)
    with pytest.raises(ValueError, match="at least two imputations, found 1"):
        pooled(LinearRegression(), X, y, m=1)
    twice = np.column_stack([X[:, 0], X[:, 0]])
    with pytest.raises(ValueError, match="given by the others: leave it out"):
        pooled(LinearRegression(), twice, y, m=2, random_state=0)


def test_statsmodels_fits_are_pooled():
    statsmodels = pytest.importorskip("statsmodels.api", reason="needs statsmodels")
    X, y = regression(1)

    def fit(X, y):
        return statsmodels.OLS(y, statsmodels.add_constant(X)).fit()

    found = pooled(fit, X, y, m=4, random_state=0)
    expected = pooled(LinearRegression(), X, y, m=4, random_state=0)
    np.testing.assert_allclose(found.estimates, expected.estimates, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-8)


POOL_IN_R = """
suppressPackageStartupMessages(library(mice))
a <- as.numeric(commandArgs(trailingOnly = TRUE)); m <- length(a) / 2
found <- pool.scalar(a[1:m], a[(m + 1):(2 * m)], n = 40, k = 3)
cat(sprintf("%.12g", c(found$qbar, found$t, found$df, found$fmi)))
"""


@pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")
def test_mice_in_r_pools_the_same():
    rng = np.random.default_rng(0)
    Q, U = rng.normal(size=6), rng.uniform(0.5, 2, 6)
    numbers = [repr(float(v)) for v in (*Q, *U)]
    command = ["Rscript", "--vanilla", "-e", POOL_IN_R, *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "no package called" in done.stderr:
        pytest.skip("the package mice of R is not installed")
    found = pool(Q, U, n=40, k=3)
    ours = [
        found.estimates[0],
        found.covariance[0, 0],
        found.degrees_of_freedom[0],
        found.missing_information[0],
    ]
    np.testing.assert_allclose(ours, [float(v) for v in done.stdout.split()], rtol=1e-9)
