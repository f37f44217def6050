"""Mixins for classes and for numbers as targets, and targets as codes for solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from absentia.machines.validation import check_squares, checked_labels, checked_numbers
from absentia.parameters import FloatMatrix, FloatVector
from absentia.tables import FloatArray, TableLike
from absentia.tables.rows import is_constant

#: The kind of targets: classes or numbers.
Task = Literal["classification", "regression"]


class ClassifierTargets(ClassifierMixin):
    """Mixin for classifiers: ``y`` holds class labels, at least two different ones.

    A classifier with ``predict_proba`` inherits ``predict`` and ``predict_log_proba``.
    """

    classes_: np.ndarray

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the most probable class of each row, (n_samples,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    # A wrapper has probabilities only if the estimator in it has them.
    @available_if(lambda self: hasattr(self, "predict_proba"))
    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """Return the logarithms of the probabilities, (n_samples, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _check_targets(self, y: Any, n_samples: int) -> np.ndarray:
        """Return ``y`` as a one-dimensional array of at least two classes."""
        y = checked_labels(self, y, n_samples)
        if len(np.unique(y)) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(np.unique(y))} class."
            )
        return y

    def _target_codes(self, y: np.ndarray) -> FloatArray:
        return codes_of_classes(y)


class ScoringClassifier(ClassifierTargets):
    """Mixin for kernel machines with ``f(x) = sum_i dual_coef[i] k(x, x_i) + intercept``.

    Two classes have one such function, positive for the second; more classes have one each.
    """

    _map_gram: Any
    dual_coef_: FloatVector | FloatMatrix
    intercept_: FloatVector

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return ``f`` of each row: (n_samples,) for two classes, else (n_samples, n_classes)."""
        scores = self._map_gram(X, lambda K: K @ self.dual_coef_.T + self.intercept_)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the class of the highest score of each row, (n_samples,)."""
        scores = self.decision_function(X)  # first: it raises if the machine is not fitted
        return decided_classes(self.classes_, scores)


class RegressorTargets(RegressorMixin):
    """Mixin for regressors: ``y`` holds finite numbers, in one column or several."""

    #: Whether each column of ``y`` is a target.
    _multi_output = False
    #: Whether the solver squares targets, so that their squares must not overflow.
    _squares_targets = False

    def _check_targets(self, y: Any, n_samples: int) -> np.ndarray:
        """Return ``y`` as float64, of shape (n_samples,) or (n_samples, n_outputs)."""
        y = checked_numbers(self, y, n_samples, multi_output=self._multi_output)
        if self._squares_targets:
            check_squares(y)
        return y

    def _target_codes(self, y: np.ndarray) -> FloatArray:
        return codes_of_numbers(y)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._multi_output
        return tags


@dataclass(frozen=True, eq=False)
class ClassCodes:
    """Class labels as columns of +1 and -1; a value that can be sent to other processes.

    Two classes make one column, in which the second class is +1, as in scikit-learn; more classes
    make one column each, in which the class is +1 and all others are -1. ``classes`` are sorted;
    the codes of ``weightless`` labels, whose rows all have weight zero, do not matter.
    """

    classes: np.ndarray
    weightless: np.ndarray | None = None

    @property
    def n_scores(self) -> int:
        """The number of columns."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def __call__(self, y: ArrayLike) -> FloatArray:
        """Return the columns of some labels, (n_samples, n_scores)."""
        labels = np.asarray(y)
        index = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        unknown = self.classes[index] != labels
        if self.weightless is not None:
            unknown &= ~np.isin(labels, self.weightless)
        if unknown.any():
            raise ValueError(
                f"y has the class {labels[unknown][0]!r}, which is not among "
                f"{self.classes.tolist()}. Pass all classes at the first call of partial_fit."
            )
        codes = 2.0 * (index[:, None] == np.arange(len(self.classes))) - 1.0
        return codes[:, 1:] if len(self.classes) == 2 else codes


def class_signs(
    y: ArrayLike, sample_weight: FloatArray | None = None
) -> tuple[np.ndarray, FloatArray]:
    """Return the classes with rows of positive weight, and their columns of +1 and -1."""
    every, labels = np.unique(y), np.asarray(y)
    classes = every if sample_weight is None else np.unique(labels[sample_weight > 0])
    return classes, ClassCodes(classes, np.setdiff1d(every, classes))(y)


def decided_classes(classes: np.ndarray, values: FloatArray) -> np.ndarray:
    """Return the class of each row from its decision function, of one column or of many."""
    if values.ndim == 1 or values.shape[1] == 1:
        return classes[(values.reshape(len(values)) > 0).astype(np.intp)]
    return classes[np.argmax(values, axis=1)]


def balanced_weights(y: ArrayLike, sample_weight: FloatArray) -> FloatArray:
    """Return the factors of ``class_weight="balanced"`` for each row's weight, (n_samples,).

    The total weight over the number of classes and the weight of the row's class, so that a row of
    weight two counts as two rows; rows, and whole classes, of no weight count as absent.
    """
    _, codes = np.unique(y, return_inverse=True)
    totals = np.bincount(codes, sample_weight)
    counting = totals > 0
    factors = totals.sum() / (counting.sum() * np.where(counting, totals, 1.0))
    return factors[codes]


def weights_of_present(class_weight: Any, y: np.ndarray) -> Any:
    """Return a ``class_weight`` without the classes that are not in ``y``."""
    if not isinstance(class_weight, dict):
        return class_weight
    present = set(y.tolist())
    return {label: weight for label, weight in class_weight.items() if label in present} or None


def codes_of_classes(y: ArrayLike) -> FloatArray:
    """Return a centred indicator of each class, one column for two classes, (n_samples, n_codes).

    Centred, because the ridge regression that they serve has no intercept: without it the most
    frequent class would have to be learned by the kernel.
    """
    return codes_of_numbers(class_signs(y)[1])


def codes_of_numbers(y: np.ndarray) -> FloatArray:
    """Return each target centred and of unit variance, so that all have equal weight."""
    columns = np.reshape(y, (len(y), -1)).astype(np.float64)
    centred = columns - centre_of_targets(columns)
    return centred / spread_of_targets(centred)


def centre_of_targets(y: FloatArray) -> FloatArray:
    """Return the mean of each target; a constant's value, since the mean of many rows rounds."""
    return np.where(is_constant(y), y[0], y.mean(axis=0))[()]


def spread_of_targets(y: FloatArray) -> FloatArray:
    """Return the standard deviation of each target, one for a constant.

    In units of a power of two, which changes no digit: the square of 1e200 would overflow.
    """
    exponents = np.frexp(np.abs(y).max(axis=0))[1]
    spread = np.ldexp(np.ldexp(y, -exponents).std(axis=0), exponents)
    return np.where(is_constant(y) | (spread == 0), 1.0, spread)
