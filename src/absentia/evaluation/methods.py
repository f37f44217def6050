"""The methods that are compared: absentia's own, and the rivals of the papers and of today.

Each is a name and a way to train it. Kernel methods share penalties, widths, folds and solver (see
:mod:`absentia.evaluation.tuning`); what has no kernel is tuned over a small grid of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as CompleteSVC
from sklearn.svm import SVR as CompleteSVR

from absentia.comparators import (
    ChainedEquationsImputer,
    ConditionalMeanImputer,
    GeometricMarginSVC,
    IncompleteCaseKNNImputer,
    KarmaSVC,
    KarmaSVR,
    KMeansImputer,
    MissForestImputer,
    MultipleImputationClassifier,
    MultipleImputationRegressor,
    SampledImputer,
    SVRImputer,
    make_nan_learner,
)
from absentia.datasets import Task
from absentia.densities.naming import make_density
from absentia.evaluation.sources import BeliefSource, GramSource, ImputedSource, KarmaSource
from absentia.evaluation.tuning import (
    Grid,
    Learner,
    Trained,
    support_vector_machine,
    tune_estimator,
    tune_kernel,
)
from absentia.machines import SVC, SVR
from absentia.tables import FloatArray

__all__ = ["METHODS", "Method", "methods_for"]

Kind = Literal["absentia", "imputation", "kernel", "learner"]
_BOTH: tuple[Task, ...] = ("classification", "regression")
#: Weights of the mask kernel to choose among; without it is one of the choices.
_MASK_WEIGHTS = (None, 0.1, 0.3, 1.0)
_MICE_DRAWS = 5
_MIXTURE_COMPONENTS = 3


@dataclass(frozen=True)
class Method:
    """A way to learn from rows with holes.

    Attributes
    ----------
    name : str
    kind : {"absentia", "imputation", "kernel", "learner"}
        What it does about holes: beliefs, filling in, a kernel of its own, or a learner that
        takes them as they are.
    description : str
    source : callable or None
        From a seed to where its Gram matrices come from, for kernel methods.
    estimator : callable or None
        From a task and a seed to an estimator and the parameters to choose among, for the others.
    plain : callable or None
        From task, C, gamma and seed to the ordinary estimator, for measuring time.
    tasks : tuple of str
    """

    name: str
    kind: Kind
    description: str
    source: Callable[[int], GramSource] | None = None
    estimator: Callable[[Task, int], tuple[Any, dict[str, Sequence[Any]]]] | None = None
    plain: Callable[[Task, float, float, int], Any] | None = None
    tasks: tuple[Task, ...] = _BOTH

    def train(
        self,
        X: FloatArray,
        y: np.ndarray,
        X_test: FloatArray,
        task: Task,
        grid: Grid,
        seed: int,
        learner: Learner = support_vector_machine,
    ) -> Trained:
        """Choose parameters on the training rows, train, and predict the test rows."""
        if self.source is not None:
            return tune_kernel(self.source(seed), X, y, X_test, task, grid, seed, learner)
        assert self.estimator is not None
        estimator, parameters = self.estimator(task, seed)
        return tune_estimator(estimator, parameters, X, y, X_test, task, grid, seed)


def methods_for(task: Task, names: Sequence[str] | None = None) -> list[str]:
    """Return the names of the methods that can do a task, in the order of the registry."""
    known = [name for name, method in METHODS.items() if task in method.tasks]
    if names is None:
        return known
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(f"There is no method {unknown[0]!r}; there are {', '.join(METHODS)}.")
    return [name for name in names if name in known]


def _belief(
    name: str,
    description: str,
    kernel: str,
    density: Callable[[int], Any] = lambda seed: "gaussian",
    mask_weights: Sequence[float | None] = (None,),
) -> Method:
    def plain(task: Task, C: float, gamma: float, seed: int) -> Any:
        machine = SVC if task == "classification" else SVR
        return make_pipeline(
            StandardScaler(),
            machine(
                C=C,
                gamma=gamma,
                kernel=kernel,
                density=density(seed),
                mask_weight=mask_weights[-1],
            ),
        )

    def source(seed: int) -> GramSource:
        return BeliefSource(kernel, density(seed), mask_weights)

    return Method(name, "absentia", description, source=source, plain=plain)


def _imputation(
    name: str, description: str, imputer: Callable[[int], Any], n_draws: int = 1
) -> Method:
    def plain(task: Task, C: float, gamma: float, seed: int) -> Any:
        machine = (CompleteSVC if task == "classification" else CompleteSVR)(C=C, gamma=gamma)
        if n_draws == 1:
            return make_pipeline(StandardScaler(), imputer(seed), machine)
        pooled = (
            MultipleImputationClassifier
            if task == "classification"
            else MultipleImputationRegressor
        )
        return make_pipeline(
            StandardScaler(), pooled(machine, imputer(seed), n_draws=n_draws, random_state=seed)
        )

    def source(seed: int) -> GramSource:
        return ImputedSource(lambda: imputer(seed), n_draws)

    return Method(name, "imputation", description, source=source, plain=plain)


def _learner(name: str, description: str, **parameters: Sequence[Any]) -> Method:
    def estimator(task: Task, seed: int) -> tuple[Any, dict[str, Sequence[Any]]]:
        return make_nan_learner(name.replace("-", "_"), task, seed), parameters

    def plain(task: Task, C: float, gamma: float, seed: int) -> Any:
        return make_nan_learner(name.replace("-", "_"), task, seed)

    return Method(name, "learner", description, estimator=estimator, plain=plain)


def _mixture(seed: int) -> Any:
    return make_density("mixture").set_params(n_components=_MIXTURE_COMPONENTS, random_state=seed)


def _karma(task: Task, C: float, gamma: float, seed: int) -> Any:
    machine = KarmaSVC if task == "classification" else KarmaSVR
    return make_pipeline(StandardScaler(), machine(C=C, gamma=gamma))


def _geom(task: Task, seed: int) -> tuple[Any, dict[str, Sequence[Any]]]:
    return GeometricMarginSVC(), {"C": [0.5, 8.0, 128.0], "gamma": [2.0**k for k in (-7, -5, -3)]}


_ALL = [
    _belief("genrbf", "genRBF, one Gaussian", "genrbf"),
    _belief("genrbf-mask", "genRBF times a mask kernel", "genrbf", mask_weights=_MASK_WEIGHTS),
    _belief("genrbf-mixture", "genRBF, a mixture of three Gaussians", "genrbf", _mixture),
    _belief("expected-rbf", "expected RBF, one Gaussian", "expected-rbf"),
    _belief("expected-rbf-mixture", "expected RBF, a mixture", "expected-rbf", _mixture),
    _belief("esd", "RBF of the expected squared distance", "esd"),
    _belief("egk", "RBF of a gamma-distributed distance", "egk"),
    _imputation("zero", "zeros filled in", lambda seed: _constant(0.0)),
    _imputation("mean", "means filled in", lambda seed: SimpleImputer(keep_empty_features=True)),
    _imputation(
        "mean-indicator",
        "means filled in, and indicator columns",
        lambda seed: SimpleImputer(add_indicator=True, keep_empty_features=True),
    ),
    _imputation("knn", "five nearest neighbours", lambda seed: KNNImputer(n_neighbors=5)),
    _imputation(
        "icknni", "neighbours among rows that have as much", lambda seed: IncompleteCaseKNNImputer()
    ),
    _imputation("kmeans", "centre of the cluster", lambda seed: KMeansImputer(random_state=seed)),
    _imputation("svr-imputation", "columns predicted by SVR", lambda seed: SVRImputer()),
    _imputation(
        "gmm",
        "one draw from a mixture",
        lambda seed: SampledImputer(_mixture(seed), random_state=seed),
    ),
    _imputation(
        "conditional-mean", "mean given what was observed", lambda seed: ConditionalMeanImputer()
    ),
    _imputation(
        "conditional-mean-mixture",
        "the same under a mixture",
        lambda seed: ConditionalMeanImputer(_mixture(seed)),
    ),
    _imputation(
        "mice",
        "chained equations, five draws pooled",
        lambda seed: ChainedEquationsImputer(n_draws=_MICE_DRAWS, random_state=seed),
        n_draws=_MICE_DRAWS,
    ),
    _imputation(
        "missforest",
        "iterated random forests",
        lambda seed: MissForestImputer(n_estimators=30, max_iter=5, random_state=seed),
    ),
    Method(
        "karma",
        "kernel",
        "kernel of common columns",
        source=lambda seed: KarmaSource(),
        plain=_karma,
    ),
    Method(
        "geom",
        "kernel",
        "geometric margin in the row's own subspace",
        estimator=_geom,
        plain=lambda task, C, gamma, seed: make_pipeline(
            StandardScaler(), GeometricMarginSVC(C=C, gamma=gamma)
        ),
        tasks=("classification",),
    ),
    _learner(
        "hist-gradient-boosting",
        "gradient boosting that sends holes down the better branch",
        learning_rate=[0.03, 0.1],
        max_leaf_nodes=[7, 31],
    ),
    _learner("random-forest", "random forest that does the same", max_features=["sqrt", 0.5]),
]


def _constant(value: float) -> Any:
    return SimpleImputer(strategy="constant", fill_value=value, keep_empty_features=True)


#: All methods by name.
METHODS: dict[str, Method] = {method.name: method for method in _ALL}
