"""scikit-learn estimators that accept incomplete rows, and beliefs instead of rows."""

from absentia.machines.gaussian_process.classification import GaussianProcessClassifier
from absentia.machines.gaussian_process.regression import GaussianProcessRegressor
from absentia.machines.large_scale.classifiers import LargeScaleLogisticRegression, LargeScaleSVC
from absentia.machines.large_scale.linear_ridge import LargeScaleRidge
from absentia.machines.logistic.logistic_regression import LogisticRegression
from absentia.machines.missingness_shift import MissingnessShiftWarning
from absentia.machines.ridge.conjugate_gradient import ConjugateGradientRidge
from absentia.machines.ridge.kernel_ridge import KernelRidge
from absentia.machines.robust.robust_svc import RobustSVC
from absentia.machines.search.cv_machines import SVCCV, SVRCV, KernelRidgeCV, LogisticRegressionCV
from absentia.machines.svm.machines import SVC, SVR, NuSVC, NuSVR
from absentia.machines.svm.one_class import OneClassSVM
from absentia.machines.unsupervised.clustering import KernelKMeans, SpectralClustering
from absentia.machines.unsupervised.kernel_matrix import KernelMatrix
from absentia.machines.unsupervised.kernel_pca import KernelPCA
from absentia.machines.unsupervised.label_spreading import LabelSpreading

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
