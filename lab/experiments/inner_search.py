"""The same inner cross-validation for every method, on training rows only.

Kernel methods go through :func:`search_kernel`: missing values are handled once per fold, the Gram
matrix is computed once per width, and all penalties are solved on it. Learners that are no kernel
methods go through :func:`search_estimator`, a grid search over the same folds. When the best width
lies on the edge of the grid, the grid is widened beyond that edge, and the cell records it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.model_selection import BaseCrossValidator, KFold, ParameterGrid, StratifiedKFold
from sklearn.svm import SVC, SVR

from absentia.automatic import AutoRegressor
from absentia.hidden_warnings import hidden_warnings
from absentia.machines.targets import Task, decided_classes
from absentia.tables import BoolArray, FloatArray, IntArray, Table
from lab.data.sources import FittedSource, GramPair, GramSource

#: A solver that makes no progress is stopped here: libsvm can run for hours at extreme penalties.
_MOST_ITERATIONS = 200_000
#: How many steps the grid of widths may grow beyond an edge.
_WIDEN_STEPS = 4


@dataclass(frozen=True)
class Grid:
    """The penalties and kernel widths to choose among, and how a choice is judged."""

    penalties: Sequence[float]
    gammas: Sequence[float]
    folds: int = 5
    metric: str = "accuracy"
    widen: bool = True
    epsilon: float = 0.1
    #: The most values tried per parameter of a method without a kernel.
    candidates: int | None = 3


class Learner(Protocol):
    """Learner on a Gram matrix; by default a support vector machine."""

    def __call__(self, task: Task, C: float, grid: Grid) -> BaseEstimator:
        """Return a new estimator that takes a precomputed Gram matrix."""


@dataclass
class Trained:
    """A method after its choice of parameters, trained on all the training rows.

    Attributes
    ----------
    prediction : ndarray
        For the test rows.
    decision : ndarray or None
        Decision values, or predictions of a regressor, for the test rows.
    out_of_fold : ndarray or None
        The same for the training rows, each from a model that had not seen it.
    probabilities : ndarray or None
        For the test rows, where the method has probabilities of its own.
    classes : ndarray or None
        The order of the columns of decision values and probabilities.
    facts : dict
        What was chosen.
    """

    prediction: np.ndarray
    decision: FloatArray | None
    out_of_fold: FloatArray | None
    probabilities: FloatArray | None = None
    classes: np.ndarray | None = None
    facts: dict[str, object] = field(default_factory=dict)


def seen_columns(X: FloatArray | Table) -> BoolArray:
    """Return which columns have a value in some training row; no method can use the others."""
    return np.asarray(np.isfinite(np.asarray(X)).any(axis=0))


def _part(X: FloatArray | Table, rows: IntArray | slice, columns: BoolArray) -> FloatArray | Table:
    """Return some rows and columns, with their limits where they have any."""
    return X[rows][:, columns] if isinstance(X, np.ndarray) else X[rows].of_columns(columns)


def inner_splits(
    y: np.ndarray, task: Task, folds: int, seed: int
) -> list[tuple[IntArray, IntArray]]:
    """Return the folds of the training rows: stratified for classes, and fewer for rare ones."""
    if task == "regression":
        splitter: BaseCrossValidator = KFold(min(folds, len(y)), shuffle=True, random_state=seed)
    else:
        rarest = int(np.unique(y, return_counts=True)[1].min())
        splitter = StratifiedKFold(max(2, min(folds, rarest)), shuffle=True, random_state=seed)
    # A class with one member cannot be in two folds; the split is still the best there is.
    with hidden_warnings("The least populated class"):
        return list(splitter.split(np.zeros((len(y), 1)), y))


def support_vector_machine(task: Task, C: float, grid: Grid) -> BaseEstimator:
    """Return scikit-learn's support vector machine on a precomputed Gram matrix."""
    if task == "classification":
        return SVC(C=C, kernel="precomputed", max_iter=_MOST_ITERATIONS)
    return SVR(C=C, epsilon=grid.epsilon, kernel="precomputed", max_iter=_MOST_ITERATIONS)


def kernel_logistic_regression(task: Task, C: float, grid: Grid) -> BaseEstimator:
    """Return the machine of [Williams2005]_: logistic regression on the rows of the matrix."""
    # Newton's steps: there are as many coefficients as rows, a hundred, and five steps are enough.
    return LogisticRegression(C=C, solver="newton-cholesky")


