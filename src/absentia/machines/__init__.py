"""scikit-learn estimators that accept rows with holes, and beliefs in place of rows."""

from absentia.machines.clustering import KernelKMeans, SpectralClustering
from absentia.machines.conjugate_gradient import ConjugateGradientRidge
from absentia.machines.gaussian_process_classification import GaussianProcessClassifier
from absentia.machines.gaussian_process_regression import GaussianProcessRegressor
from absentia.machines.kernel_matrix import KernelMatrix
from absentia.machines.kernel_pca import KernelPCA
from absentia.machines.label_spreading import LabelSpreading
from absentia.machines.large_scale import LargeScaleLogisticRegression, LargeScaleSVC
from absentia.machines.large_scale_ridge import LargeScaleRidge
from absentia.machines.logistic import LogisticRegression
from absentia.machines.one_class import OneClassSVM
from absentia.machines.ridge import KernelRidge
from absentia.machines.robust import RobustSVC
from absentia.machines.selection import SVCCV, SVRCV, KernelRidgeCV, LogisticRegressionCV
from absentia.machines.shift import MissingnessShiftWarning
from absentia.machines.svm import SVC, SVR, NuSVC, NuSVR

__all__ = [
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
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "SpectralClustering",
]
