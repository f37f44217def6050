"""The rivals of the papers, behind scikit-learn's interface."""

from absentia.comparators.geom import GeometricMarginSVC
from absentia.comparators.imputers.chained_equations import ChainedEquationsImputer
from absentia.comparators.imputers.density_imputers import ConditionalMeanImputer, SampledImputer
from absentia.comparators.imputers.imputer import Imputer, RandomImputer
from absentia.comparators.imputers.kmeans import KMeansImputer
from absentia.comparators.imputers.miss_forest import MissForestImputer
from absentia.comparators.imputers.multiple_imputation import (
    MultipleImputationClassifier,
    MultipleImputationRegressor,
)
from absentia.comparators.imputers.neighbours import IncompleteCaseKNNImputer
from absentia.comparators.imputers.r_mice import RMiceImputer, r_mice_is_available
from absentia.comparators.imputers.svr_imputer import SVRImputer
from absentia.comparators.karma import KarmaSVC, KarmaSVR, karma_kernel
from absentia.comparators.nan_learners import EncodedLabelsClassifier, make_nan_learner
from absentia.comparators.registry import Comparator, registry

__all__ = [
    "ChainedEquationsImputer",
    "Comparator",
    "ConditionalMeanImputer",
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
    "RMiceImputer",
    "RandomImputer",
    "SVRImputer",
    "SampledImputer",
    "karma_kernel",
    "make_nan_learner",
    "r_mice_is_available",
    "registry",
]
