from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion

from absentia import (
    Beliefs,
    ExpectedRBF,
    FourierFeatures,
    GaussianDensity,
    GenRBF,
    MaskFeatures,
    MaskKernel,
)
from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition
from oracles import fourier as oracle


def table(n=60, d=4, rate=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d))) + 1.0
    X[rng.random(X.shape) < rate] = np.nan
    X[0], X[1] = np.nan, np.arange(d)
    return X


def mixture_prior(d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((k, d, d))
    covariances = roots @ roots.transpose(0, 2, 1) / d + 0.2 * np.eye(d)
    return Prior(np.array([0.5, 0.3, 0.2])[:k], rng.standard_normal((k, d)), covariances)


def one_gaussian(d=4):
    prior = mixture_prior(d)
    return Prior(np.ones(1), prior.means[:1], prior.covariances[:1])


@pytest.mark.parametrize("prior", [one_gaussian(), mixture_prior()], ids=["gaussian", "mixture"])
def test_features_are_the_characteristic_functions_of_the_beliefs(prior):
    X = table()
    beliefs, _ = condition(prior, X)
    features = FourierFeatures(10, normalize=False, gamma=0.3, random_state=0).fit(beliefs)
    Z = features.transform(beliefs)
    for x, z in zip(X, Z, strict=True):
        components = oracle.conditioned(prior.weights, prior.means, prior.covariances, x)
        centred = [(w, a - features.center_, A) for w, a, A in components]
        for j, w in enumerate(features.frequencies_.T):
            expected = np.array(oracle.expected_waves(centred, w)) / np.sqrt(5)
            np.testing.assert_allclose(z[[j, 5 + j]], expected, atol=1e-10)


def test_features_agree_with_draws_from_the_beliefs():
    prior = mixture_prior()
    X = table(12)
    beliefs, _ = condition(prior, X)
    features = FourierFeatures(8, normalize=False, gamma=0.2, random_state=1).fit(beliefs)
    Z = features.transform(beliefs) * 2
    rng = np.random.default_rng(0)
    for x, z in zip(X, Z, strict=True):
        components = oracle.conditioned(prior.weights, prior.means, prior.covariances, x)
        phases = (oracle.draws(components, 20000, rng) - features.center_) @ features.frequencies_
        waves = np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
        error = waves.std(axis=0) / np.sqrt(len(waves)) + 1e-12
        assert (np.abs(waves.mean(axis=0) - z) < 5 * error + 1e-9).all()


@pytest.mark.parametrize("normalize", [True, False])
def test_complete_rows_have_the_textbook_features(normalize):
    X = np.random.default_rng(0).standard_normal((30, 3))
    features = FourierFeatures(20, normalize=normalize, random_state=0).fit(X)
    phases = (X - features.center_) @ features.frequencies_
    textbook = np.concatenate([np.cos(phases), np.sin(phases)], axis=1) / np.sqrt(10)
    np.testing.assert_allclose(features.transform(X), textbook, atol=1e-13)


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("prior", [one_gaussian(), mixture_prior()], ids=["gaussian", "mixture"])
def test_inner_products_average_to_the_expected_kernel(prior, orthogonal, metric):
    beliefs, _ = condition(prior, table(12))
    K = ExpectedRBF(gamma=0.3, metric=metric)(beliefs, beliefs)
    draws = []
    for seed in range(60):
        features = FourierFeatures(
            64, gamma=0.3, metric=metric, normalize=False, orthogonal=orthogonal, random_state=seed
        )
        Z = features.fit_transform(beliefs)
        draws.append(Z @ Z.T)
    error = np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(np.mean(draws, axis=0) - K) < 5 * error + 1e-12).all()


