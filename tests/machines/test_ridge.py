"""Kernel ridge regression against scikit-learn's, given the same matrices."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.kernel_ridge
from scipy.linalg import LinAlgWarning

from absentia import GaussianDensity, GenRBF, KernelRidge
from machines.contract import MachineContract, table, targets_of


class TestKernelRidge(MachineContract):
    targets = "numbers"

    def make(self, **params):
        return KernelRidge(**{"alpha": 0.3, **params})

    def oracle(self, K, y, K_new):
        theirs = sklearn.kernel_ridge.KernelRidge(kernel="precomputed", alpha=0.3)
        return theirs.fit(K, y).predict(K_new)


@pytest.mark.parametrize("alpha", [0.2, [0.1, 0.5]])
@pytest.mark.parametrize("weighted", [False, True])
def test_several_targets_and_weights_are_those_of_scikit_learn(alpha, weighted):
    X, new = table(), table(8, seed=1)
    Y = np.column_stack([targets_of("numbers"), targets_of("numbers", seed=5)])
    weights = np.linspace(0.0, 2.0, len(Y)) if weighted else None
    density = GaussianDensity().fit(X, sample_weight=weights)
    kernel = GenRBF().resolve(density.prior_)
    P, Q = density.condition(X), density.condition(new)
    theirs = sklearn.kernel_ridge.KernelRidge(kernel="precomputed", alpha=alpha)
    theirs.fit(kernel(P), Y, sample_weight=weights)
    ours = KernelRidge(alpha=alpha).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(kernel(Q, P)), rtol=1e-10)
    assert ours.dual_coef_.shape == Y.shape


def test_without_penalty_repeated_rows_are_still_solved():
    X = np.repeat(table(10), 2, axis=0)
    y = np.repeat(targets_of("numbers", 10), 2)
    np.testing.assert_allclose(KernelRidge(alpha=0).fit(X, y).predict(X), y, atol=1e-6)


@pytest.mark.parametrize("alpha", [-1.0, "big", [[1.0]], [1.0, -1.0], [1.0, 2.0, 3.0]])
def test_wrong_penalties_get_a_sentence(alpha):
    with pytest.raises(ValueError, match="alpha must be"):
        KernelRidge(alpha=alpha).fit(table(), np.column_stack([targets_of("numbers")] * 2))


def test_lost_digits_are_said():
    rows = np.random.default_rng(0).normal(size=(30, 3))
    KernelRidge(kernel="linear").fit(rows + 1e4, rows[:, 0])
    with pytest.warns(LinAlgWarning, match=r"alpha=1.0 is below the rounding"):
        KernelRidge(kernel="linear").fit(rows + 1e8, rows[:, 0])
