"""Columns far from zero: linear machines with an intercept give the answers of centred columns."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from absentia import (
    SVC,
    SVCCV,
    SVR,
    ExpectedLinear,
    GenRBF,
    KernelKMeans,
    KernelPCA,
    KernelRidge,
    LogisticRegression,
    LogisticRegressionCV,
    NuSVC,
    NuSVR,
    RobustSVC,
    load,
    save,
)

RNG = np.random.default_rng(0)
COMPLETE = RNG.normal(size=(90, 3))
HOLES = np.where(RNG.random(COMPLETE.shape) < 0.2, np.nan, COMPLETE)
# The mean is not exactly that of the rows: the reference is centred by hand, not by the library.
TARGETS = COMPLETE @ [1.0, 2.0, -1.0] + 0.5 * RNG.normal(size=90)
CLASSES = TARGETS > 0
THREE = np.digitize(TARGETS, [-1.0, 1.0])

MACHINES = {
    # libsvm computes in single precision, and stops at a thousandth of the margin.
    "SVC": (SVC(kernel="linear", tol=1e-4), CLASSES, 1e-3),
    "three classes": (SVC(kernel="linear", tol=1e-4), THREE, 1e-3),
    "NuSVC": (NuSVC(kernel="linear", nu=0.3, tol=1e-4), CLASSES, 1e-3),
    "SVR": (SVR(kernel="linear", tol=1e-4), TARGETS, 1e-3),
    "NuSVR": (NuSVR(kernel="linear", tol=1e-4), TARGETS, 1e-3),
    "SVCCV": (SVCCV(kernel="linear", Cs=[1.0], gammas=None, cv=2, tol=1e-4), CLASSES, 1e-3),
    "logistic": (LogisticRegression(kernel="linear", tol=1e-9), CLASSES, 1e-7),
    "softmax": (LogisticRegression(kernel="linear", tol=1e-9), THREE, 1e-6),
    "searched": (
        LogisticRegressionCV(kernel="linear", Cs=[1.0], gammas=None, cv=2, tol=1e-9),
        CLASSES,
        1e-7,
    ),
    "sum": (
        LogisticRegression(kernel=0.5 * ExpectedLinear() + GenRBF(0.1), tol=1e-9),
        CLASSES,
        1e-6,
    ),
    "components": (KernelPCA(kernel="linear", n_components=2), None, 1e-7),
    "clusters": (KernelKMeans(kernel="linear", n_clusters=3, random_state=0), None, 0.0),
    "robust": (RobustSVC(kernel="expected-linear"), CLASSES, 1e-4),
}


def answers(machine, rows):
    for name in ("decision_function", "transform", "predict"):
        if hasattr(machine, name):
            return getattr(machine, name)(rows)
    raise AssertionError(machine)


@pytest.mark.parametrize("shift", [1e4, 1e7])
@pytest.mark.parametrize("rows", [COMPLETE, HOLES], ids=["complete", "holes"])
@pytest.mark.parametrize("name", MACHINES)
def test_a_shift_changes_no_answer(name, rows, shift):
    machine, y, tolerance = MACHINES[name]
    centre = np.nanmean(rows, axis=0)
    far = shift * np.array([1.0, -1.0, 0.5])
    expected = answers(clone(machine).fit(rows - centre, y), (rows - centre)[:30])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = answers(clone(machine).fit(rows - centre + far, y), (rows - centre + far)[:30])
    if name == "components":  # up to their signs
        expected, found = np.abs(expected), np.abs(found)
    if name == "robust" and rows is HOLES:
        tolerance = 1e-3  # EM stops elsewhere, which its variances show
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.ptp(expected) + 1e-9)


@pytest.mark.parametrize("y", [CLASSES, THREE], ids=["two classes", "three classes"])
def test_weights_of_columns_belong_to_the_centre_of_the_kernel(y):
    machine = SVC(kernel="linear", decision_function_shape="ovo").fit(COMPLETE + 1e6, y)
    by_hand = (COMPLETE + 1e6 - machine.kernel_.centre) @ machine.coef_.T + machine.intercept_
    decisions = machine.decision_function(COMPLETE + 1e6)
    np.testing.assert_allclose(by_hand.reshape(decisions.shape), decisions, atol=1e-8)


def test_near_zero_the_kernel_has_no_centre():
    machine = SVC(kernel="linear").fit(COMPLETE + 20.0, CLASSES)
    assert machine.kernel_ == ExpectedLinear()
    by_hand = (COMPLETE + 20.0) @ machine.coef_[0] + machine.intercept_
    np.testing.assert_allclose(by_hand, machine.decision_function(COMPLETE + 20.0), atol=1e-8)


def test_machines_without_an_intercept_keep_their_kernel():
    """There a shift is another model: the penalty is on the value at zero, too."""
    for machine in (KernelRidge(), LogisticRegression(fit_intercept=False)):
        machine.set_params(kernel="linear").fit(COMPLETE + 1e3, CLASSES.astype(float))
        assert machine.kernel_ == ExpectedLinear()


def test_a_machine_with_a_centre_comes_back_from_a_file(tmp_path):
    machine = LogisticRegression(kernel="linear").fit(HOLES + 1e6, CLASSES)
    save(machine, tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").predict_proba(HOLES + 1e6), machine.predict_proba(HOLES + 1e6)
    )


def test_a_product_with_the_mask_kernel_is_not_centred():
    machine = SVC(kernel="linear", mask_weight=0.1).fit(HOLES + 1e3, CLASSES)
    assert machine.kernel_.left == ExpectedLinear()