def test_normalised_features_approach_genrbf_at_the_rate_of_theory():
    beliefs, _ = condition(one_gaussian(), table(40))
    K = GenRBF(gamma=0.3)(beliefs)

    def error(n_components):
        squares = []
        for seed in range(12):
            features = FourierFeatures(n_components, gamma=0.3, orthogonal=False, random_state=seed)
            Z = features.fit_transform(beliefs)
            squares.append(((Z @ Z.T - K) ** 2).mean())
        return np.sqrt(np.mean(squares))

    # Sixteen times the features, a quarter of the error; 20 % for chance.
    assert error(64) / error(1024) == pytest.approx(4, rel=0.2)
    assert error(1024) < 1.2 / np.sqrt(1024)


def test_orthogonal_frequencies_have_less_variance():
    X = np.random.default_rng(0).standard_normal((40, 6))
    K = GenRBF(gamma=0.1)(GaussianDensity().fit(X).condition(X))

    def error(orthogonal):
        fits = [
            FourierFeatures(48, gamma=0.1, orthogonal=orthogonal, random_state=s).fit_transform(X)
            for s in range(30)
        ]
        return np.mean([((Z @ Z.T - K) ** 2).mean() for Z in fits])

    assert error(True) < 0.7 * error(False)


def test_a_wholly_missing_row_is_the_prior_and_has_unit_length():
    prior = mixture_prior()
    beliefs, _ = condition(prior, np.full((1, 4), np.nan))
    raw = FourierFeatures(6, gamma=0.4, normalize=False, random_state=0).fit(beliefs)
    components = list(zip(prior.weights, prior.means - raw.center_, prior.covariances, strict=True))
    expected = np.array([oracle.expected_waves(components, w) for w in raw.frequencies_.T])
    np.testing.assert_allclose(
        raw.transform(beliefs)[0], expected.T.ravel() / np.sqrt(3), atol=1e-12
    )
    unit = clone(raw).set_params(normalize=True).fit(beliefs).transform(beliefs)
    np.testing.assert_allclose(np.linalg.norm(unit), 1.0)


def test_given_moments_are_damped_like_missing_values():
    rng = np.random.default_rng(3)
    means, variances = rng.standard_normal((20, 3)), rng.uniform(0, 2, (20, 3))
    beliefs = Beliefs.from_moments(means, variances)
    features = FourierFeatures(12, gamma=0.2, normalize=False, random_state=0).fit(beliefs)
    phases = (means - features.center_) @ features.frequencies_
    size = np.exp(-0.5 * variances @ features.frequencies_**2) / np.sqrt(6)
    expected = np.concatenate([size * np.cos(phases), size * np.sin(phases)], axis=1)
    np.testing.assert_allclose(features.transform(beliefs), expected, atol=1e-12)
    with pytest.raises(ValueError, match="fitted on Beliefs"):
        features.transform(means)


def test_features_append_to_a_sum_of_kernels():
    X = table(30)
    beliefs = GaussianDensity().fit(X).condition(X)
    K = GenRBF(gamma=0.2)(beliefs) + MaskKernel(0.5)(beliefs)
    union = FeatureUnion(
        [
            ("values", FourierFeatures(10000, gamma=0.2, random_state=0)),
            ("mask", MaskFeatures(10000, weight=0.5, random_state=0)),
        ]
    )
    Z = union.fit_transform(X)
    assert np.abs(Z @ Z.T - K).max() < 10 / np.sqrt(10000)


def test_a_frozen_density_is_kept_and_a_column_may_have_no_mask_weight():
    X = table(40)
    density = GaussianDensity().fit(X)
    weights = np.array([0.3, 0.0, 1.0, 0.1])
    features = FourierFeatures(
        20000, gamma=0.2, mask_weight=weights, density=FrozenEstimator(density), random_state=0
    )
    Z = features.fit_transform(X)
    K = (GenRBF(gamma=0.2) * MaskKernel(weights))(density.condition(X))
    assert np.abs(Z @ Z.T - K).max() < 6 / np.sqrt(20000)
    assert features.density_.estimator is density


