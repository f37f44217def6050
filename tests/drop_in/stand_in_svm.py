"""``sklearn.svm`` with absentia's machines in place of those that it has a counterpart for."""

from sklearn.svm import *  # noqa: F403
from sklearn.svm import _libsvm as _libsvm

from absentia import SVC as SVC
from absentia import SVR as SVR
from absentia import NuSVC as NuSVC
from absentia import NuSVR as NuSVR
from absentia import OneClassSVM as OneClassSVM
