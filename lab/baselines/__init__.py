"""The rivals of the papers, behind scikit-learn's interface."""

from lab.baselines.comparator import Comparator
from lab.baselines.geom import GeometricMarginSVC
from lab.baselines.imputers.chained_equations import ChainedEquationsImputer
from lab.baselines.imputers.density_imputers import SampledImputer
from lab.baselines.imputers.imputer import Imputer, RandomImputer
from lab.baselines.imputers.kmeans import KMeansImputer
from lab.baselines.imputers.miss_forest import MissForestImputer
from lab.baselines.imputers.multiple_imputation import (
    MultipleImputationClassifier,
    MultipleImputationRegressor,
)
from lab.baselines.imputers.neighbours import IncompleteCaseKNNImputer
from lab.baselines.imputers.svr_imputer import SVRImputer
from lab.baselines.karma import KarmaSVC, KarmaSVR, karma_kernel
from lab.baselines.nan_learners import EncodedLabelsClassifier, make_nan_learner
from lab.baselines.registry import registry

__all__ = [
    "ChainedEquationsImputer",
    "Comparator",
    "EncodedLabelsClassifier",
    "GeometricMarginSVC",
    "Imputer",
    "IncompleteCaseKNNImputer",
    "KMeansImputer",
    "KarmaSVC",
    "KarmaSVR",
    "MissForestImputer",
    "MultipleImputationClassifier",
    "MultipleImputationRegressor",
    "RandomImputer",
    "SVRImputer",
    "SampledImputer",
    "karma_kernel",
    "make_nan_learner",
    "registry",
]
