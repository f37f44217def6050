"""The rivals of the papers, behind scikit-learn's interface."""

from absentia.comparators.chained_equations import ChainedEquationsImputer
from absentia.comparators.density_imputers import ConditionalMeanImputer, SampledImputer
from absentia.comparators.geom import GeometricMarginSVC
from absentia.comparators.imputer import Imputer, RandomImputer
from absentia.comparators.karma import KarmaSVC, KarmaSVR, karma_kernel
from absentia.comparators.kmeans import KMeansImputer
from absentia.comparators.miss_forest import MissForestImputer
from absentia.comparators.multiple_imputation import (
    MultipleImputationClassifier,
    MultipleImputationRegressor,
)
from absentia.comparators.nan_learners import EncodedLabelsClassifier, make_nan_learner
from absentia.comparators.neighbours import IncompleteCaseKNNImputer
from absentia.comparators.r_mice import RMiceImputer, r_mice_is_available
from absentia.comparators.registry import Comparator, registry
from absentia.comparators.svr_imputer import SVRImputer

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
