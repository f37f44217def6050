"""How large errors are by what a row misses: against conditional covariances, and on new rows."""

from types import SimpleNamespace

import numpy as np
import pytest

from absentia import AutoRegressor, GaussianDensity, amputation, bounded
from absentia.automatic.error_scale import ErrorScale, fit_line, moments_of_projection
from absentia.beliefs.draws import DrawPoints
from absentia.tables import Table
from oracles.densities import conditional

QUICK = {"members": ["linear"], "n_repeats": 1, "random_state": 0}


def linear_rows(n, seed=0, rate=0.2):
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(np.zeros(5), 0.5 * np.eye(5) + 0.5, size=n)
    y = X @ [3.0, 2.0, 1.0, 0.5, 0.0] + 0.8 * rng.normal(size=n)
    return amputation.mcar(X, rate=rate, random_state=seed), y


@pytest.fixture(scope="module")
def machine():
    return AutoRegressor(**QUICK).fit(*linear_rows(300))


@pytest.mark.parametrize("weights", [[3.0, 2.0, 1.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0, 1e-9]])
def test_moments_are_those_of_the_conditional_gaussian(weights):
    X, _ = linear_rows(60, rate=0.5)
    density = GaussianDensity().fit(X)
    points = DrawPoints.sobol(32, 5, 0).matched()
    weights = np.array(weights)
    means, variances = moments_of_projection(weights[:, None], Table(X), density, points)
    for row, mean, variance in zip(X, means[:, 0], variances[:, 0], strict=True):
        centre, covariance = conditional(row, density.mean_, density.covariance_)
        expected = weights @ covariance @ weights
        np.testing.assert_allclose(mean, weights @ centre, atol=1e-12 * np.abs(weights).max())
        np.testing.assert_allclose(variance, expected, rtol=1e-10, atol=1e-24)
        assert variance == 0.0 or np.isnan(row).any()


def test_limits_make_a_row_surer():
    X, _ = linear_rows(80)
    X[:3, 0] = np.nan
    lower, upper = np.full(X.shape, -np.inf), np.full(X.shape, np.inf)
    upper[0, 0] = -3.0
    lower[1, 0], upper[1, 0] = 0.0, 0.1
    density = GaussianDensity().fit(X)
    table = bounded(X[:3], lower[:3], upper[:3])
    _, variances = moments_of_projection(
        np.eye(5)[:, :1], table, density, DrawPoints.sobol(256, 5, 0)
    )
    assert variances[1, 0] < 0.01 < variances[0, 0] < variances[2, 0]


def test_a_line_is_found_in_the_noise_of_squared_errors():
    rng = np.random.default_rng(0)
    variance = rng.exponential(size=20_000) * (rng.random(20_000) < 0.6)
    squared = (0.5 + 2.0 * variance) * rng.normal(size=20_000) ** 2
    np.testing.assert_allclose(fit_line(variance, squared), [0.5, 2.0], rtol=0.1)
    # Where the predictor explains nothing, nor does the line.
    level, slope = fit_line(rng.permutation(variance), squared)
    assert slope * variance.mean() < 0.1 * level
    np.testing.assert_allclose(fit_line(1e9 * variance, 1e-9 * squared), [0.5e-9, 2e-18], rtol=0.1)
    np.testing.assert_allclose(fit_line(1e-30 * variance, squared), [0.5, 2e30], rtol=0.1)


@pytest.mark.parametrize("squared", [np.zeros(6), np.array([0.0, 0, 0, 0, 0, 1.0])])
def test_lines_of_errors_that_are_zero(squared):
    line = fit_line(np.arange(6.0), squared)
    assert (line >= 0).all()
    assert np.isfinite(line).all()


