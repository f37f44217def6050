"""karma: the kernel by hand, positive definite, and the machines around it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from lab.baselines import KarmaSVC, KarmaSVR, karma_kernel

NAN = np.nan


@pytest.mark.parametrize(
    ("x", "y", "g", "expected"),
    [
        ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], 1, 32.0),  # g = 1 is the inner product
        ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], 2, (9 - 1) / (3 - 1) * 32.0),
        ([1.0, 2.0, NAN], [4.0, 5.0, 6.0], 2, (4 - 1) / (2 - 1) * 14.0),
        ([1.0, 2.0, NAN], [4.0, 5.0, 6.0], 3, (8 - 1) / (2 - 1) * 14.0),
        ([1.0, NAN, NAN], [4.0, 5.0, 6.0], 2, 2 * 4.0),  # one in common: the limit, g
        ([1.0, NAN, NAN], [NAN, 5.0, 6.0], 2, 0.0),  # nothing in common
        ([NAN, NAN, NAN], [NAN, 5.0, 6.0], 2, 0.0),
    ],
)
def test_kernel_by_hand(x, y, g, expected):
    assert karma_kernel([x], [y], g=g) == pytest.approx(expected, rel=1e-14)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.floats(0.0, 0.9))
def test_kernel_is_positive_definite(seed, g, rate):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((15, 5))
    X[rng.uniform(size=X.shape) < rate] = NAN
    eigenvalues = np.linalg.eigvalsh(karma_kernel(X, g=g))
    assert eigenvalues[0] >= -15 * np.finfo(float).eps * max(eigenvalues[-1], 1.0)


def test_on_complete_rows_the_machine_is_the_linear_one(two_classes):
    X, y = two_classes(0.0)
    karma = KarmaSVC(C=0.5, g=1, gamma=None).fit(X, y)
    linear = SVC(C=0.5, kernel="linear").fit(X, y)
    np.testing.assert_allclose(
        karma.decision_function(X), linear.decision_function(X), rtol=0, atol=1e-8
    )


def test_inside_the_rbf(two_classes):
    X, y = two_classes(0.3)
    machine = KarmaSVC(g=2, gamma=0.01).fit(X, y)
    K, row = karma_kernel(X, g=2), karma_kernel(X[:4], X, g=2)
    norms = np.diagonal(K)
    gram = np.exp(-0.01 * (norms[:4, None] + norms - 2 * row))
    precomputed = machine.machine_.decision_function(gram)
    np.testing.assert_allclose(machine.decision_function(X[:4]), precomputed, rtol=1e-10)


def test_scale_is_one_over_the_typical_self_similarity(two_classes):
    X, y = two_classes(0.3)
    assert KarmaSVC(g=2).fit(X, y).gamma_ == pytest.approx(
        1 / np.diagonal(karma_kernel(X, g=2)).mean(), rel=1e-12
    )


@pytest.mark.parametrize("g", [0, -1, 1.5])
def test_g_is_a_whole_number(g):
    with pytest.raises(ValueError, match="g must be an integer from 1"):
        karma_kernel([[1.0]], g=g)


@pytest.mark.parametrize("gamma", ["wide", -1.0, np.inf])
def test_a_failed_fit_leaves_the_machine_as_it_was(two_classes, gamma):
    X, y = two_classes(0.3)
    machine = KarmaSVR(gamma=gamma)
    with pytest.raises(ValueError, match="gamma"):
        machine.fit(X, y)
    assert not hasattr(machine, "n_features_in_")
