"""The machines, density and all, against scikit-learn's with an imputer before them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import sklearn.svm
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import (
    SVC,
    SVCCV,
    GaussianDensity,
    GenRBF,
    KernelRidge,
    KernelRidgeCV,
    LogisticRegression,
    LogisticRegressionCV,
)
from absentia.machines.search.kernel_family import KernelFamily
from absentia.machines.search.widths import GAMMA_BOUNDS, least_error
from absentia.machines.targets import codes_of_classes
from lab.speed.ratio import Row, best_seconds

MISSING = 0.3
PROBABILITIES = (("LogisticRegression.predict_proba", LogisticRegression(n_jobs=1)),)


def example(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows driven by a few factors, with holes, and two classes to tell apart."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, max(2, d // 4)))
    X = factors @ rng.normal(size=(factors.shape[1], d)) + rng.normal(size=(n, d))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (factors[:, 0] * factors[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)
    X[rng.random(X.shape) < MISSING] = np.nan
    return X, y


def rows() -> Iterator[Row]:
    """Time every comparison."""
    for shape, n, d, bar, aim in (("Pima", 768, 8, 3.0, 1.5), ("Ionosphere", 351, 34, 10.0, 4.0)):
        X, y = example(n, d)
        half = n // 2

        def train_and_predict(machine, X=X, y=y, half=half):  # type: ignore[no-untyped-def]
            return machine.fit(X, y).predict(X[:half])

        imputed = make_pipeline(SimpleImputer(), sklearn.svm.SVC())
        yield Row(
            f"SVC fit and predict, shape of {shape} ({n} x {d}), 30 % missing",
            best_seconds(partial(train_and_predict, SVC())),
            best_seconds(partial(train_and_predict, imputed)),
            bar,
            aim,
            "theirs: SimpleImputer and scikit-learn's SVC on the same rows; half of them predicted",
        )
    yield leave_one_out_row()
    yield from one_row_rows()
    yield search_row()
    yield from search_cost_rows()


def leave_one_out_row() -> Row:
    """Time ``gamma="loo"`` in units of the Gram matrix that training needs anyway."""
    X, y = example(1000, 14)
    density = GaussianDensity().fit(X)
    beliefs = density.condition(X)
    codes, kernel = codes_of_classes(y), GenRBF().resolve(density.prior_)
    family = KernelFamily.of(
        kernel,
        density.prior_,
        free_gamma=True,
        free_mask_weight=False,
        gamma_bounds=GAMMA_BOUNDS,
    )
    return Row(
        "gamma='loo', n=1000, d=14, 30 % missing",
        best_seconds(lambda: least_error(family, beliefs, codes), repeats=3),
        best_seconds(lambda: kernel(beliefs), repeats=3),
        10.0,
        None,
        "theirs: one Gram matrix of the same rows",
    )


def one_row_rows() -> Iterator[Row]:
    """Time the prediction of one new row with holes, one thread."""
    for n, d in ((1400, 14), (1200, 34)):
        X, y = example(n, d)
        new = X[:1].copy()
        pipeline = make_pipeline(SimpleImputer(), StandardScaler(), sklearn.svm.SVC()).fit(X, y)
        theirs = best_seconds(partial(pipeline.predict, new), repeats=300)
        for name, machine in (("SVC.predict", SVC(n_jobs=1)), *PROBABILITIES):
            machine.fit(X, y)
            method = machine.predict if name == "SVC.predict" else machine.predict_proba
            yield Row(
                f"{name}, one new row, {len(machine.beliefs_)} rows kept, d={d}",
                best_seconds(partial(method, new), repeats=300),
                theirs,
                1.17 if name == "SVC.predict" else None,
                1.0 if name == "SVC.predict" else None,
                "one new row: theirs is SimpleImputer, StandardScaler and scikit-learn's SVC",
            )


def search_row() -> Row:
    """Time model selection on the grid of Smieja2018 against a grid search over the machine."""
    X, y = example(351, 34)
    penalties = [2.0**k for k in range(-5, 10, 2)]
    gammas = [2.0**k / 34 for k in range(-5, 12, 2)]
    SVC().fit(X, y)
    start = time.perf_counter()
    mine = SVCCV(Cs=penalties, gammas=gammas, cv=5).fit(X, y)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    plain = SVC(density=FrozenEstimator(GaussianDensity().fit(X)))
    theirs = GridSearchCV(plain, {"C": penalties, "gamma": gammas}, cv=5).fit(X, y)
    search = time.perf_counter() - start
    if mine.best_params_ != theirs.best_params_:
        raise AssertionError(f"{mine.best_params_} is not {theirs.best_params_}")
    return Row(
        "SVCCV, 8 C x 9 gamma, 5 folds, shape of Ionosphere",
        ours,
        search,
        0.2,
        None,
        "theirs: GridSearchCV over the same machine and density; same choice, checked",
    )


def search_cost_rows() -> Iterator[Row]:
    """Time a grid of 4 x 4 candidates in five folds in units of one fit, in processor time."""
    X, y = example(1000, 20)
    penalties = (0.1, 1.0, 10.0, 100.0)
    for search, plain, targets in (
        (SVCCV(gammas=4, Cs=penalties), SVC, y),
        (LogisticRegressionCV(gammas=4, Cs=penalties), LogisticRegression, y),
        (KernelRidgeCV(gammas=4, alphas=penalties), KernelRidge, 2.0 * y - 1),
    ):
        start = time.process_time()
        search.fit(X, targets)
        ours = time.process_time() - start
        machine = plain(**search.best_params_).fit(X, targets)
        fits = []
        for _ in range(3):
            start = time.process_time()
            machine.fit(X, targets)
            fits.append(time.process_time() - start)
        yield Row(
            f"{type(search).__name__}, 4 x 4 grid, 5 folds, n=1000, d=20, 30 % missing",
            ours,
            min(fits),
            20.0,
            12.0,
            "theirs: one fit of the plain machine with the parameters chosen; processor time",
        )
