"""One gross value in a column: a warning that names the column, and nothing on ordinary tables."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from absentia import (
    SVC,
    SVCCV,
    SVR,
    EmbeddingRBF,
    ExpectedLinear,
    ExpectedRBF,
    FourierFeatures,
    GaussianDensity,
    GaussianProcessRegressor,
    GenRBF,
    KernelMatrix,
    KernelPCA,
    KernelRidge,
    LargeScaleRidge,
    MaskFeatures,
    MaskKernel,
    NormalScores,
    Nystroem,
)
from absentia.kernels.metric import gross_columns


def ruined(n=60, value=1e9):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] - X[:, 2]
    X[rng.random(X.shape) < 0.1] = np.nan
    X[3, 1] = value
    return X, y


MACHINES = {
    "scale": KernelRidge(),
    "loo": KernelRidge(gamma="loo"),
    "loo-ard": KernelRidge(gamma="loo-ard"),
    "process": GaussianProcessRegressor(gamma="ard"),
    "svr": SVR(),
    "object": SVR(kernel=GenRBF()),
    "product": SVR(kernel=0.5 * GenRBF() * MaskKernel(0.1) + ExpectedLinear()),
    "embedding": SVR(kernel=EmbeddingRBF(ExpectedRBF(0.1))),
    "matrix": KernelMatrix(),
    "waves": FourierFeatures(20, random_state=0),
    "landmarks": Nystroem(20, kernel=GenRBF(), random_state=0),
    "learned": LargeScaleRidge(n_components=20, metric="learned", random_state=0),
    "large": LargeScaleRidge(n_components=20, random_state=0),
    "nystroem": LargeScaleRidge(features="nystroem", n_components=20, random_state=0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MACHINES)
def test_the_column_is_named_once(name):
    X, y = ruined()
    with pytest.warns(UserWarning, match="variance of column 'x1': 1e\\+09") as caught:
        MACHINES[name].fit(X, y)
    assert sum("nearly all of the variance" in str(w.message) for w in caught) == 1
    assert all(w.filename == __file__ for w in caught if "variance" in str(w.message))


def test_a_search_warns_once():
    X, y = ruined()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SVCCV(cv=3).fit(X, y > 0)
    assert any("'x1'" in str(w.message) for w in caught)
    assert sum("nearly all of the variance" in str(w.message) for w in caught) == 1
    # Some candidates have a constant kernel; the one that is chosen has not.
    assert not any("same value for all pairs" in str(w.message) for w in caught)


def test_columns_of_frames_are_named():
    pd = pytest.importorskip("pandas")
    X, y = ruined()
    frame = pd.DataFrame(X, columns=["a", "weight", "c"])
    for table in (frame, frame.assign(word=["red", "blue", "green"] * 20)):
        with pytest.warns(UserWarning, match="column 'weight'"):
            SVC().fit(table, y > 0)


def test_several_columns():
    X, y = ruined()
    X[5, 2] = -1e7
    with pytest.warns(UserWarning, match=r"columns 'x1', 'x2': 1e\+09 of 'x1'"):
        KernelRidge().fit(X, y)


def test_standard_units_do_not_help_and_normal_scores_do():
    X, y = ruined()
    with pytest.warns(UserWarning, match="normal scores"):
        SVR().fit(StandardScaler().fit_transform(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVR().fit(NormalScores().fit_transform(X), y)
        machine = SVR(density=GaussianDensity(margins="normal-scores")).fit(X, y)
    assert machine.score(np.delete(X, 3, 0), np.delete(y, 3)) > 0.5


def test_silence_where_widths_do_not_come_from_the_columns():
    X, y = ruined()
    for quiet in (
        SVR(gamma=0.3),
        SVR(gamma="auto"),
        SVR(kernel=GenRBF(0.3)),
        KernelRidge(kernel="linear"),  # libsvm takes seconds for it
        KernelPCA(2),
        KernelMatrix(gamma=0.3),
        Nystroem(20, gamma=0.3),
        FourierFeatures(20, gamma=0.3),
        MaskFeatures(),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            quiet.fit(X, y)
        assert not any("nearly all of the variance" in str(w.message) for w in caught), quiet
    weights = np.ones(len(X))
    weights[3] = 0.0
    SVR().fit(X, y, weights)


def test_ordinary_columns_are_none():
    rng = np.random.default_rng(1)
    for load in (load_iris, load_wine, load_breast_cancer, load_diabetes):
        assert not gross_columns(load().data).any()
    assert not gross_columns(rng.standard_cauchy(size=(300, 50))).any()
    assert not gross_columns(np.exp(4 * rng.normal(size=(1000, 50)))).any()
    rare = np.zeros((200, 2))  # an indicator of a rare word, and an amount that is mostly zero
    rare[7, 0] = 1.0
    rare[[7, 9], 1] = 1e-3, 5e4
    assert not gross_columns(rare).any()
    assert not gross_columns(np.full((20, 2), np.nan)).any()
    assert not gross_columns(np.array([[0.0], [1.0], [1e9]])).any()  # too few to say
    assert not gross_columns(np.ones((50, 1))).any()