def test_coverage_is_alike_whatever_is_missing(machine):
    X, y = linear_rows(3000, seed=1)
    low, high = machine.predict_interval(X).T
    covered = (low <= y) & (y <= high)
    missing = np.isnan(X).sum(axis=1)
    by_number = np.array([covered[missing == k].mean() for k in range(4)])
    assert np.ptp(by_number) < 0.1, by_number  # 0.2 with one width per level
    assert 0.85 < covered.mean() < 0.95
    # Without the first column a row is less sure than without the last, which says nothing.
    rows = np.zeros((2, 5))
    rows[0, 0] = rows[1, 4] = np.nan
    first, last = np.ptp(machine.predict_interval(rows), axis=1)
    assert first > 1.5 * last


def test_the_noise_is_that_of_complete_rows(machine):
    X, y = linear_rows(2000, seed=2, rate=0.0)
    found = machine.predict_uncertainty(X[:500], by_column=False)
    assert np.sqrt(found.total.mean()) == pytest.approx(np.std(y - machine.predict(X)), rel=0.2)
    X, y = linear_rows(2000, seed=3, rate=0.4)
    found = machine.predict_uncertainty(X, by_column=False)
    error = np.sqrt(np.mean((y - machine.predict(X)) ** 2))
    assert np.sqrt(found.total.mean()) == pytest.approx(error, rel=0.2)


@pytest.mark.parametrize("unit", [1e-200, 1e150])
def test_intervals_are_in_the_unit_of_the_target(machine, unit):
    X, y = linear_rows(300)
    other = AutoRegressor(**QUICK).fit(X, unit * y)
    np.testing.assert_allclose(
        other.predict_interval(X[:20]) / unit, machine.predict_interval(X[:20]), rtol=1e-6
    )


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_variance_beyond_all_numbers_is_infinite():
    X, y = linear_rows(60)
    found = AutoRegressor(**QUICK).fit(X, 1e200 * y).predict_uncertainty(X[:3], by_column=False)
    assert np.isposinf(found.noise).all()


def test_complete_training_rows_and_a_table_of_more_columns_than_rows():
    X, y = linear_rows(120, rate=0.0)
    machine = AutoRegressor(**QUICK).fit(X, y)
    assert machine.error_scale_.lines[0, 1] == 0.0
    hidden = X[:4].copy()
    hidden[:, :3] = np.nan
    widths = [np.ptp(machine.predict_interval(rows), axis=1) for rows in (X[:4], hidden)]
    assert (widths[1] > widths[0]).all()
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(25, 60))
    wide[rng.random(wide.shape) < 0.1] = np.nan
    intervals = AutoRegressor(**QUICK).fit(wide, rng.normal(size=25)).predict_interval(wide)
    assert np.isfinite(intervals).all()


def test_lines_without_a_slope_have_one_width_per_level(machine):
    X, _ = linear_rows(50)
    lines = np.tile([1.0, 0.0, 0.0], (len(machine.errors_), 1))
    levels = ErrorScale(np.zeros(0), lines, machine.errors_, np.zeros((len(lines), 1)))
    levels.validate()
    committee = machine.committee_
    half = levels.half_widths(Table(X), 0.9, committee)
    grid = np.linspace(0.0, 1.0, machine.errors_.shape[1])
    widths = [np.interp(0.9, grid, level) for level in machine.errors_]
    expected = np.interp(committee.norm.excess(np.isnan(X)), committee.levels, widths)
    np.testing.assert_allclose(half, expected)


