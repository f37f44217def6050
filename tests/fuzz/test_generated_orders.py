"""The order of rows and of columns changes nothing, for every family of models.

``examine(name, seed)`` repeats a failure. Densities are fitted to the last digits, so that what
differs is rounding in other orders of the sums.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from absentia import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    AutoClassifier,
    AutoRegressor,
    ConformalClassifier,
    ConformalRegressor,
    ConjugateGradientRidge,
    DensityImputer,
    FourierFeatures,
    GaussianDensity,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelPCA,
    KernelRidge,
    KernelRidgeCV,
    LabelSpreading,
    LargeScaleLogisticRegression,
    LargeScaleRidge,
    LargeScaleSVC,
    LogisticRegression,
    LogisticRegressionCV,
    LowRankDensity,
    MarginalRegressor,
    MixtureDensity,
    NuSVC,
    NuSVR,
    Nystroem,
    OneClassSVM,
    OutlierDetector,
    RobustSVC,
    measure_next,
    predict_uncertainty,
)
from fuzz.generated import examine_all, numbers, with_holes
from fuzz.test_generated_tables import KERNELS, N_TABLES, REFUSALS
from fuzz.test_generated_uses import MORE_REFUSALS

PER_FAMILY = max(2, N_TABLES // 200)
EXACT = {"tol": 1e-13, "max_iter": 3000}
DENSITY = GaussianDensity(**EXACT)
ALL = {"n_components": 100, "features": "nystroem", "random_state": 0}
REST = {"density": DENSITY}
#: libsvm stops at 1e-3 by default, whatever comes first.
TIGHT = REST | {"tol": 1e-11}


def decision(model, X):
    return model.decision_function(X)


def chances(model, X):
    return model.predict_proba(X)


def answers(model, X):
    return model.predict(X)


def products(model, X):
    """Inner products of features, which have signs and an order of their own."""
    Z = model.transform(X)
    return Z @ Z.T


#: Model, task, and what it answers.
FAMILIES = {
    "Gaussian": (DENSITY, None, lambda m, X: m.score_samples(X)),
    "mixture": (MixtureDensity(1, **EXACT), None, lambda m, X: m.impute(X)),
    "low rank": (LowRankDensity(1, **EXACT), None, lambda m, X: m.score_samples(X)),
    "imputer": (DensityImputer(DENSITY), None, lambda m, X: m.transform(X)),
    "outliers": (OutlierDetector(density=DENSITY), None, lambda m, X: m.score_samples(X)),
    "SVC": (SVC(**TIGHT), "classes", decision),
    "NuSVC": (NuSVC(nu=0.3, **TIGHT), "classes", decision),
    "RobustSVC": (RobustSVC(**REST), "classes", decision),
    "logistic": (LogisticRegression(**REST), "classes", chances),
    "process of classes": (GaussianProcessClassifier(gamma="scale", **REST), "classes", chances),
    "large SVC": (LargeScaleSVC(**ALL, **REST), "classes", decision),
    "large logistic": (LargeScaleLogisticRegression(**ALL, **REST), "classes", chances),
    "labels": (LabelSpreading(**REST), "classes", chances),
    "SVR": (SVR(**TIGHT), "numbers", answers),
    "NuSVR": (NuSVR(**TIGHT), "numbers", answers),
    "ridge": (KernelRidge(**REST), "numbers", answers),
    "EGK": (KernelRidge(kernel="egk", **REST), "numbers", answers),
    "expected RBF": (KernelRidge(kernel="expected_rbf", **REST), "numbers", answers),
    "masks": (KernelRidge(mask_weight=0.3, **REST), "numbers", answers),
    "process": (GaussianProcessRegressor(gamma="scale", **REST), "numbers", answers),
    "large ridge": (LargeScaleRidge(**ALL, **REST), "numbers", answers),
    "gradients": (ConjugateGradientRidge(tol=1e-12, random_state=0, **REST), "numbers", answers),
    "one class": (OneClassSVM(nu=0.3, **TIGHT), None, decision),
    "components": (KernelPCA(2, kernel="genrbf", **REST), None, products),
    "landmarks": (Nystroem(100, random_state=0, **REST), None, products),
    "SVCCV": (SVCCV(gammas=3, **TIGHT), "classes", decision),
    "SVRCV": (SVRCV(gammas=3, **TIGHT), "numbers", answers),
    "logistic CV": (LogisticRegressionCV(gammas=3, **REST), "classes", chances),
    "ridge CV": (KernelRidgeCV(gammas=3, **REST), "numbers", answers),
    "worth": (KernelRidge(**REST), "numbers", lambda m, X: measure_next(m, X[:3]).gain),
    "doubt": (GaussianProcessRegressor(gamma="scale", **REST), "numbers", lambda m, X: (
        predict_uncertainty(m, X[:3]).by_column)),
}  # fmt: skip
#: What is drawn or hidden depends on the order of the columns.
OF_ROWS = {
    "waves": (FourierFeatures(n_components=8, random_state=0, **REST), None, products),
    "draws": (MarginalRegressor(FrozenEstimator(LinearRegression().fit(np.eye(3), np.arange(3.0))),
                                density=DENSITY, n_draws=16, random_state=0), "numbers", answers),
    "intervals": (ConformalRegressor(FrozenEstimator(LinearRegression()), method="exact"),
                  "numbers", lambda m, X: m.predict_interval(X).upper),
    "label sets": (ConformalClassifier(FrozenEstimator(LogisticRegression()), method="nested"),
                   "classes", lambda m, X: m.predict_set(X).members),
}  # fmt: skip
#: Rows are in other folds in another order.
OF_COLUMNS = {
    "automatic classes": (AutoClassifier(members=["linear", "beliefs"], density=DENSITY,
                                         hidden=(), n_repeats=1, random_state=0),
                          "classes", chances),
    "automatic numbers": (AutoRegressor(members=["linear", "beliefs"], density=DENSITY,
                                        hidden=(), n_repeats=1, random_state=0),
                          "numbers", answers),
}  # fmt: skip


def rows_of(rng, name):
    """Make a table of moderate numbers with holes, its targets, and an order of each axis."""
    d = 3 if name in OF_ROWS else int(rng.integers(2, 5))
    n = int(rng.integers(24, 40))
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.4 * rng.normal(size=(d, d)))
    y = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < rng.choice([0.0, 0.1, 0.3])] = np.nan
    rows, columns = rng.permutation(n), rng.permutation(d)
    if name in OF_ROWS:
        columns = np.arange(d)
    if name in OF_COLUMNS:
        rows = np.arange(n)
    return X, y, rows, columns


def examine(name, seed):
    """Fit a model to a table in two orders, and compare what it answers."""
    rng = np.random.default_rng([seed, 2])
    model, task, answer = (FAMILIES | OF_ROWS | OF_COLUMNS)[name]
    X, y, rows, columns = rows_of(rng, name)
    y = (y > np.median(y)).astype(int) if task == "classes" else y
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in ("intervals", "label sets"):
            inner = KernelRidge(**REST) if task == "numbers" else LogisticRegression(**REST)
            model = model.set_params(estimator=FrozenEstimator(inner.fit(X, y)))
        for row, column in ((np.arange(len(X)), np.arange(X.shape[1])), (rows, columns)):
            if name.endswith("CV"):
                folds = KFold(3, shuffle=True, random_state=0).split(X)
                place = np.argsort(row)
                model.set_params(cv=[(place[train], place[test]) for train, test in folds])
            fitted = model.fit(X[row][:, column], *([] if task is None else [y[row]]))
            given = np.asarray(answer(fitted, X[:, column]))
            if given.shape[1:] == X.shape[1:] and name in ("mixture", "imputer", "worth", "doubt"):
                given = given[:, np.argsort(column)]
            found.append(given)
    size = np.abs(np.nan_to_num(found[0])).max()
    tolerance = 1e-3 if name in OF_COLUMNS or "large" in name or "process" in name else 1e-5
    np.testing.assert_allclose(found[1], found[0], atol=tolerance * max(size, 1e-9))


@pytest.mark.parametrize("name", FAMILIES | OF_ROWS | OF_COLUMNS)
def test_another_order_has_the_same_answers(name):
    examine_all(lambda seed: examine(name, seed), range(PER_FAMILY))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_another_order_of_rows_has_the_same_kernel(kernel):
    def compare(seed):
        rng = np.random.default_rng([seed, 3])
        X = with_holes(rng, numbers(rng))
        order = rng.permutation(len(X))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                beliefs = GaussianDensity(max_iter=20).fit(X).condition(X)
                K = kernel(beliefs)
            except ValueError as error:
                if any(sentence in str(error) for sentence in (*REFUSALS, *MORE_REFUSALS)):
                    return
                raise
            found = kernel(beliefs[order])
        # As part and whole may differ in the other tests.
        np.testing.assert_allclose(found, K[order][:, order], atol=1e-7 * np.abs(K).max())

    examine_all(compare, range(10 * PER_FAMILY))
