"""Pooled estimates: Rubin's rules, degrees of freedom, and models fitted to completed tables."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import f
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression

from absentia import GaussianDensity, pool, pooled, predict_uncertainty
from absentia.predictions.pooling import barnard_rubin, denominator_freedom
from lab.studies.pooled_coverage import intervals
from oracles.pooling import pooled_scalar, wald_statistic


def regression(seed, n=100):
    """A regression whose second column is missing at random, more than a third of it."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    z = 0.6 * x + 0.8 * rng.normal(size=n)
    y = 1 + x + z + rng.normal(size=n)
    z[rng.random(n) < 1 / (1 + np.exp(1.5 - (x + y) / 1.5))] = np.nan
    return np.column_stack([x, z]), y


def coverage(kind, n_tables):
    """Return the share of 95 % intervals of regression coefficients that hold the true ones."""
    each = [intervals(kind, seed) for seed in range(n_tables)]
    parts = {name: np.array([one[name] for one in each]) for name in each[0]}
    return {name: ((at[:, 1] <= 1) & (at[:, 2] >= 1)).mean() for name, at in parts.items()}


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


def test_the_numbers_that_mice_tests():
    """``lm(bmi ~ chl + age + hyp)`` on five imputations of nhanes2, pooled by ``test-pool.R``."""
    estimates = [
        [17.9487905, 0.0579055811, -4.40338481, -5.15155613, 0.954064091],
        [19.4442054, 0.046082498, -3.51541802, -5.72119814, 1.82735464],
        [15.7322526, 0.0734722195, -4.82896082, -8.93488696, 2.7800982],
        [19.6060452, 0.0443054668, -3.96508452, -6.46478614, 3.15557598],
        [21.0774447, 0.0461843836, -6.15541258, -6.90741533, 2.1010533],
    ]
    errors = [
        [2.66132262, 0.0138051484, 1.46348756, 1.54182028, 1.45688629],
        [4.1450533, 0.0222561769, 2.0906836, 2.19238699, 2.24852796],
        [2.8740307, 0.0159951793, 1.47213774, 1.67751442, 1.30252698],
        [3.12995836, 0.0175666767, 1.73403358, 1.95571518, 1.84094308],
        [3.63612576, 0.0181770759, 1.69385529, 1.94607944, 1.97577686],
    ]
    found = pool(estimates, np.square(errors), n=25)
    expected = [18.76175, 0.05359003, -4.573652, -6.635969, 2.163629]
    np.testing.assert_allclose(found.estimates, expected, rtol=1e-5)
    expected = [4.002796, 0.02235067, 2.033986, 2.459769, 2.02898]
    np.testing.assert_allclose(found.standard_errors, expected, rtol=1e-5)
    expected = [9.755965, 8.317704, 10.022689, 7.260235, 12.311259]
    np.testing.assert_allclose(found.degrees_of_freedom, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("k", "t", "r", "complete", "freedom"),
    [(2, 10, 0.30561210288, 22, 13.7403717701), (2, 10, 0.30561210288, np.inf, 82.526406)],
)
def test_the_denominator_of_the_wald_test_is_that_of_mice(k, t, r, complete, freedom):
    """``D1`` of mice 3.15 on its table nhanes, six imputations of ``lm(bmi ~ age + chl)``."""
    assert denominator_freedom(k, t, r, complete) == pytest.approx(freedom, rel=1e-5)
    assert f.sf(7.31915003, 2, 13.74037177) == pytest.approx(0.00685386485)
    assert denominator_freedom(k, t, r, 1e9) == pytest.approx(82.526406, rel=1e-5)
    assert 0 < denominator_freedom(k, t, 5.0, 3.0) <= 3.0


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


def test_polars_frames_and_targets_are_those_of_pandas():
    X, y = regression(0)
    frame = pl.DataFrame(X, schema=["x", "z"]).fill_nan(None)
    found = pooled(LinearRegression(), frame, pl.Series(y), m=3, random_state=0)
    expected = pooled(
        LinearRegression(), pd.DataFrame(X, columns=["x", "z"]), y, m=3, random_state=0
    )
    assert found.names == ["intercept", "x", "z"]
    np.testing.assert_array_equal(found.estimates, expected.estimates)
    seen = []

    def fit(table, target):
        seen.append(type(table))
        return table["x"].mean(), table["x"].var() / len(table)

    pooled(fit, frame, y, m=2, random_state=0)
    assert seen == [pl.DataFrame] * 2


