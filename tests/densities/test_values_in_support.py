"""Margins "auto": draws, samples, imputed values and quantiles stay in the support of a column."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer

from absentia import (
    GaussianDensity,
    LowRankDensity,
    MarginalClassifier,
    MarginalRegressor,
    MixedDensity,
    MixtureDensity,
    bounded,
    load,
    save,
)
from absentia.beliefs.column_trials import trapezoidal
from absentia.densities.missing_values import MissingValues
from absentia.tables import Table
from absentia.tables.margins import Margins

KINDS = ["log", "levels", "logit", "log", "linear", "log", "linear"]
DENSITIES = [
    GaussianDensity(margins="auto"),
    MixtureDensity(2, margins="auto", random_state=0),
    LowRankDensity(2, margins="auto", random_state=0),
    MixedDensity(2, margins="auto", random_state=0),
]


def table(n=300, rate=0.3):
    """Positive, 0/1, share, count, any number, positive with zeros, whole and far from zero."""
    rng = np.random.default_rng(0)
    skewed = np.exp(rng.normal(size=n))
    columns = [
        skewed,
        skewed + rng.normal(size=n) > 1.5,
        1 / (1 + np.exp(-np.log(skewed) - rng.normal(size=n))),
        rng.poisson(3 * skewed),
        np.log(skewed) + rng.normal(size=n),
        np.where(rng.random(n) < 0.3, 0.0, 2 * skewed),
        np.round(500 + 20 * rng.normal(size=n)),
    ]
    X = np.column_stack(columns).astype(float)
    X[rng.random(X.shape) < rate] = np.nan
    return X


def assert_inside(rows):
    assert (rows[:, 0] > 0).all()
    assert set(np.unique(rows[:, 1])) <= {0.0, 1.0}
    assert ((rows[:, 2] > 0) & (rows[:, 2] < 1)).all()
    for column in (3, 6):
        np.testing.assert_array_equal(rows[:, column], np.round(rows[:, column]))
    assert (rows[:, [3, 5]] >= 0).all()
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("density", DENSITIES, ids=lambda d: type(d).__name__)
def test_whatever_comes_back_is_in_the_support(density, tmp_path):
    X = table()
    density.fit(X)
    assert density.margins_.kinds == KINDS
    for rows in (density.impute(X), density.draw(X, random_state=0), density.sample(500, 0)):
        assert_inside(rows)
    low, high = density.quantiles(X, [0.01, 0.99])
    assert_inside(low)
    assert_inside(high)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(density.draw(X, random_state=0)[seen], X[seen])
    save(density, tmp_path / "density.absentia")
    np.testing.assert_array_equal(load(tmp_path / "density.absentia").impute(X), density.impute(X))


def test_draws_have_the_levels_and_moments_of_the_columns():
    X = table(2000, 0.0)
    drawn = GaussianDensity(margins="auto").fit(X).sample(20_000, 0)
    np.testing.assert_allclose(drawn[:, 1].mean(), X[:, 1].mean(), atol=0.02)
    np.testing.assert_allclose(
        np.quantile(drawn, [0.25, 0.5, 0.75], axis=0), np.quantile(X, [0.25, 0.5, 0.75], axis=0),
        rtol=0.1, atol=0.15,
    )  # fmt: skip


@pytest.mark.parametrize("transform", [np.log, np.log1p, np.sqrt])
def test_pipelines_with_a_logarithm_predict_incomplete_rows(transform):
    X = table()[:, [0]]
    X = np.column_stack([X, table()[:, 4]])
    complete = np.nan_to_num(X, nan=1.0)
    first = FunctionTransformer(_first_column_through, kw_args={"function": transform})
    model = make_pipeline(first, LogisticRegression())
    marginal = MarginalClassifier(model, random_state=0).fit(X, complete[:, 1] > 0)
    assert np.isfinite(marginal.predict_proba(np.full((2, 2), np.nan))).all()


def _first_column_through(X, function):
    with np.errstate(all="raise"):
        return np.column_stack([function(X[:, 0]), X[:, 1]])


def test_a_pipeline_with_box_cox_in_a_frame_with_words():
    X = table()
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"dose": X[:, 0], "word": rng.choice(["u", "v"], len(X))})
    numbers = pd.DataFrame({"dose": X[:, 0], "more": table()[:, 5] + 1})
    y = np.nan_to_num(X[:, 4])
    box_cox = make_pipeline(PowerTransformer("box-cox"), LinearRegression())
    found = MarginalRegressor(box_cox, random_state=0).fit(numbers, y).predict(numbers)
    assert np.isfinite(found).all()
    density = GaussianDensity(margins="auto").fit(frame)
    assert density.margins_.kinds == ["log", "linear"]
    assert all((drawn["dose"] > 0).all() for drawn in density.draw(frame, 3, random_state=0))


def test_an_upper_limit_of_a_positive_column_begins_at_zero():
    X = table()
    upper = np.full(X.shape, np.inf)
    upper[:50, 0] = 0.4
    X[:50, 0] = np.nan
    rows = bounded(X, upper=upper)
    density = GaussianDensity(margins="auto").fit(rows)
    filled = density.impute(rows)[:50, 0]
    assert ((filled > 0) & (filled < 0.4)).all()


@pytest.mark.parametrize("column", [0, 1, 2, 5])
def test_expected_values_and_slopes_are_those_of_the_curve(column):
    curve = Margins.auto(Table(table(500, 0.0))).curves[column]
    for mean, deviation in [(-0.3, 0.5), (1.0, 0.8)]:
        found = curve.expected_values(np.array(mean), np.array(deviation))
        low, high = mean - 8 * deviation, mean + 8 * deviation
        knots = [k for k in (*curve.scores, *getattr(curve, "cuts", ())) if low < k < high]
        edges = np.unique([low, *knots, high])

        def weighted(z, mean=mean, deviation=deviation):
            return curve.backward(np.array(z)) * norm.pdf(z, mean, deviation)

        expected = sum(quad(weighted, *pair)[0] for pair in pairwise(edges))
        # The trapezoidal rule of a curve with bends.
        np.testing.assert_allclose(found, expected, rtol=1e-2)
    x = np.quantile(table(500, 0.0)[:, column], [0.3, 0.62, 0.9]) + 1e-3
    numerical = (curve.forward(x + 1e-7) - curve.forward(x - 1e-7)) / 2e-7
    np.testing.assert_allclose(curve.slopes(x), numerical, rtol=1e-4)


def test_scores_of_values_come_back():
    X = table(300, 0.0)
    margins = Margins.auto(Table(X))
    np.testing.assert_allclose(margins.backward(margins.forward(X))[:, [0, 2, 3, 4, 5, 6]],
                               X[:, [0, 2, 3, 4, 5, 6]], rtol=1e-9, atol=1e-9)  # fmt: skip


def test_values_that_training_did_not_have_stay_as_they_are():
    X = table()
    model = MarginalRegressor(LinearRegression(), random_state=0).fit(X, np.nan_to_num(X[:, 4]))
    odd = np.full((2, X.shape[1]), np.nan)
    odd[0, :3] = 0.0, 2.0, 1.0
    assert np.isfinite(model.predict(odd)).all()
    np.testing.assert_array_equal(model.density_.draw(odd, random_state=0)[0, :3], odd[0, :3])


@pytest.mark.parametrize("margins", [None, "auto"])
def test_arrays_pandas_and_polars_agree(margins):
    rng = np.random.default_rng(0)
    dose = np.exp(rng.normal(size=80))
    X = np.column_stack([dose, rng.poisson(2 * dose), rng.random(80) < 0.4]).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=["dose", "visits", "smoker"])
    tables = X, frame, pl.from_pandas(frame, nan_to_null=True)
    fitted = [GaussianDensity(margins=margins).fit(table) for table in tables]
    for density, table in zip(fitted[1:], tables[1:], strict=True):
        np.testing.assert_array_equal(density.covariance_, fitted[0].covariance_)
        for method in ("score_samples", "row_pvalues"):
            expected = getattr(fitted[0], method)(X)
            np.testing.assert_array_equal(getattr(density, method)(table), expected)
        filled = density.impute(table, as_numbers=margins is None)
        np.testing.assert_array_equal(np.asarray(filled), fitted[0].impute(X))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_quantiles_of_frames_keep_to_the_ends_without_margins_too(kind):
    X = table()[:, :3]
    X[0, 0] = -1.0  # not a value of the training rows, and observed
    frame = pd.DataFrame(X, columns=["dose", "smoker", "share"])
    frame = frame if kind == "pandas" else pl.from_pandas(frame)
    low, high = GaussianDensity().fit(frame[1:]).quantiles(frame, [0.001, 0.999])
    assert low[0, 0] == high[0, 0] == -1.0
    assert low[1:].min() == 0.0
    assert (high[:, 1:].max(axis=0) <= 1.0).all()
    assert high[:, 0].max() > 1.0


def test_values_to_try_are_those_of_their_own_column():
    """As much weight is below the median of a column as there are training values."""
    X = table()
    density = DENSITIES[0].fit(X)
    unknowns = MissingValues.of(density, [f"x{j}" for j in range(7)], 7)
    rows = Table(np.full((1, 7), np.nan), columns_checked=True)
    trials = unknowns.trials(rows, np.ones((1, 7), dtype=bool), trapezoidal(3))
    for j, start, count in zip(trials.column, trials.starts, trials.counts, strict=True):
        lines, seen = slice(start, start + count), X[~np.isnan(X[:, j]), j]
        points, weights = trials.table.array[lines, j], trials.weights[lines]
        if j != 1:  # zeros and ones have no median between them
            below = weights[points <= np.median(seen)].sum()
            assert below == pytest.approx((seen <= np.median(seen)).mean(), abs=0.15), j
