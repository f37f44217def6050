"""The low-rank density where machines, predictions and decisions use densities."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression as PlainLogistic

from absentia import (
    SVCCV,
    FourierFeatures,
    GaussianProcessRegressor,
    LogisticRegression,
    LowRankDensity,
    MarginalClassifier,
    load,
    measure_next,
    save,
)


def wide(seed=0, n=60, d=40):
    """Return rows of two factors with holes, and the sign of the first factor."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, 2))
    X = factors @ rng.normal(size=(2, d)) + 0.3 * rng.normal(size=(n, d))
    return np.where(rng.random(X.shape) < 0.4, np.nan, X), factors[:, 0]


def test_any_model_is_averaged_over_its_beliefs():
    X, target = wide()
    model = MarginalClassifier(
        PlainLogistic(max_iter=1000), density=LowRankDensity(2), random_state=0
    ).fit(X[:40], target[:40] > 0)
    assert model.score(X[40:], target[40:] > 0) > 0.8


def test_the_next_measurement_is_ranked():
    X, target = wide()
    machine = LogisticRegression(density=LowRankDensity(2)).fit(X[:40], target[:40] > 0)
    ranked = measure_next(machine, X[40:41])
    assert len(ranked)


def test_uncertainty_and_search_and_features_and_files(tmp_path):
    X, target = wide()
    process = GaussianProcessRegressor(density=LowRankDensity(2)).fit(X[:40], target[:40])
    doubt = process.predict_uncertainty(X[40:])
    assert (doubt.missing >= -1e-9).all()
    search = SVCCV(density="low-rank").fit(X[:40], target[:40] > 0)
    assert search.score(X[40:], target[40:] > 0) > 0.7
    features = FourierFeatures(64, density=LowRankDensity(2), random_state=0).fit(X[:40])
    assert np.isfinite(features.transform(X[40:])).all()
    save(search, tmp_path / "search.absentia")
    again = load(tmp_path / "search.absentia")
    np.testing.assert_array_equal(again.predict(X[40:]), search.predict(X[40:]))