def test_bad_input_is_refused_in_one_sentence():
    X, y = regression(0, 60)
    with pytest.raises(ValueError, match="at least two imputations, found 1"):
        pool([[1.0]], [[1.0]])
    with pytest.raises(ValueError, match=r"estimates must have shape"):
        pool(np.zeros((3, 2)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="no coefficient per column"):
        pooled(RandomForestRegressor(3), X, y, m=2, random_state=0)
    with pytest.raises(ValueError, match="covariances must be positive semidefinite"):
        pool([1.0, 2.0], [-1.0, 1.0])
    with pytest.raises(ValueError, match="covariances must be positive semidefinite"):
        pool(np.zeros((2, 2)), [[[1.0, 2.0], [2.0, 1.0]]] * 2)
    with pytest.raises(ValueError, match="takes numbers, but a column has words"):
        pooled(LinearRegression(), pd.DataFrame({"x": X[:, 1], "w": ["u", "v"] * 30}), y, m=2)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        pooled(LinearRegression(), X, y[1:])
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
def test_intervals_of_proper_imputations_cover_and_those_of_others_do_not():
    covered = coverage("gaussian", 150)
    assert 0.93 <= covered["proper"] <= 0.97
    assert covered["improper"] < covered["proper"] - 0.02
    assert covered["one table"] < 0.8


@pytest.mark.slow
def test_intervals_cover_on_tables_with_words():
    covered = coverage("mixed", 60)
    assert 0.93 <= covered["proper"] <= 0.97
    assert covered["improper"] < covered["proper"]
    assert covered["one table"] < 0.9


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


def in_r(script, *arguments):
    """Return the numbers that a script of R prints; skip where R or mice is not installed."""
    script = "suppressPackageStartupMessages(library(mice))\n" + script
    command = ["Rscript", "--vanilla", "-e", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "no package called" in done.stderr:
        pytest.skip("the package mice of R is not installed")
    return np.array([float(v) for v in done.stdout.split()])


POOL_IN_R = """
a <- as.numeric(commandArgs(trailingOnly = TRUE)); m <- length(a) / 2
found <- pool.scalar(a[1:m], a[(m + 1):(2 * m)], n = 40, k = 3)
cat(sprintf("%.12g", c(found$qbar, found$t, found$df, found$fmi)))
"""


@pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")
def test_mice_in_r_pools_the_same():
    rng = np.random.default_rng(0)
    Q, U = rng.normal(size=6), rng.uniform(0.5, 2, 6)
    theirs = in_r(POOL_IN_R, *(repr(float(v)) for v in (*Q, *U)))
    found = pool(Q, U, n=40, k=3)
    ours = [
        found.estimates[0],
        found.covariance[0, 0],
        found.degrees_of_freedom[0],
        found.missing_information[0],
    ]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


PREDICT_MI_IN_R = """
a <- commandArgs(trailingOnly = TRUE)
table <- read.csv(a[1]); new <- is.na(table$y)
imp <- mice(table[, 1:3], m = 60, maxit = 3, method = "norm", ignore = new, seed = 1, print = FALSE)
fit <- lm(y ~ ., table[!new, ])
parts <- lapply(1:60, function(k) predict(fit, complete(imp, k)[new, ], se.fit = TRUE))
Q <- sapply(parts, function(p) p$fit)
U <- sapply(parts, function(p) p$se.fit^2 + p$residual.scale^2)
for (i in seq_len(nrow(Q))) {
  found <- pool.scalar(Q[i, ], U[i, ]); cat(found$qbar, found$t, found$b, "")
}
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")
def test_uncertain_predictions_have_the_variance_of_predict_mi(tmp_path):
    """The rules of ``predict_mi`` (mice 3.17 on) for intervals of predictions of a linear model."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(3), 0.5 * np.eye(3) + 0.5, size=360)
    y = X @ [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=360)
    X[300:330, 1], X[330:, :2], train = np.nan, np.nan, slice(300)
    table = pd.DataFrame(X, columns=list("abc")).assign(y=np.where(np.arange(360) < 300, y, np.nan))
    table.to_csv(tmp_path / "table.csv", index=False)
    theirs = in_r(PREDICT_MI_IN_R, str(tmp_path / "table.csv")).reshape(60, 3)
    model = FrozenEstimator(BayesianRidge().fit(X[train], y[train]))
    density = GaussianDensity(shrinkage=0.0).fit(X[train])
    doubt = predict_uncertainty(model, X[300:], density=density)
    ours = np.column_stack([doubt.prediction, doubt.total, doubt.missing])
    z = (theirs[:, 0] - ours[:, 0]) / np.sqrt(theirs[:, 2] / 60)
    assert np.abs(z).max() < 5
    for rows in (slice(30), slice(30, 60)):  # 60 imputations of 30 rows: variances to some 5 %
        parts = [found[rows, 1:].mean(axis=0) for found in (theirs, ours)]
        np.testing.assert_allclose(*parts, rtol=0.1)
