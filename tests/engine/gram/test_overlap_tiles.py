"""The matrices of patterns for overlaps against NumPy, in lanes and by LAPACK."""

from __future__ import annotations

import numpy as np
import pytest

from absentia.engine.gram.overlap_tiles import overlap_parts


def _parts(sums, masks):
    """Return the matrices of some patterns and ``log det(I + E)``, as flat arrays hold them."""
    sizes = masks.sum(axis=1)
    index = np.zeros(masks.shape, dtype=np.intp)
    for g, mask in enumerate(masks):
        index[g, : sizes[g]] = np.flatnonzero(mask)
    starts = np.cumsum(sizes**2) - sizes**2
    F, log_ratios = np.zeros(int((sizes**2).sum())), np.empty(len(masks))
    order = np.argsort(sizes, kind="stable")
    overlap_parts(0, len(masks), order, sums, index, sizes, starts, F, log_ratios)
    matrices = [F[s : s + k * k].reshape(k, k) for s, k in zip(starts, sizes, strict=True)]
    return matrices, log_ratios


def _problem(rng, n, d, scales):
    root = rng.normal(size=(d, 2 * d)) / np.sqrt(d)
    precision = root @ root.T * np.outer(scales, scales)
    masks = rng.random((n, d)) < np.linspace(0.1, 0.9, n)[:, None]
    masks[0], masks[1] = False, True
    return precision, masks


@pytest.mark.parametrize("spread", [1.0, 1e3])
def test_matrices_and_determinants_are_those_of_numpy(spread):
    rng = np.random.default_rng(0)
    d = 23
    precision, masks = _problem(rng, 19, d, np.geomspace(1, spread, d))
    matrices, log_ratios = _parts(np.eye(d) + precision, masks)
    for mask, F, log_ratio in zip(masks, matrices, log_ratios, strict=True):
        E = np.linalg.inv(precision[np.ix_(mask, mask)])
        whole = np.eye(len(E)) + E
        scale = np.sqrt(np.outer(np.diagonal(E), np.diagonal(E)))
        np.testing.assert_allclose(F / scale, E @ np.linalg.inv(whole) / scale, rtol=0, atol=1e-11)
        np.testing.assert_allclose(log_ratio, np.linalg.slogdet(whole)[1], rtol=1e-10, atol=1e-12)
        assert np.array_equal(F, F.T)


def test_a_pattern_has_the_same_bits_whatever_is_beside_it():
    rng = np.random.default_rng(1)
    precision, masks = _problem(rng, 21, 17, np.ones(17))
    sums = np.eye(17) + precision
    matrices, log_ratios = _parts(sums, masks)
    for g in range(len(masks)):
        (alone,), (log_ratio,) = _parts(sums, masks[g : g + 1])
        assert np.array_equal(alone, matrices[g])
        assert log_ratio == log_ratios[g]