def search_kernel(
    source: GramSource,
    X: FloatArray | Table,
    y: np.ndarray,
    X_test: FloatArray | Table,
    task: Task,
    grid: Grid,
    seed: int,
    learner: Learner = support_vector_machine,
) -> Trained:
    """Choose penalty, width and extras of a kernel method, train it, and predict the test rows."""
    # Without folds nothing is chosen, and no row has a value from a model that had not seen it.
    splits = inner_splits(y, task, grid.folds, seed) if grid.folds > 1 else []

    def prepare(train: IntArray, validation: IntArray) -> FittedSource:
        seen = seen_columns(X[train])
        return source.fit(_part(X, train, seen), _part(X, validation, seen))

    folds = [prepare(*split) for split in splits]
    scores: dict[tuple[float, int, int], float] = {}

    def score_width(gamma: float) -> None:
        # One Gram matrix per fold and width serves all extras and penalties.
        found = np.empty((len(source.extras), len(grid.penalties), len(folds)))
        for f, (train, validation) in enumerate(splits):
            pairs_of = folds[f].at(gamma)
            for e, extra in enumerate(source.extras):
                pairs = pairs_of(extra)
                for c, C in enumerate(grid.penalties):
                    solved = _solved(pairs, y[train], task, C, grid, learner)
                    found[e, c, f] = _metric(
                        grid.metric, y[validation], solved.prediction, solved.decision
                    )
        means = found.mean(axis=-1)
        scores.update({(gamma, e, c): float(means[e, c]) for e, c in np.ndindex(*means.shape)})

    gamma, e, c = grid.gammas[0], 0, 0
    edge, widened = "", 0
    # Where there is nothing to choose among, nothing is scored.
    if len(grid.gammas) * len(source.extras) * len(grid.penalties) > 1:
        for width in grid.gammas:
            score_width(width)
        edge, widened = _widen(grid, scores, score_width)
        gamma, e, c = _best(scores)
    extra, C = source.extras[e], grid.penalties[c]

    parts = [
        (validation, _solved(fold.at(gamma)(extra), y[train], task, C, grid, learner).decision)
        for fold, (train, validation) in zip(folds, splits, strict=True)
    ]
    out_of_fold = _assembled(parts, len(y)) if parts else None
    seen = seen_columns(X)
    pairs = source.fit(_part(X, slice(None), seen), _part(X_test, slice(None), seen)).at(gamma)(
        extra
    )
    solved = _solved(pairs, y, task, C, grid, learner)
    facts = {"C": C, "gamma": gamma, **extra}
    if scores:
        facts["inner_score"] = scores[gamma, e, c]
    if edge:
        facts |= {"gamma_edge": edge, "gammas_added": widened}
    return Trained(
        solved.prediction,
        solved.decision,
        out_of_fold,
        solved.probabilities(),
        solved.classes,
        facts,
    )


def search_estimator(
    estimator: BaseEstimator,
    parameters: Mapping[str, Sequence[Any]],
    X: FloatArray | Table,
    y: np.ndarray,
    X_test: FloatArray | Table,
    task: Task,
    grid: Grid,
    seed: int,
) -> Trained:
    """Choose the parameters of any estimator by the same folds, train it, and predict."""
    splits = inner_splits(y, task, grid.folds, seed)
    candidates = list(ParameterGrid(dict(parameters)))
    best_score, best = -np.inf, candidates[0]
    best_values: list[tuple[IntArray, FloatArray]] | None = None
    # Some learners bring out-of-fold predictions of their own.
    judged = len(candidates) > 1 or (
        task == "regression" and not isinstance(estimator, AutoRegressor)
    )
    for candidate in candidates if judged else []:
        total, values_of_row = 0.0, []
        for train, validation in splits:
            seen = seen_columns(X[train])
            model = clone(estimator).set_params(**candidate)
            fit_quietly(model, _part(X, train, seen), y[train])
            rows = _part(X, validation, seen)
            predicted = model.predict(rows)
            values = _values(model, rows, predicted)
            total += _metric(grid.metric, y[validation], predicted, values)
            values_of_row.append((validation, values))
        if total > best_score:
            best_score, best, best_values = total, candidate, values_of_row
    seen = seen_columns(X)
    model = clone(estimator).set_params(**best)
    fit_quietly(model, _part(X, slice(None), seen), y)
    rows = _part(X_test, slice(None), seen)
    prediction = model.predict(rows)
    probabilities = model.predict_proba(rows) if hasattr(model, "predict_proba") else None
    facts = dict(best)
    if np.isfinite(best_score):
        facts["inner_score"] = best_score / len(splits)
    out_of_fold = None
    if best_values is not None:
        out_of_fold = _assembled(best_values, len(y))
    elif isinstance(model, AutoRegressor):
        out_of_fold = model.out_of_fold_
    return Trained(
        prediction,
        _values(model, rows, prediction),
        out_of_fold,
        probabilities,
        getattr(model, "classes_", None),
        facts,
    )


@dataclass
class _Solved:
    """Machines trained on each pair of matrices, and what they say together of the other rows."""

    pairs: list[GramPair]
    models: list[BaseEstimator]
    decision: FloatArray
    prediction: np.ndarray

    @property
    def classes(self) -> np.ndarray | None:
        return getattr(self.models[0], "classes_", None)

    def probabilities(self) -> FloatArray | None:
        """Return the mean of the machines' own; None if they have none."""
        if not hasattr(self.models[0], "predict_proba"):
            return None
        machines = zip(self.models, self.pairs, strict=True)
        own = [model.predict_proba(K_new) for model, (_, K_new) in machines]
        return np.asarray(np.mean(own, axis=0))


