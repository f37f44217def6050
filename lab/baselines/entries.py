"""The entries of the registry, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as CompleteSVC
from sklearn.svm import SVR as CompleteSVR

from absentia.automatic import AutoClassifier, AutoRegressor
from absentia.densities import DensityImputer, GaussianDensity, LowRankDensity, MixtureDensity
from absentia.kernels import ExpectedLinear, GenRBF
from absentia.machines import SVC, SVR, RobustSVC
from absentia.machines.targets import Task
from absentia.parameters import RandomState
from absentia.recipe.training import MASK_WEIGHTS, PENALTIES
from lab.baselines.comparator import Comparator
from lab.baselines.geom import GeometricMarginSVC
from lab.baselines.imputers.chained_equations import ChainedEquationsImputer
from lab.baselines.imputers.density_imputers import SampledImputer
from lab.baselines.imputers.kmeans import KMeansImputer
from lab.baselines.imputers.miss_forest import MissForestImputer
from lab.baselines.imputers.multiple_imputation import (
    MultipleImputationClassifier,
    MultipleImputationRegressor,
)
from lab.baselines.imputers.neighbours import IncompleteCaseKNNImputer
from lab.baselines.imputers.svr_imputer import SVRImputer
from lab.baselines.karma import KarmaSVC, KarmaSVR
from lab.baselines.nan_learners import make_nan_learner

#: C and gamma of Section 5.2 of [Smieja2018]_ for classification, and of its Section 5.5.
CLASSIFICATION_GRID: dict[str, tuple[float, ...]] = {
    "C": tuple(PENALTIES["classification"]),
    "gamma": tuple(2.0**k for k in range(-5, 12, 2)),
}
REGRESSION_GRID: dict[str, tuple[float, ...]] = {
    "C": tuple(PENALTIES["regression"]),
    "gamma": tuple(2.0**k for k in range(-10, 2)),
}

_SMIEJA = "Smieja and others 2018"
_STRUSKI = "Struski and others 2016"
_ANDERSON = "Anderson and Gupta 2011"


def _grids(step: str, width: str | None = "gamma", **more: Any) -> dict[Task, dict[str, Any]]:
    """Return the grids of a support vector machine, a step of a pipeline; some have no width."""
    both: tuple[tuple[Task, str, dict[str, tuple[float, ...]]], ...] = (
        ("classification", "svc", CLASSIFICATION_GRID),
        ("regression", "svr", REGRESSION_GRID),
    )
    return {
        task: {
            f"{step.format(machine)}__{width if name == 'gamma' else name}": values
            for name, values in {**grid, **more}.items()
            if name != "gamma" or width is not None
        }
        for task, machine, grid in both
    }


def _own(name: str, description: str, reference: str, **settings: Any) -> Comparator:
    """Return an entry of SVC and SVR with one of absentia's kernels."""
    mask = "mask_weight" in settings
    width = "gamma" if isinstance(settings["kernel"], str) else "kernel__gamma"

    def build(task: Task, random_state: RandomState) -> BaseEstimator:
        named: dict[str, Callable[[], BaseEstimator]] = {
            "mixture": lambda: MixtureDensity(3, random_state=random_state),
            "low-rank": lambda: LowRankDensity(random_state=random_state),
        }
        density = named[settings["density"]]() if "density" in settings else "gaussian"
        machine = SVC if task == "classification" else SVR
        return make_pipeline(StandardScaler(), machine(**{**settings, "density": density}))

    return Comparator(
        name,
        description,
        reference,
        build,
        _grids(
            "{}",
            width=None if isinstance(settings["kernel"], ExpectedLinear) else width,
            **({"mask_weight": MASK_WEIGHTS} if mask else {}),
        ),
        handles_nan=True,
        stochastic="density" in settings,
        own=True,
    )


def _filled(
    name: str,
    description: str,
    reference: str,
    imputer: Callable[[RandomState], BaseEstimator],
    *,
    stochastic: bool = False,
    scale_first: bool = True,
) -> Comparator:
    """Return an entry that imputes once, then trains an ordinary machine."""

    def build(task: Task, random_state: RandomState) -> BaseEstimator:
        machine = CompleteSVC() if task == "classification" else CompleteSVR()
        steps = [StandardScaler(), imputer(random_state)]
        return make_pipeline(*(steps if scale_first else steps[::-1]), machine)

    return Comparator(name, description, reference, build, _grids("{}"), stochastic=stochastic)


