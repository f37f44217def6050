"""The kernel as a transformer, alone and in pipelines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import SVC, GaussianDensity, GenRBF, KernelMatrix
from machines.contract import MachineContract, table, targets_of


class TestKernelMatrix(MachineContract):
    targets = None

    def make(self, **params):
        return KernelMatrix(**params)

    def oracle(self, K, y, K_new):
        return K_new


def test_the_training_matrix_is_symmetric_and_the_same():
    X = table()
    matrix = KernelMatrix()
    K = matrix.fit_transform(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(matrix.transform(X), K, rtol=1e-10)
    density = GaussianDensity().fit(X)
    np.testing.assert_array_equal(K, GenRBF()(density.condition(X)))


def test_a_pipeline_with_it_is_the_machine():
    X, y = 3 + 2 * table(60, seed=2), targets_of("classes", 60)
    pipeline = make_pipeline(
        StandardScaler(), KernelMatrix(), sklearn.svm.SVC(kernel="precomputed")
    )
    machine = make_pipeline(StandardScaler(), SVC())
    ours, theirs = (cross_val_score(model, X, y, cv=3) for model in (machine, pipeline))
    np.testing.assert_array_equal(ours, theirs)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SVC(kernel=GenRBF(), density=GaussianDensity())),
        {"svc__kernel__gamma": [0.1, 1.0], "svc__density__shrinkage": [0.0, 0.1]},
        cv=3,
    ).fit(X, y)
    assert set(search.best_params_) == {"svc__kernel__gamma", "svc__density__shrinkage"}


def test_names_and_frames_come_out():
    X = table(5)
    matrix = KernelMatrix().set_output(transform="pandas")
    frame = matrix.fit_transform(pd.DataFrame(X, columns=list("abc"), index=list("vwxyz")))
    assert list(frame.columns) == [f"kernelmatrix{j}" for j in range(5)]
    assert list(frame.index) == list("vwxyz")
    assert list(matrix.get_feature_names_out()) == list(frame.columns)
    polars = KernelMatrix().set_output(transform="polars").fit(X).transform(X[:2])
    assert polars.shape == (2, 5)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_leave_one_out_uses_the_targets_it_is_given(kind):
    X, y = table(), targets_of(kind)
    machine = SVC(gamma="loo") if kind == "classes" else None
    chosen = KernelMatrix(gamma="loo").fit(X, y).kernel_
    if machine is not None:
        assert chosen == machine.fit(X, y).kernel_
    assert chosen != KernelMatrix(gamma="loo").fit(X, np.roll(y, 7)).kernel_
