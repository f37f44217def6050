from __future__ import annotations

import numpy as np
import pytest

from absentia.engine.sincos import LARGEST_PHASE, add_sincos, damp_patterns


def cosines_and_sines(phases):
    out = np.empty((1, 2 * len(phases)))
    only, undamped = np.zeros(1, np.intp), np.ones((1, len(phases)))
    add_sincos(phases[None], undamped, only, np.ones(1), only, out, True)
    return np.split(out[0], 2)


@pytest.mark.parametrize("size", [1e-300, 1e-8, 1.0, 30.0, 1e4, LARGEST_PHASE])
def test_sines_and_cosines_are_those_of_numpy(size):
    phases = np.random.default_rng(0).uniform(-size, size, 20000)
    phases[:4] = 0.0, size, -size, size / 3
    cosines, sines = cosines_and_sines(phases)
    assert np.abs(sines - np.sin(phases)).max() < 1e-15
    assert np.abs(cosines - np.cos(phases)).max() < 1e-15


def test_sines_near_multiples_of_pi_keep_their_digits():
    # Where a careless range reduction loses everything.
    phases = np.pi * np.arange(-50000, 50000) / 2
    cosines, sines = cosines_and_sines(phases)
    assert np.abs(sines - np.sin(phases)).max() < 1e-15
    assert np.abs(cosines - np.cos(phases)).max() < 1e-15


def test_the_damping_of_a_pattern_is_that_of_its_conditional_covariance():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((5, 5))
    covariance = root @ root.T + 0.1 * np.eye(5)
    masks = np.array([[0, 0, 0, 0, 0], [0, 1, 0, 1, 0], [1, 1, 1, 1, 1]], dtype=bool)
    frequencies = rng.standard_normal((5, 7))
    conditional = np.zeros((3, 5, 5))
    for A, mask in zip(conditional, masks, strict=True):
        L, O = np.flatnonzero(mask), np.flatnonzero(~mask)  # noqa: E741
        inner = np.linalg.inv(covariance[np.ix_(O, O)])
        A[np.ix_(L, L)] = (
            covariance[np.ix_(L, L)] - covariance[np.ix_(L, O)] @ inner @ covariance[np.ix_(O, L)]
        )
    expected = -0.5 * np.einsum("aj,gab,bj->gj", frequencies, conditional, frequencies)
    by_pattern = np.empty((3, 7))
    precision = np.linalg.inv(covariance)
    damp_patterns(precision, np.diagonal(covariance).copy(), masks, frequencies, by_pattern)
    np.testing.assert_allclose(by_pattern, expected, rtol=1e-10, atol=1e-12)


def test_a_precision_spoilt_by_rounding_damps_no_more_than_the_prior_allows():
    frequencies = np.ones((2, 1))
    out = np.empty((1, 1))
    damp_patterns(-np.eye(2), np.array([2.0, 3.0]), np.ones((1, 2), bool), frequencies, out)
    np.testing.assert_allclose(out, -0.5 * (2.0 + 3.0))
