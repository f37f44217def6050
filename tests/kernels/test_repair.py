"""Matrices that are not positive semidefinite."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from absentia import GammaRBF, GenRBF, NotPositiveDefiniteWarning, repair_psd
from absentia.kernels import check_psd
from kernels.examples import example

METHODS = ["clip", "flip", "shift"]


def indefinite(n=12, seed=0):
    K = np.random.default_rng(seed).normal(size=(n, n))
    return K + K.T


@pytest.mark.parametrize("method", METHODS)
def test_the_repaired_matrix_is_positive_semidefinite_and_its_rows_are_transformed_alike(method):
    K = indefinite()
    repaired, repair = repair_psd(K, method)
    np.testing.assert_array_equal(repaired, repaired.T)
    assert np.linalg.eigvalsh(repaired)[0] > -1e-13 * np.abs(K).max() * len(K)
    np.testing.assert_allclose(repair.transform(K), repaired, atol=1e-12)
    np.testing.assert_allclose(repair.transform(K[3:5]), repaired[3:5], atol=1e-12)
    np.testing.assert_allclose(repair.eigenvalues, np.linalg.eigvalsh(K), atol=1e-12)


def test_each_method_does_to_the_eigenvalues_what_it_says():
    K = indefinite()
    before = np.linalg.eigvalsh(K)
    after = {m: np.linalg.eigvalsh(repair_psd(K, m)[0]) for m in METHODS}
    np.testing.assert_allclose(after["clip"], np.maximum(before, 0), atol=1e-12)
    np.testing.assert_allclose(after["flip"], np.sort(np.abs(before)), atol=1e-12)
    np.testing.assert_allclose(after["shift"], before - before[0], atol=1e-12)


def test_a_shift_leaves_new_rows_alone_and_equal_rows_take_turns():
    K = indefinite()
    K[1], K[:, 1] = K[0], K[:, 0]
    K[1, 1] = K[0, 1] = K[1, 0] = K[0, 0]
    repaired, repair = repair_psd(K, "shift")
    np.testing.assert_allclose(repair.transform(K), repaired, atol=1e-12)
    new = np.random.default_rng(1).normal(size=(3, 12))
    np.testing.assert_array_equal(repair.transform(new), new)


@pytest.mark.parametrize("method", METHODS)
def test_a_positive_definite_matrix_comes_back_as_it_was(method):
    K = GenRBF(0.4)(example("gaussian"))
    repaired, repair = repair_psd(K, method)
    np.testing.assert_array_equal(repaired, K)
    np.testing.assert_array_equal(repair.transform(K[:2]), K[:2])


@pytest.mark.parametrize("method", METHODS)
def test_rounding_is_not_repaired(method):
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0]
    K = (V * np.r_[-1e-17, np.linspace(0.01, 3, 11)]) @ V.T
    K = (K + K.T) / 2
    np.testing.assert_array_equal(repair_psd(K, method)[0], K)


def test_what_cannot_be_repaired_is_refused():
    with pytest.raises(ValueError, match="method must be 'clip', 'flip' or 'shift'"):
        repair_psd(np.eye(2), "drop")
    with pytest.raises(ValueError, match="square"):
        repair_psd(np.ones((2, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        repair_psd([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="finite"):
        repair_psd([[np.nan]])
    with pytest.raises(ValueError, match="a column for each of the 2"):
        repair_psd(np.eye(2))[1].transform(np.ones((1, 3)))


def test_a_machine_is_told_the_smallest_eigenvalue():
    K = indefinite()
    smallest = np.linalg.eigvalsh(K)[0]
    with pytest.warns(NotPositiveDefiniteWarning, match=f"{smallest:.3g}"):
        assert not check_psd(K, GammaRBF())


def test_no_warning_where_the_matrix_is_fine_or_the_kernel_cannot_be_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        P = example("gaussian")
        assert check_psd(GammaRBF(0.4)(P), GammaRBF(0.4))
        assert check_psd(indefinite(), GenRBF())
        assert check_psd(np.ones((5, 5)), GammaRBF())  # singular, not indefinite


def test_asymmetry_beyond_rounding_is_refused():
    K = np.eye(3)
    K[0, 1] = 1e-6
    with pytest.raises(ValueError, match="K must be symmetric"):
        repair_psd(K)
    K[0, 1] = 1e-9
    repair_psd(K)
    K[0, 1] = 1e-6
    with pytest.raises(ValueError, match="K must be symmetric"):
        repair_psd(1e-9 * K)


def test_small_negative_eigenvalues_are_repaired():
    """1e-6 of the largest is no rounding: it is clipped, and warned of."""
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    K = V @ np.diag([-1e-6, 0.1, 0.2, 0.5, 1.0]) @ V.T
    K = (K + K.T) / 2
    assert np.linalg.eigvalsh(repair_psd(K)[0])[0] > -1e-12
    with pytest.warns(NotPositiveDefiniteWarning):
        check_psd(K, GammaRBF())


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_rounding_is_relative_to_the_matrix(unit):
    """A singular matrix, whose smallest eigenvalues are rounding of either sign."""
    A = np.random.default_rng(0).normal(size=(30, 3))
    K = unit * A @ A.T
    K = (K + K.T) / 2
    np.testing.assert_array_equal(repair_psd(K)[0], K)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_psd(K, GammaRBF())


def test_one_missing_entry_is_refused():
    K = np.eye(3)
    K[1, 2] = K[2, 1] = np.nan
    with pytest.raises(ValueError, match="K must be finite"):
        repair_psd(K)
