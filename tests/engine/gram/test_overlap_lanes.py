"""The elimination on overlaps against NumPy, one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from absentia.engine.elimination import factor
from absentia.engine.gram.overlap_lanes import overlap_matrix
from absentia.engine.lanes import LANES, negate8, splat8, store8
from oracles import overlaps as oracle


@njit
def _run(A, B, a, minus_b, size, out):
    pivots, determinants = np.empty(size * LANES), np.empty((2, 2 * LANES))
    product, work = np.empty(size * size * LANES), np.empty(size * size * LANES)
    index, zero = np.arange(size).reshape(1, size), splat8(0.0)
    first = factor(A, size, index, 0, size, work, pivots, determinants[0], False, a, zero, 1e-14)
    store8(out, 0, negate8(first))
    overlap_matrix(work, pivots, B, size, product, a, minus_b)
    second = factor(B, size, index, 0, size, work, pivots, determinants[1], False, a, zero, 1e-40)
    store8(out, LANES, negate8(second))
    for lane in range(LANES):
        before, after = determinants[:, lane]
        exponent = determinants[1, LANES + lane] - determinants[0, LANES + lane]
        out[2 * LANES + lane] = after / before * 2.0**exponent


def _in_lanes(values):
    """Entry (r, c) of eight matrices side by side, the rows one after the other."""
    return np.ascontiguousarray(np.moveaxis(np.asarray(values), 0, -1)).ravel()


def _expected(A, B, a, b):
    rest = np.eye(len(A)) - A @ B
    value = a @ b + (b - B @ a) @ np.linalg.solve(rest, a - A @ b)
    return value, np.linalg.det(rest)


def _matrices(rng, size, largest, rank=None):
    roots = rng.normal(size=(LANES, size, size if rank is None else rank))
    products = roots @ roots.transpose(0, 2, 1)
    return largest * products / np.linalg.eigvalsh(products)[:, -1][:, None, None]


@pytest.mark.parametrize("largest", [1e-12, 0.1, 0.9, 0.999])
@pytest.mark.parametrize("size", [2, 8, 26])
def test_determinants_and_quadratic_forms(size, largest):
    rng = np.random.default_rng(size)
    A, B = _matrices(rng, size, largest), _matrices(rng, size, largest)
    vectors = rng.normal(size=(LANES, size))
    # a lies in the range of A, as products of a whole matrix with a difference do
    a, b = np.einsum("lij,lj->li", A, vectors), rng.normal(size=(LANES, size))
    out = np.empty(3 * LANES)
    _run(_in_lanes(A), _in_lanes(B), a.T.ravel().copy(), -b.T.ravel(), size, out)
    for lane in range(LANES):
        value, determinant = _expected(A[lane], B[lane], a[lane], b[lane])
        np.testing.assert_allclose(out[lane] - out[LANES + lane], value, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(out[2 * LANES + lane], determinant, rtol=1e-11)


def test_columns_that_nearly_determine_each_other_and_columns_of_no_size():
    rng = np.random.default_rng(0)
    size = 10
    A, B = _matrices(rng, size, 0.8, rank=3), _matrices(rng, size, 0.8, rank=2)
    # No less is left of a column by the others where this way is taken.
    A += 1e-6 * A * np.eye(size)
    A[0] = 0.0
    A[2, 3] = A[2, :, 3] = 0.0
    B[1] = 0.0
    vectors = rng.normal(size=(LANES, size))
    a, b = np.einsum("lij,lj->li", A, vectors), np.einsum("lij,lj->li", B, vectors)
    out = np.empty(3 * LANES)
    _run(_in_lanes(A), _in_lanes(B), a.T.ravel().copy(), -b.T.ravel(), size, out)
    for lane in range(LANES):
        value, determinant = _expected(A[lane], B[lane], a[lane], b[lane])
        np.testing.assert_allclose(out[lane] - out[LANES + lane], value, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(out[2 * LANES + lane], determinant, rtol=1e-11)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_identity_behind_it(scale):
    rng = np.random.default_rng(1)
    d = 12
    E = np.zeros((2, d, d))
    missing = [np.array([0, 2, 3, 7, 8]), np.array([1, 3, 7, 9, 10, 11])]
    for k, columns in enumerate(missing):
        root = rng.normal(size=(len(columns), len(columns)))
        E[k][np.ix_(columns, columns)] = scale * root @ root.T
    difference = rng.normal(size=d)
    whole = oracle.log_determinant_and_length(E[0], E[1], difference)
    both = np.intersect1d(*missing)
    # d'd and d'Fd nearly cancel where the spread is large.
    np.testing.assert_allclose(oracle.from_overlap(*E, difference, both), whole, rtol=1e-10)


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("size", [2, 10, 26])
def test_exactly_singular_matrices_give_numbers(size, rank):
    rng = np.random.default_rng(0)
    A, B = (_matrices(rng, size, 0.8, rank=min(rank, size)) for _ in range(2))
    # Small whole numbers times a power of two: the elimination leaves exact zeros behind.
    A[0] = B[0] = 2.0**-10 * np.ones((size, size))
    A[1] = B[1] = 0.0
    a, b = np.einsum("lij->li", A), np.einsum("lij->li", B)
    out = np.empty(3 * LANES)
    _run(_in_lanes(A), _in_lanes(B), a.T.ravel().copy(), -b.T.ravel(), size, out)
    for lane in range(LANES):
        value, determinant = _expected(A[lane], B[lane], a[lane], b[lane])
        # Pivots of 1e-14 stand for zeros, and rounding of a vector is divided by them.
        np.testing.assert_allclose(out[lane] - out[LANES + lane], value, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(out[2 * LANES + lane], determinant, rtol=1e-6)
