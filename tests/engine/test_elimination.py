"""The lanes' eliminations against LAPACK, one matrix at a time."""

import numpy as np
import pytest
from numba import njit

from absentia.engine.elimination import factor, solve, sweep
from absentia.engine.lanes import LANES, aligned_empty, exp8, load8, splat8, store8


def _positive_definite(rng, size):
    A = rng.normal(size=(LANES, size, 2 * size))
    return A @ A.transpose(0, 2, 1)


def _lanes(matrices):
    flat = aligned_empty(matrices.size)
    flat[:] = np.moveaxis(matrices, 0, -1).ravel()
    return flat


def _log_determinant(determinant):
    mantissa, exponent = determinant.reshape(2, LANES)
    return np.log(mantissa) + exponent * np.log(2)


@njit
def _solve(work, pivots, size, vector, corner, out):
    store8(out, 0, solve(work, pivots, size, vector, splat8(corner)))


@njit
def _factor(matrix, stride, index, first, size, determinant, any_range, vector, corner, out):
    work, pivots = aligned_empty(size * size * LANES), aligned_empty(size * LANES)
    found = factor(
        matrix, stride, index, first, size, work, pivots, determinant, any_range, vector,
        splat8(corner), -np.inf,
    )  # fmt: skip
    store8(out, 0, found)
    return work, pivots


def _factored(matrices, any_range=False):
    """Return the determinants of whole matrices."""
    size = matrices.shape[1]
    index, determinant = np.arange(size).reshape(1, size), np.empty(2 * LANES)
    vector, out = np.zeros(size * LANES), np.empty(LANES)
    _factor(_lanes(matrices), size, index, 0, size, determinant, any_range, vector, 0.0, out)
    return determinant


@njit
def _exp(x, out):
    for i in range(0, x.size, 8):
        store8(out, i, exp8(load8(x, i)))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 8, 9, 30])
def test_factor_and_solve_match_lapack(size):
    rng = np.random.default_rng(size)
    d = size + 3
    matrices = _positive_definite(rng, d)
    index = np.sort(rng.choice(d, size, replace=False))
    determinant, out = np.empty(2 * LANES), np.empty(LANES)
    index = np.concatenate([np.zeros(d, dtype=np.intp), index]).reshape(1, -1)
    y = rng.normal(size=(LANES, size))
    vector = np.ascontiguousarray(y.T).ravel()
    # The row of the index begins at entry d of it.
    work, pivots = _factor(
        _lanes(matrices), d, index, d, size, determinant, False, vector.copy(), 3.0, out
    )
    index = index[0, d:]
    part = matrices[:, index[:, None], index]
    np.testing.assert_allclose(
        _log_determinant(determinant), np.linalg.slogdet(part)[1], rtol=1e-10, atol=1e-12
    )
    expected = 3.0 - np.einsum("li,li->l", y, np.linalg.solve(part, y[..., None])[..., 0])
    np.testing.assert_allclose(out, expected, rtol=1e-10)
    again = np.empty(LANES)
    _solve(work, pivots, size, vector, 3.0, again)
    np.testing.assert_array_equal(again, out)


def test_determinant_neither_overflows_nor_underflows():
    size = 200
    for scale in (1e-30, 1e30):
        matrices = np.tile(np.eye(size) * scale, (LANES, 1, 1))
        determinant = _factored(matrices)
        np.testing.assert_allclose(_log_determinant(determinant), size * np.log(scale), rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_sweep_inverts(size):
    rng = np.random.default_rng(size)
    matrices = _positive_definite(rng, size)
    flat, determinant = _lanes(matrices), np.empty(2 * LANES)
    sweep(flat, size, np.empty(size * LANES), determinant)
    swept = np.moveaxis(flat.reshape(size, size, LANES), -1, 0)
    expected = -np.linalg.inv(matrices)
    np.testing.assert_allclose(np.tril(swept), np.tril(expected), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        _log_determinant(determinant), np.linalg.slogdet(matrices)[1], rtol=1e-9
    )


def test_exponential_is_within_two_ulps():
    x = np.concatenate([-np.logspace(-12, np.log10(707.0), 40_000), np.linspace(0, 600, 40_000)])
    out = np.empty_like(x)
    _exp(x, out)
    assert np.max(np.abs(out / np.exp(x) - 1)) <= 2 * np.finfo(float).eps
    edge, result = np.array([0.0, -709.0, -1e300, -np.inf, 0, 0, 0, 0]), np.empty(8)
    _exp(edge, result)
    np.testing.assert_array_equal(result, [1, 0, 0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize("scale", [1e-250, 1e-80, 1e80, 1e250])
def test_determinants_of_any_range(scale):
    matrices = np.repeat(np.diag(np.full(7, scale))[None], LANES, axis=0)
    determinant = _factored(matrices, any_range=True)
    np.testing.assert_allclose(_log_determinant(determinant), 7 * np.log(scale), rtol=1e-12)