def test_more_hidden_cells_never_make_an_interval_narrower():
    """Levels whose errors fall by chance: the widths are made monotone."""
    lines = np.array([[4.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    scale = ErrorScale(np.zeros(2), lines, np.array([[0.0, 1.0]] * 2), np.zeros((2, 1)))
    levels = SimpleNamespace(
        levels=np.array([0.0, 1.0]),
        norm=SimpleNamespace(excess=lambda mask: np.array([0.0, 0.5, 1.0])),
    )
    widths = scale.half_widths(Table(np.zeros((3, 2))), 0.5, levels)
    np.testing.assert_allclose(widths, [1.0, 1.0, 1.0], rtol=1e-12)


def test_few_holes_in_training_make_no_wide_intervals_of_rows_with_many():
    """Six rows miss a column, by chance those of large errors: a line through them is steep."""
    X, y = linear_rows(300, rate=0.0)
    X[np.argsort(-np.abs(y - X @ [3.0, 2.0, 1.0, 0.5, 0.0]))[:6], 3] = np.nan
    machine = AutoRegressor(**QUICK).fit(X, y)
    new, targets = linear_rows(400, seed=1, rate=0.6)
    lower, upper = machine.predict_interval(new, 0.5).T
    assert 0.4 < ((lower <= targets) & (targets <= upper)).mean() < 0.7


def test_one_gross_error_makes_no_slope():
    """Errors without a trend, one of them enormous where the variance is largest."""
    rng = np.random.default_rng(0)
    variance = np.sort(rng.random(200))
    squared = rng.normal(size=200) ** 2
    squared[-1] = 1e6
    intercept, slope = fit_line(variance, squared)
    # Without the cut the line rises tenfold; the mean of the errors is kept.
    assert slope * variance.max() < 2 * intercept
    assert intercept + slope * variance.mean() == pytest.approx(squared.mean(), rel=0.3)


def test_signed_errors_are_those_of_rows_that_miss_as_much():
    """Half-way between two levels: the mean of their quantiles, in the size of the row."""
    lines = np.array([[1.0, 0.0, 0.0], [9.0, 0.0, 0.0]])
    signed = np.array([[-4.0, 4.0], [-1.0, 2.0]])
    scale = ErrorScale(np.zeros(2), lines, np.array([[0.0, 1.0]] * 2), signed)
    levels = SimpleNamespace(
        levels=np.array([0.0, 1.0]),
        norm=SimpleNamespace(excess=lambda mask: np.array([0.0, 0.5, 1.0])),
    )
    found = scale.signed_errors(Table(np.zeros((3, 2))), levels)
    np.testing.assert_allclose(found, [[-4.0, 4.0], [-5.0, 6.0], [-3.0, 6.0]])


@pytest.mark.parametrize("part", ["lines", "quantiles"])
def test_one_negative_number_is_refused(part):
    given = {"lines": np.ones((2, 3)), "quantiles": np.ones((2, 2))}
    given[part][1, 1] = -1e-3
    with pytest.raises(ValueError, match="must not be negative"):
        ErrorScale(np.ones(2), signed=np.zeros((2, 1)), **given).validate()


def test_an_error_without_a_line_is_divided_by_nothing():
    """One row has an error, at a variance where the line is zero: weights are those of the line."""
    line = fit_line(np.array([0.0, 0.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0, 2.0]))
    np.testing.assert_allclose(line, [0.0, 1.0], atol=2e-2)


def test_the_predictor_is_a_ridge_regression_with_one_percent_per_row():
    """Check the slopes on complete rows, and quantiles of errors in units of the line."""
    X, y = linear_rows(50, rate=0.0)
    density, points = GaussianDensity().fit(X), DrawPoints.sobol(16, 5, 0).matched()
    errors = np.random.default_rng(0).normal(size=(1, 50))
    errors[0, :3] = np.nan
    found = ErrorScale.of(errors, y, (Table(X),), density, points, 11)
    units = (X - X.mean(axis=0)) / X.std(axis=0)
    w = np.linalg.solve(units.T @ units + 0.01 * 50 * np.eye(5), units.T @ (y - y.mean()))
    np.testing.assert_allclose(found.slopes, w / X.std(axis=0), rtol=1e-8)
    size = np.sqrt(np.mean(errors[0, 3:] ** 2))
    np.testing.assert_allclose(found.lines, [[size**2, 0.0, 0.0]], rtol=1e-10, atol=1e-12)
    ratio = errors[0, 3:] / size
    grid = np.linspace(0, 1, 11)
    np.testing.assert_allclose(found.quantiles[0], np.quantile(abs(ratio), grid), rtol=1e-10)
    middles = (np.arange(50) + 0.5) / 50
    np.testing.assert_allclose(found.signed[0], np.quantile(ratio, middles), rtol=1e-10)
