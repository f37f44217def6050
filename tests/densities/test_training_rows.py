"""Densities of normal scores against the transformation by hand, and back in the user's units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression

from absentia import (
    SVC,
    Chunks,
    GaussianDensity,
    MarginalClassifier,
    MixedDensity,
    MixtureDensity,
    bounded,
    load,
    measure_next,
    save,
)
from oracles import copula


def skewed(n=80, seed=0):
    """Return columns of a lognormal and of a bounded shape, correlated, a quarter missing."""
    rng = np.random.default_rng(seed)
    Z = rng.multivariate_normal([0, 0, 0], [[1, 0.8, 0.4], [0.8, 1, 0.5], [0.4, 0.5, 1]], size=n)
    X = np.column_stack([np.exp(2 * Z[:, 0]), Z[:, 1], 1 / (1 + np.exp(-3 * Z[:, 2]))])
    X[rng.random(X.shape) < 0.25] = np.nan
    return X


DENSITIES = [
    GaussianDensity(margins="normal-scores"),
    MixtureDensity(2, margins="normal-scores", random_state=0),
    MixedDensity(2, margins="normal-scores", random_state=0),
]


@pytest.mark.parametrize("density", DENSITIES)
def test_it_is_the_density_of_scores(density):
    X = skewed()
    density = clone(density).fit(X)
    Z = copula.scores_of(X, X)
    plain = clone(density).set_params(margins=None).fit(Z)
    np.testing.assert_allclose(density.prior_.means, plain.prior_.means, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(density.prior_.covariances, plain.prior_.covariances, rtol=1e-10)
    np.testing.assert_allclose(density.condition(X).mean(), plain.condition(Z).mean(), rtol=1e-10)
    # The volume that a value's neighbourhood has in scores, by differences within one segment.
    new = np.array([[0.7, 0.3, 0.51], [1.9, np.nan, 0.22], [np.nan, -0.4, np.nan]])
    up, down = (copula.scores_of(new + step, X) for step in (1e-6, -1e-6))
    stretched = np.nansum(np.log((up - down) / 2e-6), axis=1)
    np.testing.assert_allclose(
        density.score_samples(new),
        plain.score_samples(copula.scores_of(new, X)) + stretched,
        rtol=1e-8,  # as good as the differences
        atol=1e-8,
    )
    assert (np.diff(density.log_likelihoods_) >= 0).all()


@pytest.mark.parametrize("density", DENSITIES[:2])
def test_imputed_values_are_conditional_means_in_units_of_the_table(density):
    X = skewed()
    density = clone(density).fit(X)
    imputed = density.impute(X)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(imputed[seen], X[seen])
    beliefs = density.condition(X)
    covariances = beliefs.covariances.dense(beliefs.group_of_row)
    for i, j in np.argwhere(~seen)[:6]:
        expected = sum(
            weight * copula.mean_of_value(mean, np.sqrt(variance), X[:, j])
            for weight, mean, variance in zip(
                beliefs.weights()[i], beliefs.means[i, :, j], covariances[i, :, j, j], strict=True
            )
        )
        assert imputed[i, j] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("density", DENSITIES)
def test_draws_and_quantiles_agree(density):
    X = skewed()
    density = clone(density).fit(X)
    row = np.array([[np.nan, 0.5, np.nan]])
    draws = np.array(density.draw(row, 4000, random_state=0))[:, 0]
    assert (draws[:, 1] == 0.5).all()
    for j in (0, 2):
        found = density.quantiles(row, [0.1, 0.5, 0.9])[:, 0, j]
        shares = (draws[:, j, None] < found).mean(axis=0)
        np.testing.assert_allclose(shares, [0.1, 0.5, 0.9], atol=5 * 0.5 / np.sqrt(4000))
        error = draws[:, j].std() / np.sqrt(4000)
        assert abs(draws[:, j].mean() - density.impute(row)[0, j]) < 5 * error
    assert (density.quantiles(row, 0.3)[0, 0, 1]) == 0.5
    drawn = density.sample(4000, random_state=0)
    spread = np.nanquantile(X, [0.25, 0.75], axis=0)
    shares = ((drawn > spread[0]) & (drawn < spread[1])).mean(axis=0)
    np.testing.assert_allclose(shares, 0.5, atol=0.12)  # quartiles of 60 values
    with pytest.raises(ValueError, match="levels"):
        density.quantiles(row, [0.0, 1.0])


def test_quantiles_without_margins_are_those_of_the_gaussian():
    X = skewed()[:, 1:2]
    density = GaussianDensity().fit(X)
    found = density.quantiles([[np.nan]], [0.5, 0.975])[:, 0, 0]
    deviation = np.sqrt(density.covariance_[0, 0])
    expected = density.mean_[0] + deviation * np.array([0.0, 1.959963984540054])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_units_and_monotone_maps_do_not_matter():
    X = skewed()
    density = GaussianDensity(margins="normal-scores").fit(X)
    scaled = GaussianDensity(margins="normal-scores").fit(1e6 * X - 3)
    np.testing.assert_allclose(scaled.covariance_, density.covariance_, rtol=1e-8)
    cubed = np.column_stack([X[:, :1] ** 3, X[:, 1:]])
    other = GaussianDensity(margins="normal-scores").fit(cubed)
    # Ranks are the same; between knots the curves are lines in different units.
    np.testing.assert_allclose(other.covariance_, density.covariance_, rtol=0.01)


def test_limits_are_scored_too():
    X = skewed()
    hidden = X[:, 0] < 0.2
    table = bounded(np.where(hidden[:, None] & [True, False, False], np.nan, X), upper=[0.2, 9, 9])
    density = GaussianDensity(margins="normal-scores").fit(table)
    assert (density.impute(table)[hidden, 0] < 0.2).all()
    assert np.isfinite(density.score_samples(table)).all()


def test_weights_and_chunks():
    X = skewed()
    density = GaussianDensity(margins="normal-scores").fit(X)
    pieces = Chunks([X[:30], X[30:]])
    streamed = GaussianDensity(margins="normal-scores").fit(pieces)
    np.testing.assert_allclose(streamed.covariance_, density.covariance_, rtol=1e-10)
    np.testing.assert_allclose(streamed.log_likelihoods_, density.log_likelihoods_, rtol=1e-10)
    np.testing.assert_allclose(streamed.impute(pieces).concatenate(), density.impute(X), rtol=1e-9)
    np.testing.assert_allclose(
        streamed.score_samples(pieces).concatenate(), density.score_samples(X), rtol=1e-9
    )
    weights = np.random.default_rng(1).integers(0, 3, size=len(X))
    weighted = GaussianDensity(margins="normal-scores").fit(X, sample_weight=weights)
    repeated = GaussianDensity(margins="normal-scores").fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-8)
    np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-7)


def test_few_values_constants_and_lost_columns():
    X = np.column_stack([skewed(), np.arange(80) % 3, np.full(80, 7.0), np.full(80, np.nan)])
    with pytest.warns(UserWarning, match="x5"):
        density = GaussianDensity(margins="normal-scores").fit(X)
    assert len(density.margins_.curves) == 5
    imputed = density.impute(X)
    np.testing.assert_allclose(imputed[:, 3], np.arange(80) % 3)
    np.testing.assert_allclose(imputed[:, 4], 7.0)
    far = density.impute([[1e9, np.nan, np.nan, np.nan, np.nan, np.nan]])
    assert np.isfinite(far).all()


def test_mixed_tables_and_frames():
    X = skewed()
    kind = np.where(np.arange(80) % 3 == 0, "red", "blue")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=kind)
    density = MixedDensity(2, margins="normal-scores", random_state=0).fit(frame)
    imputed = density.impute(frame)
    assert imputed["a"].min() > 0
    assert set(density.draw(frame, random_state=0)["kind"]) == {"red", "blue"}
    assert len(density.draw(frame, 2, random_state=0)) == 2
    seen = frame["a"].notna()
    np.testing.assert_allclose(imputed["a"][seen], frame["a"][seen], rtol=1e-12)


def test_machines_wrappers_and_files(tmp_path):
    X = skewed(120)
    y = np.nan_to_num(X[:, 1]) > 0
    machine = SVC(density=GaussianDensity(margins="normal-scores")).fit(X, y)
    Z = copula.scores_of(X, X)
    np.testing.assert_allclose(
        machine.decision_function(X), SVC().fit(Z, y).decision_function(Z), rtol=1e-8, atol=1e-8
    )
    save(machine, tmp_path / "machine.absentia")
    again = load(tmp_path / "machine.absentia")
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))
    wrapped = MarginalClassifier(
        PlainLogisticRegression(), density=GaussianDensity(margins="normal-scores"), random_state=0
    ).fit(X, y)
    assert wrapped.score(X, y) > 0.8
    # Draws are in the units of the table, or the model would see scores.
    draws = wrapped.density_.draw(X[:1] * np.nan, 500, random_state=0)
    expected = wrapped.estimator_.predict_proba(draws[:, 0]).mean(axis=0)
    np.testing.assert_allclose(wrapped.predict_proba(X[:1] * np.nan)[0], expected, atol=0.05)
    assert measure_next(wrapped, X[:1] * np.nan).best == ["x1"]


@pytest.mark.parametrize("far", [-1e13, 1e13])
def test_a_gross_outlier_does_not_take_the_digits_of_other_rows(far):
    X = skewed(seed=3)
    X[0] = [1.0, far, 0.5]
    density = GaussianDensity(margins="normal-scores").fit(X)
    curve = density.margins_.curves[1]
    scores = np.linspace(-1, 1, 9)
    values = curve.expected_values(scores, np.full(9, 1e-12))
    np.testing.assert_allclose(values, curve.backward(scores), atol=1e-9)


def test_weights_next_to_zero_do_not_count_for_the_curves():
    X = skewed()
    weights = np.where(np.arange(len(X)) % 2, 1.0, 1e-18)
    density = GaussianDensity(margins="normal-scores").fit(X, sample_weight=weights)
    without = GaussianDensity(margins="normal-scores").fit(X[1::2])
    np.testing.assert_allclose(density.score_samples(X), without.score_samples(X), rtol=1e-6)
