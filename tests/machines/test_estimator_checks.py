"""scikit-learn's own checks of estimators, on every machine.

A machine joins by a line in ``MACHINES``: an instance that is quick on tiny data, and the checks it
is known to fail, each with the reason.
"""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    GaussianDensity,
    KernelMatrix,
    KernelRidge,
    KernelRidgeCV,
    NuSVC,
    NuSVR,
    OneClassSVM,
)

#: A few EM steps do for checks of interfaces; what EM finds is tested with the densities.
QUICK = GaussianDensity(max_iter=3, tol=1e3)

SOLVER_TOLERANCE = (
    "a weight of two is two rows to the density and the solver, but the solver stops at a "
    "tolerance, and by another way"
)
SPLITS_BY_ROW = (
    "a row of weight two is in one fold, two equal rows may be in two, so the scores differ"
)

MACHINES = [
    (SVC(density=QUICK), {"check_sample_weight_equivalence_on_dense_data": SOLVER_TOLERANCE}),
    (NuSVC(density=QUICK), {"check_sample_weight_equivalence_on_dense_data": SOLVER_TOLERANCE}),
    (SVR(density=QUICK), {"check_sample_weight_equivalence_on_dense_data": SOLVER_TOLERANCE}),
    (NuSVR(density=QUICK), {"check_sample_weight_equivalence_on_dense_data": SOLVER_TOLERANCE}),
    (
        OneClassSVM(density=QUICK),
        {"check_sample_weight_equivalence_on_dense_data": SOLVER_TOLERANCE},
    ),
    (KernelRidge(density=QUICK), {}),
    (KernelMatrix(density=QUICK), {}),
    (
        SVCCV(density=QUICK, Cs=(1.0,), gammas=(0.1,), cv=2),
        {"check_sample_weight_equivalence_on_dense_data": SPLITS_BY_ROW},
    ),
    (
        SVRCV(density=QUICK, Cs=(1.0,), gammas=(0.1,), cv=2),
        {"check_sample_weight_equivalence_on_dense_data": SPLITS_BY_ROW},
    ),
    (KernelRidgeCV(density=QUICK, alphas=(1.0,), gammas=(0.1,), cv=2), {}),
]

EXPECTED_FAILURES = {type(machine).__name__: failures for machine, failures in MACHINES}


@parametrize_with_checks(
    [machine for machine, _ in MACHINES],
    expected_failed_checks=lambda machine: EXPECTED_FAILURES[type(machine).__name__],
)
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)
