"""Learners that take NaN themselves: trees that send missing values down a branch of their own."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.utils.validation import check_is_fitted

from absentia.machines.targets import ClassifierTargets, Task
from absentia.optional_imports import optional_import
from absentia.parameters import RandomState
from absentia.tables import FloatArray, Table, TableLike, set_fitted
from absentia.tables.rows import TakesMissing

_QUIET: dict[str, dict[str, Any]] = {
    "lightgbm": {"verbosity": -1},
    "xgboost": {"verbosity": 0},
    "catboost": {"verbose": False, "allow_writing_files": False},
}
_CLASSES = {
    "lightgbm": ("LGBMClassifier", "LGBMRegressor"),
    "xgboost": ("XGBClassifier", "XGBRegressor"),
    "catboost": ("CatBoostClassifier", "CatBoostRegressor"),
}


def make_nan_learner(name: str, task: Task, random_state: RandomState = None) -> BaseEstimator:
    """Return a learner that takes rows with NaN as they are.

    Parameters
    ----------
    name : {"hist_gradient_boosting", "random_forest", "lightgbm", "xgboost", "catboost"}
        The last three need the package of that name (the extra ``boosters``).
    task : {"classification", "regression"}
    random_state : int or None

    Returns
    -------
    estimator
        Unfitted, single-threaded, silent.

    Examples
    --------
    >>> from lab.baselines import make_nan_learner
    >>> make_nan_learner("random_forest", "regression", random_state=0)
    RandomForestRegressor(random_state=0)
    """
    if task not in ("classification", "regression"):
        raise ValueError(f"task must be 'classification' or 'regression', found {task!r}.")
    second = task == "regression"
    if name == "hist_gradient_boosting":
        kind: type[BaseEstimator] = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)[
            second
        ]
        return kind(random_state=random_state)
    if name == "random_forest":
        kind = (RandomForestClassifier, RandomForestRegressor)[second]
        return kind(random_state=random_state)
    if name not in _CLASSES:
        known = ", ".join(repr(k) for k in ("hist_gradient_boosting", "random_forest", *_CLASSES))
        raise ValueError(f"name must be one of {known}, found {name!r}.")
    package = optional_import(name, "boosters", f"The learner {name!r}")
    threads = "thread_count" if name == "catboost" else "n_jobs"
    learner = getattr(package, _CLASSES[name][second])(
        random_state=random_state, **{threads: 1}, **_QUIET[name]
    )
    return learner if second else EncodedLabelsClassifier(learner)


class EncodedLabelsClassifier(ClassifierTargets, TakesMissing):
    """Let a classifier that expects the labels 0, 1, 2, ... take any labels.

    Boosting packages differ in the labels and tables that they accept; behind this one they all
    take what absentia's machines take.

    Parameters
    ----------
    estimator : classifier

    Attributes
    ----------
    classes_ : ndarray
    estimator_ : classifier
        Fitted to the codes of the labels.
    """

    classes_: np.ndarray
    estimator_: BaseEstimator

    def __init__(self, estimator: BaseEstimator):
        self.estimator = estimator

    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Fit to incomplete rows, shape (n_samples, n_features), and their classes."""
        table = Table.of(X)
        classes, codes = np.unique(self._check_targets(y, len(table)), return_inverse=True)
        estimator = clone(self.estimator).fit(table.array, codes)
        set_fitted(self, table, {"classes_": classes, "estimator_": estimator})
        return self

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return the probability of each class, shape (n_samples, n_classes)."""
        check_is_fitted(self)
        probabilities = self.estimator_.predict_proba(Table.of(X).checked(self).array)
        return np.asarray(probabilities, dtype=np.float64)
