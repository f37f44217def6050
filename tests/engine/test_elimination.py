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
def _exp(x, out):
    for i in range(0, x.size, 8):
        store8(out, i, exp8(load8(x, i)))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 8, 9, 30])
def test_factor_and_solve_match_lapack(size):
    rng = np.random.default_rng(size)
    d = size + 3
    matrices = _positive_definite(rng, d)
    index = np.sort(rng.choice(d, size, replace=False))
    work, pivots = aligned_empty(size**2 * LANES + 8), aligned_empty(size * LANES + 8)
    determinant, out = np.empty(2 * LANES), np.empty(LANES)
    factor(_lanes(matrices), d, index, size, work, pivots, determinant)
    part = matrices[:, index[:, None], index]
    np.testing.assert_allclose(
        _log_determinant(determinant), np.linalg.slogdet(part)[1], rtol=1e-10, atol=1e-12
    )
    y = rng.normal(size=(LANES, size))
    vector = np.ascontiguousarray(y.T).ravel()
    _solve(work, pivots, size, vector, 3.0, out)
    expected = 3.0 - np.einsum("li,li->l", y, np.linalg.solve(part, y[..., None])[..., 0])
    np.testing.assert_allclose(out, expected, rtol=1e-10)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 13])
def test_a_vector_is_solved_for_on_the_way_to_the_same_bits(size):
    rng = np.random.default_rng(size)
    d = size + 2
    flat = _lanes(_positive_definite(rng, d))
    index = np.zeros((2, d), dtype=np.intp)
    index[1, :size] = np.sort(rng.choice(d, size, replace=False))
    work, pivots = aligned_empty(size**2 * LANES), aligned_empty(size * LANES)
    determinant, out = np.empty(2 * LANES), np.empty(LANES)
    vector = aligned_empty((size + 1) * LANES)
    vector[:] = rng.normal(size=vector.size)
    y, vector[size * LANES :] = vector[: size * LANES].copy(), 3.0
    # The row of the index begins at entry d of it.
    factor(flat, d, index, size, work, pivots, determinant, False, d, vector)
    again, pivots_again = aligned_empty(size**2 * LANES), aligned_empty(size * LANES)
    factor(flat, d, index[1].copy(), size, again, pivots_again, determinant)
    _solve(again, pivots_again, size, y, 3.0, out)
    np.testing.assert_array_equal(vector[size * LANES :], out)
    np.testing.assert_array_equal(pivots, pivots_again)


def test_determinant_neither_overflows_nor_underflows():
    size = 200
    for scale in (1e-30, 1e30):
        matrices = np.tile(np.eye(size) * scale, (LANES, 1, 1))
        determinant = np.empty(2 * LANES)
        work, pivots = aligned_empty(size**2 * LANES), aligned_empty(size * LANES)
        factor(_lanes(matrices), size, np.arange(size), size, work, pivots, determinant)
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
    work, pivots = aligned_empty(49 * LANES), aligned_empty(7 * LANES)
    determinant = np.empty(2 * LANES)
    factor(_lanes(matrices), 7, np.arange(7), 7, work, pivots, determinant, True)
    np.testing.assert_allclose(_log_determinant(determinant), 7 * np.log(scale), rtol=1e-12)
