"""A metric learned from gradients, against differences and on tables with a known direction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from absentia import (
    Chunks,
    FourierFeatures,
    GaussianDensity,
    LargeScaleLogisticRegression,
    LargeScaleRidge,
    LargeScaleSVC,
    MixedDensity,
)
from absentia.machines.large_scale.learned_metric import average_gradient_product


def table(n=1500, d=6, seed=0):
    """A target that changes along the sum of two columns, and no other direction."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(1.5 * (X[:, 0] + X[:, 1])) + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def test_gradients_are_those_of_differences():
    X, _ = table(n=40, d=3)
    P = GaussianDensity().fit(X).condition(X)
    features = FourierFeatures(32, random_state=0).fit(P)
    coef = np.random.default_rng(0).normal(size=(2, 32))
    wanted, h = np.zeros((3, 3)), 1e-5
    gradients = np.empty((40, 2, 3))
    for j in range(3):
        step = h * np.eye(3)[j]
        ahead, behind = (
            features.transform(P.transform(np.eye(3), s * step)) @ coef.T for s in (1, -1)
        )
        gradients[:, :, j] = (ahead - behind) / (2 * h)
    for row in gradients:
        wanted += row.T @ row / 40
    found = average_gradient_product(features, coef, features.transform(P))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


def test_the_direction_is_found_and_predictions_gain():
    X, y = table()
    machines = [
        LargeScaleRidge(n_components=200, alpha=0.1, metric=metric, random_state=0)
        for metric in ("euclidean", "learned")
    ]
    one, own = (machine.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) for machine in machines)
    assert own > one + 0.1
    metric = machines[1].features_.metric
    direction = np.linalg.eigh(metric)[1][:, -1]
    assert abs(direction[:2].sum()) / np.sqrt(2) > 0.98


@pytest.mark.parametrize("make", [LargeScaleSVC, LargeScaleLogisticRegression])
def test_classifiers_learn_it_too(make):
    X, y = table(n=900)
    machine = make(n_components=101, C=10, metric="learned", random_state=0).fit(X, y > 0)
    direction = np.linalg.eigh(machine.features_.metric)[1][:, -1]
    assert abs(direction[:2].sum()) / np.sqrt(2) > 0.9
    again = make(n_components=101, C=10, metric="learned", random_state=0).fit(X, y > 0)
    np.testing.assert_array_equal(again.coef_, machine.coef_)


def test_noise_keeps_the_euclidean_metric_or_does_no_harm():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), rng.normal(size=600)
    machine = LargeScaleRidge(n_components=100, alpha=10.0, metric="learned", random_state=0)
    assert machine.fit(X[:400], y[:400]).score(X[400:], y[400:]) > -0.3


def test_several_targets_weights_frames_and_beliefs():
    X, y = table(n=400)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["word"] = np.where(np.arange(400) % 2, "odd", "even")
    both = np.column_stack([y, -y])
    weights = np.random.default_rng(0).uniform(0.5, 2, 400)
    make = LargeScaleRidge(n_components=50, metric="learned", random_state=0)
    assert make.fit(frame, both, sample_weight=weights).predict(frame).shape == (400, 2)
    P = GaussianDensity().fit(X).condition(X)
    assert make.fit(P, y).predict(P).shape == (400,)


@pytest.mark.parametrize(
    "make", [LargeScaleRidge, LargeScaleSVC, LargeScaleLogisticRegression], ids=lambda m: m.__name__
)
def test_rows_of_weight_zero_do_not_count(make):
    X, y = table(n=200)
    y = y if make is LargeScaleRidge else y > 0
    X[60:, 5] = np.nan  # which is known in rows of weight zero only
    weights = np.where(np.arange(200) < 60, 0.0, 1.5)
    machine = make(n_components=50, metric="learned", random_state=0)
    with pytest.warns(UserWarning, match="missing in every training row"):
        found = machine.fit(X, y, sample_weight=weights).features_.metric
    with pytest.warns(UserWarning, match="missing in every training row"):
        without = machine.fit(X[60:], y[60:], sample_weight=weights[60:]).features_.metric
    np.testing.assert_allclose(found, without, rtol=1e-6, atol=1e-9)


def test_weights_are_used_in_the_average_of_gradients():
    X, _ = table(n=40, d=3)
    P = GaussianDensity().fit(X).condition(X)
    features = FourierFeatures(32, random_state=0).fit(P)
    coef, Z = np.random.default_rng(0).normal(size=(2, 32)), features.transform(P)
    twice = np.repeat([1, 2], 20)
    found = average_gradient_product(features, coef, Z, twice.astype(float))
    repeated = average_gradient_product(features, coef, np.repeat(Z, twice, axis=0))
    np.testing.assert_allclose(found, repeated, rtol=1e-10)


def test_columns_that_the_sample_never_sees(monkeypatch):
    from absentia.machines.large_scale import learned_metric

    X, y = table(n=400)
    monkeypatch.setattr(learned_metric, "MOST_ROWS", 100)
    sample = np.random.RandomState(0).permutation(400)[:100]
    X[sample, 5] = np.nan
    with pytest.warns(UserWarning, match="missing in every training row"):
        machine = LargeScaleRidge(n_components=50, metric="learned", random_state=0).fit(X, y)
    assert machine.features_.metric.shape == (6, 6)


def test_a_given_metric_is_that_of_the_features():
    X, y = table(n=300)
    M = np.diag([2.0, 2.0, 0.1, 0.1, 0.1, 0.1])
    machine = LargeScaleRidge(n_components=50, metric=M, random_state=0).fit(X, y)
    features = FourierFeatures(50, metric=M, random_state=0)
    other = LargeScaleRidge(features).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), other.predict(X), rtol=1e-10)


def test_what_cannot_be_learned_is_refused():
    X, y = table(n=60)
    with pytest.raises(ValueError, match="metric is for Fourier features"):
        LargeScaleRidge("nystroem", 20, metric="learned").fit(X, y)
    with pytest.raises(ValueError, match="gamma, metric, mask_weight or category_weight was given"):
        LargeScaleRidge(FourierFeatures(20), metric="learned").fit(X, y)
    with pytest.raises(ValueError, match="rows in memory"):
        LargeScaleRidge(n_components=20, metric="learned").fit(Chunks([(X, y)]))
    labels = np.full(60, "a")
    labels[np.random.RandomState(0).permutation(60)[0]] = "b"  # held out
    with pytest.raises(ValueError, match="too few rows"):
        LargeScaleSVC(n_components=20, metric="learned").fit(X, labels)


def test_categories_keep_weights_of_their_own():
    X, y = table(n=400)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["word"] = np.where(np.arange(400) % 2, "odd", "even")
    machine = LargeScaleRidge(
        n_components=50,
        metric="learned",
        density=MixedDensity(n_components=1),
        random_state=0,
    ).fit(frame, y)
    assert machine.features_.metric.shape == (6, 6)
