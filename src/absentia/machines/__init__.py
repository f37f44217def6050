"""scikit-learn estimators that accept incomplete rows, and beliefs instead of rows."""

from absentia.machines.clustering import KernelKMeans, LabelSpreading, SpectralClustering
from absentia.machines.gaussian_process.classification import GaussianProcessClassifier
from absentia.machines.gaussian_process.regression import GaussianProcessRegressor
from absentia.machines.large_scale.machines import (
    LargeScaleLogisticRegression,
    LargeScaleRidge,
    LargeScaleSVC,
)
from absentia.machines.logistic import LogisticRegression
from absentia.machines.ridge import ConjugateGradientRidge, KernelRidge
from absentia.machines.robust.robust_svc import RobustSVC
from absentia.machines.search.cv_machines import SVCCV, SVRCV, KernelRidgeCV, LogisticRegressionCV
from absentia.machines.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from absentia.machines.transformers import KernelMatrix, KernelPCA
from absentia.machines.validation import MissingnessShiftWarning

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "ConjugateGradientRidge",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "KernelKMeans",
    "KernelMatrix",
    "KernelPCA",
    "KernelRidge",
    "KernelRidgeCV",
    "LabelSpreading",
    "LargeScaleLogisticRegression",
    "LargeScaleRidge",
    "LargeScaleSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MissingnessShiftWarning",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "RobustSVC",
    "SpectralClustering",
]
