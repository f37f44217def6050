"""What a model answers about a row, and what that answer is expected to lose.

Classifiers answer probabilities, shape (n_samples, n_classes). Regressors answer a mean and the
variance around it, shape (n_samples, 2); the variance is NaN where the model does not report one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from absentia.predictions.conformal_scores import BANDS, tells_spread
from absentia.tables import FloatArray

__all__ = ["LOSSES", "Loss", "Questions", "find_density"]

#: From answers to the loss that is expected of each, shape (n_samples,).
Loss = Callable[[FloatArray], FloatArray]

#: At most this many rows go through a model at once.
_BATCH = 8192


def _log(probabilities: FloatArray) -> FloatArray:
    """The entropy: the expected log loss of probabilities, if they are right."""
    entropy: FloatArray = -xlogy(probabilities, probabilities).sum(axis=1)
    return entropy


def _brier(probabilities: FloatArray) -> FloatArray:
    """The expected Brier score of probabilities, if they are right."""
    impurity: FloatArray = 1.0 - (probabilities**2).sum(axis=1)
    return impurity


def _variance(answers: FloatArray) -> FloatArray:
    """The predicted variance: the squared error that a regressor expects."""
    return answers[:, 1]


LOSSES: dict[str, Loss] = {"log": _log, "brier": _brier, "variance": _variance}


@dataclass(frozen=True, eq=False)
class Questions:
    """A model that predicts arrays of rows, whatever kind of table it was trained on.

    Attributes
    ----------
    model : estimator
    classifies : bool
    names : column names, or None
        Those of the frame that the model expects.
    frame : type or None
        The kind of that frame.
    """

    model: Any
    classifies: bool
    names: Any
    frame: Any

    @classmethod
    def to(cls, model: Any, X: Any) -> Questions:
        """Look at a model and at the rows that it is to be asked about."""
        inner = getattr(model, "estimator", model)
        check_is_fitted(model)
        classifies = is_classifier(model)
        if classifies and not hasattr(model, "predict_proba"):
            name = type(inner if not isinstance(inner, str) else model).__name__
            raise ValueError(
                f"{name} has no predict_proba, so its uncertainty is unknown. Calibrate it: "
                f"CalibratedClassifierCV({name}(...), method='sigmoid') of scikit-learn."
            )
        if not classifies and not hasattr(model, "predict"):
            raise TypeError(
                f"{type(model).__name__} predicts nothing; give a classifier or a regressor."
            )
        named = hasattr(X, "columns") and hasattr(model, "feature_names_in_")
        return cls(
            model, classifies, list(X.columns) if named else None, type(X) if named else None
        )

    @property
    def tells_variance(self) -> bool:
        """Whether the loss can be read from one answer (probabilities, or a predicted variance)."""
        return self.classifies or tells_spread(self.model)

    def __call__(self, table: FloatArray) -> FloatArray:
        """Return the answers for rows, in batches."""
        return np.concatenate([self._ask(part) for part in self._parts(table)])

    def _parts(self, table: FloatArray) -> Iterator[Any]:
        for start in range(0, len(table), _BATCH):
            part = table[start : start + _BATCH]
            if self.frame is None:
                yield part
            elif self.frame.__module__.startswith("polars"):
                yield self.frame(part, schema=self.names).fill_nan(None)
            else:
                yield self.frame(part, columns=self.names)

    def _ask(self, rows: Any) -> FloatArray:
        if self.classifies:
            return np.asarray(self.model.predict_proba(rows), dtype=np.float64)
        if tells_spread(self.model):
            mean, _, spread = BANDS["normalised"]((self.model,), rows).T
            return np.column_stack([mean, spread**2])
        mean = BANDS["absolute"]((self.model,), rows)[:, 0]
        return np.column_stack([mean, np.full(len(mean), np.nan)])


def find_density(model: Any) -> Any:
    """Return the fitted density inside a model: its own, or that of the model that it wraps.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from absentia import KernelRidge
    >>> machine = KernelRidge().fit(np.eye(4), np.arange(4))
    >>> find_density(FrozenEstimator(machine)) is machine.density_
    True
    """
    for _ in range(10):
        density = getattr(model, "density_", None)
        if density is not None:
            return getattr(density, "estimator", density)  # a FrozenEstimator holds it
        calibrated = getattr(model, "calibrated_classifiers_", None)
        inner = calibrated[0] if calibrated else None
        for name in ("best_estimator_", "estimator_", "estimator"):
            if inner is None:
                inner = getattr(model, name, None)
        if inner is None:
            break
        model = inner
    raise ValueError(
        f"{type(model).__name__} has no density of the missing values. "
        "Give one: measure_next(..., density=GaussianDensity().fit(X_train)), or wrap the model in "
        "MarginalClassifier or MarginalRegressor."
    )
