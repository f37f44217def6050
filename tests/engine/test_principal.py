"""Log determinants of patterns, eight at a time, against NumPy."""

from __future__ import annotations

import numpy as np

from absentia.engine.principal import MOST_IN_LANES, principal_log_determinants

log_determinants = principal_log_determinants.compiled


def _problem(n, d):
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, 2 * d)) * np.geomspace(1e-3, 1e3, d)[:, None]
    masks = rng.random((n, d)) < np.linspace(0.0, 1.0, n)[:, None]
    return root @ root.T, masks


def test_patterns_of_all_sizes_are_those_of_numpy():
    matrix, masks = _problem(37, MOST_IN_LANES + 15)
    assert masks.sum(axis=1).max() > MOST_IN_LANES
    expected = [np.linalg.slogdet(matrix[mask][:, mask])[1] for mask in masks]
    np.testing.assert_allclose(log_determinants(matrix, masks), expected, rtol=1e-11, atol=1e-11)


def test_bits_do_not_depend_on_the_patterns_around():
    matrix, masks = _problem(21, 20)
    together = log_determinants(matrix, masks)
    alone = [log_determinants(matrix, mask[None])[0] for mask in masks]
    np.testing.assert_array_equal(together, alone)


def test_what_is_not_positive_definite_is_nan():
    matrix = np.diag([1.0, -2.0, 3.0, 4.0])
    masks = np.array([[True, False, True, True], [True, True, True, False]])
    result = log_determinants(matrix, masks)
    np.testing.assert_allclose(result[0], np.log(12.0))
    assert np.isnan(result[1])
