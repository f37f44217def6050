from __future__ import annotations

from itertools import product

import numpy as np

from absentia import GaussianDensity, MaskFeatures, MaskKernel
from absentia.features.fourier import mask_frequencies


def test_over_all_signs_the_features_are_the_mask_kernel_exactly():
    weights = np.array([0.2, 1.0, 3.0])
    masks = np.array(list(product([0.0, 1.0], repeat=3)))
    angles = np.arccos(np.exp(-weights))
    phases = masks @ (angles[:, None] * np.array(list(product([-1.0, 1.0], repeat=3))).T)
    waves = np.concatenate([np.cos(phases), np.sin(phases)], axis=1) / np.sqrt(8)
    differing = np.abs(masks[:, None] - masks) @ weights
    np.testing.assert_allclose(waves @ waves.T, np.exp(-differing), atol=1e-12)


def test_frequencies_are_signs_times_the_angle():
    weights = np.array([0.0, 0.7])
    V = mask_frequencies(100, weights, 2, np.random.RandomState(0))
    np.testing.assert_allclose(np.abs(V), np.broadcast_to(np.arccos(np.exp(-weights)), V.T.shape).T)
    assert 25 < (V[1] > 0).sum() < 75


def test_signs_have_less_variance_than_gaussian_frequencies():
    rng = np.random.RandomState(0)
    masks = rng.rand(40, 8) < 0.4
    differing = (masks[:, None] != masks).sum(axis=2)
    K = np.exp(-0.3 * differing)

    def error(draw):
        squares = []
        for _ in range(200):
            phases = masks @ draw()
            squares.append(((np.cos(phases[:, None] - phases).mean(axis=2) - K) ** 2).mean())
        return np.mean(squares)

    signs = error(lambda: mask_frequencies(16, np.full(8, 0.3), 8, rng))
    gaussian = error(lambda: np.sqrt(2 * 0.3) * rng.standard_normal((8, 16)))
    assert signs < gaussian


def test_only_the_mask_counts():
    nothing = np.nan
    X = np.array(
        [
            [1.0, nothing, 3.0, nothing, nothing],
            [4.0, nothing, 6.0, nothing, nothing],
            [1.0, 2.0, 3.0, 4.0, 5.0],
            [nothing, 2.0, nothing, 4.0, nothing],
        ]
    )
    features = MaskFeatures(4000, weight=0.4, random_state=0)
    Z = features.fit_transform(X)
    np.testing.assert_array_equal(Z[0], Z[1])
    P = GaussianDensity().fit(X).condition(X)
    np.testing.assert_allclose(Z @ Z.T, MaskKernel(0.4)(P), atol=5 / np.sqrt(4000))  # deviations
    np.testing.assert_array_equal(features.transform(P), Z)
