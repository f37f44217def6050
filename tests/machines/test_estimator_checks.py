"""scikit-learn's own checks of estimators, on every machine.

A machine joins by a line in ``MACHINES``: an instance that is quick on tiny data, and the checks it
is known to fail, each with the reason.
"""

from __future__ import annotations

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    parametrize_with_checks,
)

from absentia import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    GaussianDensity,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelKMeans,
    KernelMatrix,
    KernelPCA,
    KernelRidge,
    KernelRidgeCV,
    LabelSpreading,
    LogisticRegression,
    LogisticRegressionCV,
    NuSVC,
    NuSVR,
    OneClassSVM,
    SpectralClustering,
)

#: A few EM steps do for checks of interfaces; what EM finds is tested with the densities.
QUICK = GaussianDensity(max_iter=3, tol=1e3)

TOLERANCE = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the solver stops at a tolerance; with a "
    "tight one the check passes, as tested below"
    for kind in ("dense", "sparse")
}

MACHINES: list[tuple[BaseEstimator, dict[str, str]]] = [
    (SVC(density=QUICK), TOLERANCE),
    (NuSVC(density=QUICK), TOLERANCE),
    (SVR(density=QUICK), TOLERANCE),
    (NuSVR(density=QUICK), TOLERANCE),
    (OneClassSVM(density=QUICK), TOLERANCE),
    (KernelRidge(density=QUICK), {}),
    (KernelMatrix(density=QUICK), {}),
    (SVCCV(density=QUICK, Cs=(1.0,), gammas=(0.1,), cv=2), TOLERANCE),
    (SVRCV(density=QUICK, Cs=(1.0,), gammas=(0.1,), cv=2), {}),
    (LogisticRegressionCV(density=QUICK, Cs=(1.0,), gammas=(0.1,), cv=2), {}),
    (KernelRidgeCV(density=QUICK, alphas=(1.0,), gammas=(0.1,), cv=2), {}),
    (LogisticRegression(density=QUICK), {}),
    (GaussianProcessRegressor(density=QUICK, gamma="scale"), {}),
    (GaussianProcessClassifier(density=QUICK, gamma="scale", scale=1.0), {}),
    (KernelPCA(density=QUICK), {}),
    (SpectralClustering(density=QUICK, n_init=2), {}),
    (KernelKMeans(density=QUICK, n_init=2), {}),
    (LabelSpreading(density=QUICK), {}),
]

EXPECTED_FAILURES = {type(machine).__name__: failures for machine, failures in MACHINES}


@parametrize_with_checks(
    [machine for machine, _ in MACHINES],
    expected_failed_checks=lambda machine: EXPECTED_FAILURES[type(machine).__name__],
)
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "machine", [SVC(), NuSVC(nu=0.1), SVR(), NuSVR(), OneClassSVM()], ids=lambda m: type(m).__name__
)
def test_a_weight_of_two_is_two_rows(machine):
    machine.set_params(tol=1e-13, density=QUICK)
    check_sample_weight_equivalence_on_dense_data(type(machine).__name__, machine)
