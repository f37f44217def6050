"""Registry of the public estimators, each with parameters that make it quick on tiny tables.

Tests find estimators here, so that a new one is tested without an entry in a list: parameters that
take time are set by their name, for every estimator that has them.
"""

from __future__ import annotations

from inspect import signature

from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

import absentia
from absentia.machines.base import KernelMachine
from absentia.machines.large_scale.base import LargeScaleMachine

#: A few EM steps do for checks of interfaces; EM itself is tested with the densities.
QUICK = absentia.GaussianDensity(max_iter=3, tol=1e3)

#: Values of parameters that take time, by name.
SMALL = {
    "density": QUICK,
    "gammas": (0.1,),
    "Cs": (1.0,),
    "alphas": (1.0,),
    "cv": 2,
    "n_init": 2,
    "n_clusters": 2,
    "n_draws": 4,
    "n_landmarks": 20,
    "n_components": 2,
    "members": ("boosting", "beliefs"),
    "n_splits": 2,
    "n_repeats": 1,
    "random_state": 0,
}


def estimators() -> list[type[BaseEstimator]]:
    """Return the public estimators; kernels are not fitted, hence none."""
    public = [getattr(absentia, name) for name in absentia.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
    return [kind for kind in kinds if not issubclass(kind, absentia.Kernel)]


def machines() -> list[type[BaseEstimator]]:
    """Return the public kernel machines and large-scale machines."""
    return [kind for kind in estimators() if issubclass(kind, (KernelMachine, LargeScaleMachine))]


def kernel_machines() -> list[type[KernelMachine]]:
    """Return the public machines that solve on a Gram matrix."""
    return [kind for kind in estimators() if issubclass(kind, KernelMachine)]


def small(kind: type[BaseEstimator], **options) -> BaseEstimator:
    """Return an estimator with little to do; ``options`` that it does not have are left out."""
    wrapped = absentia.KernelRidge() if "Regressor" in kind.__name__ else None
    wrapped = wrapped or absentia.LogisticRegression()
    model = kind(wrapped) if "estimator" in signature(kind).parameters else kind()
    known = model.get_params(deep=False)
    given = {name: value for name, value in (SMALL | options).items() if name in known}
    return model.set_params(**given)


def task_of(kind: type[BaseEstimator]) -> str | None:
    """Return "classes" or "numbers" for supervised estimators, else None."""
    model = small(kind)
    return "classes" if is_classifier(model) else "numbers" if is_regressor(model) else None


def takes_weights(kind: type[BaseEstimator]) -> bool:
    """Return whether ``fit`` takes ``sample_weight``."""
    return has_fit_parameter(kind, "sample_weight")
