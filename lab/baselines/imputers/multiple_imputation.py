"""Multiple imputation: an estimator on each of several completed tables, predictions pooled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.svm import SVC, SVR
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from absentia.machines.targets import ClassifierTargets, decided_classes
from absentia.parameters import COUNT, RandomState, declared
from absentia.tables import FloatArray, Table, TableLike, set_fitted
from absentia.tables.rows import TakesMissing
from lab.baselines.imputers.chained_equations import ChainedEquationsImputer


@declared
class _MultipleImputation(MetaEstimatorMixin, TakesMissing):
    """Complete the training rows ``n_draws`` times, and fit a copy of the estimator to each."""

    estimator: BaseEstimator | None = field(default=None, kw_only=False)
    imputer: BaseEstimator | None = field(default=None, kw_only=False)
    n_draws: int = 5
    random_state: RandomState = None

    imputer_: BaseEstimator = field(init=False)
    estimators_: list[BaseEstimator] = field(init=False)

    def _fit(self, X: TableLike, y: ArrayLike) -> Self:
        COUNT.check("n_draws", self.n_draws)
        table = Table.of(X)
        imputer = self._make_imputer().fit(table.as_given())
        estimators = [
            clone(self._base_estimator()).fit(completed, y)
            for completed in imputer.draws(table.as_given(), self.n_draws)
        ]
        set_fitted(self, table, {"imputer_": imputer, "estimators_": estimators})
        return self

    def _make_imputer(self) -> BaseEstimator:
        if self.imputer is None:
            return ChainedEquationsImputer(self.n_draws, random_state=self.random_state)
        imputer = clone(self.imputer)
        if not hasattr(imputer, "draws"):
            raise TypeError(
                f"imputer must be able to draw several completed tables, but "
                f"{type(imputer).__name__} has no method 'draws'. Use ChainedEquationsImputer "
                "or SampledImputer."
            )
        # The chains of an imputer are run when it is fitted, so it must know how many.
        known = imputer.get_params(deep=False)
        shared: dict[str, int | RandomState] = {"n_draws": self.n_draws}
        if known.get("random_state", 0) is None:
            shared["random_state"] = self.random_state
        return imputer.set_params(**{k: v for k, v in shared.items() if k in known})

    def _base_estimator(self) -> BaseEstimator:
        raise TypeError("use MultipleImputationClassifier or MultipleImputationRegressor")

    def _by_draw(self, X: TableLike, method: str) -> FloatArray:
        """Return what each estimator says about its own completion of the rows."""
        check_is_fitted(self)
        completed = self.imputer_.draws(X, len(self.estimators_))
        return np.stack(
            [
                getattr(estimator, method)(table)
                for estimator, table in zip(self.estimators_, completed, strict=True)
            ]
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


def _has(method: str) -> Callable[[object], bool]:
    """Return a check for ``available_if``: does the estimator have this method?"""

    def check(self: BaseEstimator) -> bool:
        fitted = getattr(self, "estimators_", None)
        return hasattr(fitted[0] if fitted else self._base_estimator(), method)

    return check


@declared
class MultipleImputationClassifier(ClassifierTargets, _MultipleImputation):
    """Classify with an estimator on each of ``n_draws`` completed tables, and pool.

    Draw ``k`` of the training rows trains estimator ``k``, which sees draw ``k`` of the new rows;
    their probabilities are averaged, or their decision functions where there are no probabilities,
    or, failing both, their votes counted.

    Parameters
    ----------
    estimator : classifier, optional
        For complete tables; ``sklearn.svm.SVC()`` without it.
    imputer : transformer with a method ``draws(X, n_draws)``, optional
        :class:`ChainedEquationsImputer` (MICE) without it.
    n_draws : int, default=5
    random_state : int, RandomState instance or None, default=None
        For the imputer, where that has none of its own.

    Attributes
    ----------
    classes_ : ndarray
    estimators_ : list of classifiers
    imputer_ : transformer

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import MultipleImputationClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 3))
    >>> y = X.sum(axis=1) > 0
    >>> X[rng.uniform(size=X.shape) < 0.2] = np.nan
    >>> MultipleImputationClassifier(random_state=0).fit(X, y).score(X, y) > 0.8
    True
    """

    def _base_estimator(self) -> BaseEstimator:
        return SVC() if self.estimator is None else self.estimator

    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Fit to incomplete rows, shape (n_samples, n_features), and their classes."""
        return self._fit(X, y)

    @property
    def classes_(self) -> np.ndarray:  # type: ignore[override]
        """The classes that were seen in training."""
        check_is_fitted(self, "estimators_")
        classes: np.ndarray = self.estimators_[0].classes_
        return classes

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return the average probability of each class, shape (n_samples, n_classes)."""
        mean: FloatArray = self._by_draw(X, "predict_proba").mean(axis=0)
        return mean

    @available_if(_has("decision_function"))
    def decision_function(self, X: TableLike) -> FloatArray:
        """Return the average decision function, of the shape that the estimator's has."""
        mean: FloatArray = self._by_draw(X, "decision_function").mean(axis=0)
        return mean

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the pooled class of each row, shape (n_samples,)."""
        check_is_fitted(self)
        if hasattr(self.estimators_[0], "predict_proba"):
            index = np.argmax(self.predict_proba(X), axis=1)
        elif hasattr(self.estimators_[0], "decision_function"):
            return decided_classes(self.classes_, self.decision_function(X))
        else:
            votes = self._by_draw(X, "predict")
            index = np.argmax([(votes == label).sum(axis=0) for label in self.classes_], axis=0)
        predicted: np.ndarray = self.classes_[index]
        return predicted


@declared
class MultipleImputationRegressor(RegressorMixin, _MultipleImputation):
    """Predict with an estimator on each of ``n_draws`` completed tables, and average.

    The same as :class:`MultipleImputationClassifier` with numbers for targets; the average of the
    predictions is Rubin's pooled estimate.

    Parameters
    ----------
    estimator : regressor, optional
        For complete tables; ``sklearn.svm.SVR()`` without it.
    imputer : transformer with a method ``draws(X, n_draws)``, optional
        :class:`ChainedEquationsImputer` (MICE) without it.
    n_draws : int, default=5
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    estimators_ : list of regressors
    imputer_ : transformer

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import MultipleImputationRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 3))
    >>> y = X.sum(axis=1)
    >>> X[rng.uniform(size=X.shape) < 0.1] = np.nan
    >>> MultipleImputationRegressor(random_state=0).fit(X, y).score(X, y) > 0.7
    True
    """

    def _base_estimator(self) -> BaseEstimator:
        return SVR() if self.estimator is None else self.estimator

    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Fit to incomplete rows, shape (n_samples, n_features), and their targets."""
        return self._fit(X, y)

    def predict(self, X: TableLike) -> FloatArray:
        """Return the average prediction for each row, shape (n_samples,)."""
        mean: FloatArray = self._by_draw(X, "predict").mean(axis=0)
        return mean