def _pooled(
    name: str,
    description: str,
    reference: str,
    imputer: Callable[[RandomState], BaseEstimator],
    **tags: Any,
) -> Comparator:
    """Return an entry that imputes several times, and pools the predictions."""

    def build(task: Task, random_state: RandomState) -> BaseEstimator:
        kind, machine = (
            (MultipleImputationClassifier, CompleteSVC())
            if task == "classification"
            else (MultipleImputationRegressor, CompleteSVR())
        )
        pooled = kind(machine, imputer(random_state), random_state=random_state)
        return make_pipeline(StandardScaler(), pooled)

    grids: dict[Task, dict[str, Any]] = {
        "classification": {
            f"multipleimputationclassifier__estimator__{k}": v
            for k, v in CLASSIFICATION_GRID.items()
        },
        "regression": {
            f"multipleimputationregressor__estimator__{k}": v for k, v in REGRESSION_GRID.items()
        },
    }
    return Comparator(name, description, reference, build, grids, stochastic=True, **tags)


def _learner(
    name: str, description: str, reference: str, grid: dict[str, tuple[Any, ...]], **tags: Any
) -> Comparator:
    """Return an entry of trees that take NaN."""
    kind = name.replace("-", "_")
    # Classifiers of the boosting packages stand behind one that encodes their labels.
    prefix = "estimator__" if "requires" in tags else ""
    return Comparator(
        name,
        description,
        reference,
        lambda task, random_state: make_nan_learner(kind, task, random_state),
        {
            "classification": {f"{prefix}{k}": v for k, v in grid.items()},
            "regression": dict(grid),
        },
        handles_nan=True,
        probabilistic=True,
        stochastic=True,
        **tags,
    )


def _karma(task: Task, random_state: RandomState) -> BaseEstimator:
    return make_pipeline(StandardScaler(), KarmaSVC() if task == "classification" else KarmaSVR())


def _booster(name: str, description: str, reference: str, **grid: tuple[Any, ...]) -> Comparator:
    return _learner(name, description, reference, grid, extra="boosters", requires=name)


def _robust(
    name: str, description: str, reference: str, taus: tuple[float, ...], **settings: Any
) -> Comparator:
    grid = {f"robustsvc__{k}": v for k, v in CLASSIFICATION_GRID.items()}
    grid["robustsvc__tau"] = taus
    if "kernel" in settings:  # the inner product, which has no width
        del grid["robustsvc__gamma"]
    return Comparator(
        name,
        description,
        reference,
        lambda task, random_state: make_pipeline(StandardScaler(), RobustSVC(**settings)),
        {"classification": grid},
        handles_nan=True,
        own=True,
    )


def _automatic(task: Task, random_state: RandomState) -> BaseEstimator:
    return (AutoClassifier if task == "classification" else AutoRegressor)(
        random_state=random_state
    )


