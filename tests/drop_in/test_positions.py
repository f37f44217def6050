"""Parameters are taken by position where scikit-learn takes them so, and nowhere else."""

from __future__ import annotations

from inspect import Parameter, signature

import pytest
import sklearn.cluster
import sklearn.decomposition
import sklearn.kernel_ridge
import sklearn.svm

import absentia

PAIRS = [
    (absentia.SVC, sklearn.svm.SVC),
    (absentia.NuSVC, sklearn.svm.NuSVC),
    (absentia.SVR, sklearn.svm.SVR),
    (absentia.NuSVR, sklearn.svm.NuSVR),
    (absentia.OneClassSVM, sklearn.svm.OneClassSVM),
    (absentia.KernelRidge, sklearn.kernel_ridge.KernelRidge),
    (absentia.KernelPCA, sklearn.decomposition.KernelPCA),
    (absentia.SpectralClustering, sklearn.cluster.SpectralClustering),
]


def by_position(kind):
    known = signature(kind).parameters.values()
    return [p.name for p in known if p.kind is Parameter.POSITIONAL_OR_KEYWORD]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda kind: kind.__name__)
def test_the_same_parameters_by_position(ours, theirs):
    assert by_position(ours) == by_position(theirs)


def test_a_cost_by_position_is_refused_as_scikit_learn_does():
    for kind in (absentia.SVC, sklearn.svm.SVC):
        with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
            kind(1.0)