def test_rows_do_not_depend_on_their_neighbours_or_on_threads():
    prior = mixture_prior()
    X = table(300)
    beliefs, _ = condition(prior, X)
    features = FourierFeatures(600, random_state=0).fit(beliefs)
    Z = features.transform(beliefs)
    np.testing.assert_allclose(features.transform(beliefs[100:170]), Z[100:170], atol=1e-12)
    np.testing.assert_array_equal(features.set_params(n_jobs=2).transform(beliefs), Z)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_odd_scales_and_offsets_stay_finite(scale):
    X = table(50)
    X[:, 0] = 1e9 + scale * X[:, 0]
    X[:, 1] = 7.0
    for gamma in ("scale", 1e6):
        Z = FourierFeatures(20, gamma=gamma, random_state=0).fit_transform(X)
        np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0)


def test_the_origin_of_the_columns_does_not_matter():
    X = table(50)
    near = FourierFeatures(40, gamma=0.1, random_state=0).fit_transform(X)
    # 1e-6: an offset of a million costs six digits of every value before we see it.
    far = FourierFeatures(40, gamma=0.1, random_state=0).fit_transform(X + 1e6)
    np.testing.assert_allclose(near @ near.T, far @ far.T, atol=1e-6)


def test_a_column_without_values_is_left_out():
    X = table(40)
    X[:, 2] = np.nan
    with pytest.warns(UserWarning, match="missing in every training row"):
        features = FourierFeatures(8, random_state=0).fit(X)
    assert features.frequencies_.shape == (3, 4)
    Z = features.transform(X)
    np.testing.assert_array_equal(features.transform(features.density_.condition(X)), Z)


@pytest.mark.parametrize("n_components", [1, 3, 7])
def test_an_odd_number_of_features_has_no_bias_either(n_components):
    beliefs, _ = condition(mixture_prior(), table(8))
    K = (ExpectedRBF(gamma=0.3) * MaskKernel(0.4))(beliefs, beliefs)
    draws = []
    for seed in range(400):
        features = FourierFeatures(
            n_components, gamma=0.3, mask_weight=0.4, normalize=False, random_state=seed
        )
        Z = features.fit_transform(beliefs)
        assert Z.shape == (8, n_components)
        draws.append(Z @ Z.T)
    error = np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(np.mean(draws, axis=0) - K) < 5 * error).all()
    unit = FourierFeatures(n_components, random_state=0).fit_transform(beliefs)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0)
    assert MaskFeatures(n_components).fit_transform(table()).shape[1] == n_components


def test_bad_tables_and_parameters_are_refused():
    X = table()
    with pytest.raises(ValueError, match="Infinity"):
        FourierFeatures().fit(np.where(np.isnan(X), np.inf, X))
    with pytest.raises(ValueError, match="gamma must be"):
        FourierFeatures(gamma=-1.0).fit(X)
    with pytest.raises(ValueError, match="metric must be"):
        FourierFeatures(metric="manhattan").fit(X)
    with pytest.raises(ValueError, match="mask_weight must be"):
        FourierFeatures(mask_weight=-1.0).fit(X)
    with pytest.raises(ValueError, match="density must be one of"):
        FourierFeatures(density="uniform").fit(X)
    features = FourierFeatures(8).fit(X)
    with pytest.raises(ValueError, match="5 features"):
        features.transform(np.ones((2, 5)))


@pytest.mark.parametrize("unit", [1.0, 1000.0])
@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
def test_the_width_called_scale_is_that_of_the_kernel_in_any_metric(metric, unit):
    X = unit * table()
    features = FourierFeatures(4000, metric=metric, random_state=0)
    Z = features.fit_transform(X)
    kernel = GenRBF(metric=metric).resolve(features.density_.prior_)
    assert features.gamma_ == pytest.approx(kernel.gamma, rel=1e-12)
    # The error of 2000 random frequencies, not of the code.
    assert np.abs(Z @ Z.T - kernel(features.density_.condition(X))).max() < 0.1