ENTRIES: tuple[Comparator, ...] = (
    Comparator(
        "automatic",
        "a weighted average of beliefs, indicators and trees",
        "Caruana and others 2004",
        _automatic,
        {task: {"n_splits": (5,)} for task in ("classification", "regression")},
        handles_nan=True,
        probabilistic=True,
        stochastic=True,
        own=True,
    ),
    _own("genrbf", "genRBF, one Gaussian", _SMIEJA, kernel="genrbf"),
    _own(
        "genrbf-mahalanobis",
        "genRBF in the metric of the density's covariance",
        f"{_SMIEJA}, Appendix D",
        kernel=GenRBF(metric="mahalanobis"),
    ),
    _own("genrbf-mask", "genRBF times a mask kernel", _SMIEJA, kernel="genrbf", mask_weight=0.03),
    _own(
        "genrbf-mixture", "genRBF, a mixture of three", _SMIEJA, kernel="genrbf", density="mixture"
    ),
    _own("genrbf-low-rank", "genRBF, a few factors", _SMIEJA, kernel="genrbf", density="low-rank"),
    _own(
        "expected-rbf",
        "expected RBF, one Gaussian",
        _ANDERSON,
        kernel="expected-rbf",
    ),
    _own(
        "expected-rbf-mixture",
        "expected RBF, a mixture of three",
        "Williams and Carin 2005",
        kernel="expected-rbf",
        density="mixture",
    ),
    _own(
        "expected-linear",
        "expected inner product, a row with itself on the diagonal",
        _ANDERSON,
        kernel=ExpectedLinear(diagonal="same"),
    ),
    _own("esd", "RBF of the expected squared distance", "Eirola and others 2013", kernel="esd"),
    _own("egk", "RBF of a Gamma-distributed distance", "Mesquita and others", kernel="egk"),
    _robust("robust", "expected RBF with its variance", _ANDERSON, (0.1, 0.3, 1.0)),
    _robust(
        "robust-linear",
        "expected inner product with its variance",
        _ANDERSON,
        (0.1, 0.3, 1.0),
        kernel=ExpectedLinear(diagonal="same"),
    ),
    _robust(
        "robust-spherical",
        "conditional means, spherical uncertainty",
        "Shivaswamy and others 2006",
        (0.01, 0.05, 0.2),  # an identity is far more variance than a kernel ever has
        tau=0.05,
        uncertainty="spherical",
    ),
    _filled(
        "zero",
        "zeros in the units of the table, before it is standardised",
        _SMIEJA,
        lambda _: SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
        scale_first=False,
    ),
    _filled("mean", "column means", _SMIEJA, lambda _: SimpleImputer(keep_empty_features=True)),
    _filled(
        "mean-indicator",
        "column means, and a column that says where",
        _SMIEJA,
        lambda _: SimpleImputer(keep_empty_features=True, add_indicator=True),
    ),
    _filled(
        "knn",
        "mean of the five nearest rows",
        "Troyanskaya and others 2001",
        lambda _: KNNImputer(n_neighbors=5, keep_empty_features=True),
    ),
    _filled(
        "knn-10",
        "mean of the ten nearest rows",
        _STRUSKI,
        lambda _: KNNImputer(n_neighbors=10, keep_empty_features=True),
    ),
    _filled(
        "icknni",
        "mean of the five nearest rows that have as much",
        "Van Hulse and Khoshgoftaar 2014",
        lambda _: IncompleteCaseKNNImputer(),
    ),
    _filled(
        "kmeans",
        "centre of the row's cluster, of ten",
        _STRUSKI,
        lambda random_state: KMeansImputer(random_state=random_state),
        stochastic=True,
    ),
    _filled("svr-imputation", "each column by SVR of the others", _STRUSKI, lambda _: SVRImputer()),
    _filled(
        "svr-imputation-0.001",
        "each column by SVR of the others, gamma = 0.001",
        _STRUSKI,
        lambda _: SVRImputer(gamma=0.001),
    ),
    _filled(
        "gmm",
        "one draw from a mixture of three",
        _SMIEJA,
        lambda random_state: SampledImputer(
            MixtureDensity(3, random_state=random_state), random_state=random_state
        ),
        stochastic=True,
    ),
    _filled(
        "conditional-mean",
        "mean given what was observed, one Gaussian",
        "Little and Rubin 2002",
        lambda _: DensityImputer(GaussianDensity(), keep_empty_features=True),
    ),
    _filled(
        "conditional-mean-mixture",
        "mean given what was observed, a mixture of three",
        "Ghahramani and Jordan 1994",
        lambda random_state: DensityImputer(
            MixtureDensity(3, random_state=random_state), keep_empty_features=True
        ),
        stochastic=True,
    ),
    _filled(
        "missforest",
        "random forests, again and again until the difference grows",
        "Stekhoven and Buehlmann 2012",
        lambda random_state: MissForestImputer(random_state=random_state),
        stochastic=True,
    ),
    _pooled(
        "mice",
        "chained equations, five draws, predictions pooled",
        "van Buuren and Groothuis-Oudshoorn 2011",
        lambda random_state: ChainedEquationsImputer(random_state=random_state),
    ),
    Comparator(
        "karma",
        "RBF in the feature space of the common columns",
        "Hazan, Livni and Mansour 2015",
        _karma,
        {
            "classification": {
                "karmasvc__C": CLASSIFICATION_GRID["C"],
                "karmasvc__gamma": (None, "scale", *CLASSIFICATION_GRID["gamma"]),
                "karmasvc__g": (1, 2),
            },
            "regression": {
                "karmasvr__C": REGRESSION_GRID["C"],
                "karmasvr__gamma": (None, "scale", *REGRESSION_GRID["gamma"]),
                "karmasvr__g": (1, 2),
            },
        },
        handles_nan=True,
    ),
    Comparator(
        "geom",
        "margin of each row in its own subspace",
        "Chechik and others 2008",
        lambda task, random_state: make_pipeline(StandardScaler(), GeometricMarginSVC()),
        {"classification": {f"geometricmarginsvc__{k}": v for k, v in CLASSIFICATION_GRID.items()}},
        handles_nan=True,
    ),
    _learner(
        "hist-gradient-boosting",
        "scikit-learn's boosted trees",
        "Ke and others 2017; scikit-learn",
        {"learning_rate": (0.03, 0.1), "max_leaf_nodes": (7, 31)},
    ),
    _learner(
        "random-forest",
        "scikit-learn's random forest, with NaN down a branch of its own",
        "Breiman 2001; scikit-learn",
        {"max_features": ("sqrt", 0.5), "min_samples_leaf": (1, 5)},
    ),
    _booster(
        "lightgbm",
        "boosted trees, leaf by leaf",
        "Ke and others 2017",
        learning_rate=(0.03, 0.1),
        num_leaves=(7, 31),
    ),
    _booster(
        "xgboost",
        "boosted trees, with a default direction for NaN",
        "Chen and Guestrin 2016",
        learning_rate=(0.05, 0.3),
        max_depth=(3, 6),
    ),
    _booster(
        "catboost",
        "ordered boosting of symmetric trees",
        "Prokhorenkova and others 2018",
        learning_rate=(0.03, 0.1),
        depth=(4, 6),
    ),
)