def _solved(
    pairs: list[GramPair], y: np.ndarray, task: Task, C: float, grid: Grid, learner: Learner
) -> _Solved:
    """Train on each pair of matrices, and pool the decision values."""
    models = []
    for K, _ in pairs:
        model = learner(task, C, grid)
        # The matrices are our own: to check each of them again costs as much as to solve.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            fit_quietly(model, K, y)
        models.append(model)
    values = [_decision(model, K_new) for model, (_, K_new) in zip(models, pairs, strict=True)]
    decision = np.mean(values, axis=0)
    classes = getattr(models[0], "classes_", None)
    if classes is None:
        prediction = decision
    elif len(pairs) == 1 and len(classes) > 2:
        # The machine's own vote, which can differ from the largest value.
        prediction = models[0].predict(pairs[0][1])
    else:
        prediction = decided_classes(classes, decision)
    return _Solved(pairs, models, decision, prediction)


def _decision(model: BaseEstimator, K_new: FloatArray) -> FloatArray:
    """Return decision values, or what a regressor predicts."""
    # One machine is a sum, written out: libsvm takes as long for it as for training.
    if isinstance(model, (SVC, SVR)) and len(model.dual_coef_) == 1:
        return np.asarray(K_new[:, model.support_] @ model.dual_coef_[0] + model.intercept_[0])
    if isinstance(model, LogisticRegression) and len(model.coef_) == 1:
        return np.asarray(K_new @ model.coef_[0] + model.intercept_[0])
    judge = model.decision_function if hasattr(model, "classes_") else model.predict
    return np.asarray(judge(K_new))


def _assembled(parts: list[tuple[IntArray, FloatArray]], n: int) -> FloatArray:
    """Put values of parts of the rows in the order of the rows; NaN where shapes disagree."""
    width = {values.shape[1:] for _, values in parts}
    if len(width) > 1:  # a rare class was absent from one fold
        return np.full(n, np.nan)
    whole = np.full((n, *width.pop()), np.nan)
    for rows, values in parts:
        whole[rows] = values
    return whole


def _widen(
    grid: Grid,
    scores: dict[tuple[float, int, int], float],
    score_width: Callable[[float], None],
) -> tuple[str, int]:
    """Score widths beyond the edge while the best lies on it; say which edge, and how many."""
    gammas = sorted(grid.gammas)
    if len(gammas) < 2:
        return "", 0
    best = _best(scores)[0]
    edge = "low" if best == gammas[0] else "high" if best == gammas[-1] else ""
    added = 0
    while grid.widen and edge and added < _WIDEN_STEPS:
        step = gammas[1] / gammas[0] if edge == "low" else gammas[-1] / gammas[-2]
        new = gammas[0] / step if edge == "low" else gammas[-1] * step
        gammas = [new, *gammas] if edge == "low" else [*gammas, new]
        score_width(new)
        added += 1
        if _best(scores)[0] != new:
            break
    return edge, added


def _best(scores: dict[tuple[float, int, int], float]) -> tuple[float, int, int]:
    """Return the best candidate; of equals the smoothest (small width, then small penalty)."""
    return max(scores, key=lambda key: (np.nan_to_num(scores[key], nan=-np.inf), -key[0], -key[2]))


def _metric(name: str, y: np.ndarray, predicted: np.ndarray, values: FloatArray) -> float:
    if name == "accuracy":
        # Not accuracy_score, whose checks take longer than a machine on a hundred rows.
        return float(np.mean(y == predicted))
    if name == "balanced_accuracy":
        return float(balanced_accuracy_score(y, predicted))
    if name == "roc_auc":
        return _area_under_the_curve(y, values)
    return float(r2_score(y, predicted))


def _area_under_the_curve(y: np.ndarray, values: FloatArray) -> float:
    """Return the AUC from ranks (Mann and Whitney): roc_auc_score takes as long as a machine."""
    classes = np.unique(y)
    if len(classes) != 2:
        return float("nan")
    second = y == classes[1]
    n_second = int(second.sum())
    above = rankdata(values)[second].sum() - n_second * (n_second + 1) / 2
    return float(above / (n_second * (len(y) - n_second)))


def _values(model: BaseEstimator, rows: FloatArray | Table, predicted: np.ndarray) -> FloatArray:
    if hasattr(model, "decision_function"):
        values: FloatArray = model.decision_function(rows)
        return values
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(rows)
        return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities
    return np.asarray(predicted)


def fit_quietly(model: BaseEstimator, X: FloatArray | Table, y: np.ndarray) -> None:
    """Fit without the warning that the iterations were used up: extreme candidates lose anyway."""
    with hidden_warnings(category=ConvergenceWarning):
        model.fit(X, y)
