"""scikit-learn's own checks of estimators, on every machine of the registry."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    parametrize_with_checks,
)

from absentia import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from absentia.machines.support_vectors import SupportVectorMachine
from estimators import QUICK, kernel_machines, small

TOLERANCE = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the solver stops at a tolerance; with a "
    "tight one the check passes, as tested below"
    for kind in ("dense", "sparse")
}

#: Machines that no check has been tried on: a second solver, and one without a Gram matrix.
LEFT_OUT = {"ConjugateGradientRidge", "RobustSVC"}
#: Parameters that keep a check quick.
PARAMETERS = {"n_components": None, "n_clusters": 8, "random_state": None, "scale": 1.0}


def expected_failures(machine):
    searched = isinstance(machine, SupportVectorMachine) and not hasattr(machine, "epsilons")
    return TOLERANCE if searched else {}


@parametrize_with_checks(
    [
        small(kind, **PARAMETERS, gamma="scale")
        for kind in kernel_machines()
        if kind.__name__ not in LEFT_OUT
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "machine", [SVC(), NuSVC(nu=0.1), SVR(), NuSVR(), OneClassSVM()], ids=lambda m: type(m).__name__
)
def test_a_weight_of_two_is_two_rows(machine):
    machine.set_params(tol=1e-13, density=QUICK)
    check_sample_weight_equivalence_on_dense_data(type(machine).__name__, machine)
