"""Targets: checked, and encoded as numbers for the leave-one-out error."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from datetime import date, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, assert_all_finite, check_array, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from absentia.machines.one_vs_rest import class_signs
from absentia.tables import FloatArray, TableLike, is_absent
from absentia.tables.phrases import frames_of_absentia
from absentia.tables.reading import reads_as_number
from absentia.tables.rows import is_constant

__all__ = [
    "ClassifierTargets",
    "LogProbabilities",
    "MostProbableClass",
    "RegressorTargets",
    "SeveralTargets",
    "Task",
    "balanced_weights",
    "centre_of_targets",
    "check_numbers",
    "checked_labels",
    "codes_of_classes",
    "codes_of_numbers",
    "spread_of_targets",
    "warn_of_other_order",
    "weights_of_present",
]


#: What is learned: classes or numbers.
Task = Literal["classification", "regression"]
#: More different dates are no classes.
_MOST_DATES = 50
_INSTEAD = {"date": "days since a fixed date", "duration": "days"}


class ClassifierTargets:
    """A base for classifiers: ``y`` holds class labels, at least two different ones."""

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


class LogProbabilities:
    """A base for classifiers with ``predict_proba``: the logarithms of what it returns."""

    @abstractmethod
    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return the probability of each class, in the order of ``classes_``."""

    # A wrapper has probabilities only where the estimator in it has them.
    @available_if(lambda self: hasattr(self, "predict_proba"))
    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """Return the logarithms of :meth:`predict_proba`, minus infinity for a zero.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or what else :meth:`predict_proba` takes

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(probabilities)


class MostProbableClass(LogProbabilities):
    """A base for classifiers that decide by their probabilities."""

    classes_: np.ndarray

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or what else ``predict_proba`` takes

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels


class RegressorTargets:
    """A base for regressors: ``y`` holds finite numbers, in one column or several."""

    _multi_output = False

    def _check_targets(self, y: Any, n_samples: int) -> np.ndarray:
        """Return ``y`` as float64, of shape (n_samples,) or (n_samples, n_outputs)."""
        _check_given(self, y)
        check_numbers(y)
        y = check_array(
            y, ensure_2d=False, dtype=np.float64, input_name="y", ensure_all_finite="allow-nan"
        )
        absent = np.flatnonzero(np.isnan(y.reshape(len(y), -1)).any(axis=1))
        if len(absent):
            raise ValueError(
                f"Input y contains NaN, first in row {absent[0]}: a row without a target cannot be "
                "learned from. Drop such rows."
            )
        if not (self._multi_output and y.ndim == 2):
            y = column_or_1d(y, warn=True)
        check_consistent_length(np.empty(n_samples), y)
        return y

    def _target_codes(self, y: np.ndarray) -> FloatArray:
        return codes_of_numbers(y)


class SeveralTargets(RegressorTargets):
    """A base for regressors that learn several targets at once, each a column of ``y``."""

    _multi_output = True

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn that ``y`` may have several columns."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.multi_output = True
        return tags


def checked_labels(machine: BaseEstimator, y: Any, n_samples: int) -> np.ndarray:
    """Return ``y`` as a one-dimensional array of class labels, however many there are."""
    _check_given(machine, y)
    _check_few_dates(y)
    y = column_or_1d(y, warn=True)
    check_consistent_length(np.empty(n_samples), y)
    objects = enumerate(y) if y.dtype.kind == "O" else ()
    absent = [row for row, label in objects if is_absent(label) or label != label]
    if y.dtype.kind in "fM":
        absent = np.flatnonzero(np.isnan(y)).tolist()
    if absent:
        raise ValueError(
            f"Input y contains NaN or None, first in row {absent[0]}: a row without a label cannot "
            "be learned from. Drop such rows, or spread labels to them with LabelSpreading."
        )
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return y


def check_numbers(y: Any) -> None:
    """Raise ValueError for targets that are no numbers: dates, durations, and text.

    Examples
    --------
    >>> from absentia.machines.targets import check_numbers
    >>> check_numbers(["1.5", "2,5"])
    Traceback (most recent call last):
    ValueError: y holds text such as '2,5', but a regressor learns numbers: convert it with float
    (decimal commas replaced by points), or use a classifier if each word is a class.
    """
    values = np.asarray(y)
    kind = _kind_of_time(values)
    if kind:
        raise ValueError(
            f"y holds {kind}s, which are not supported as targets: convert them to a number, such "
            f"as {_INSTEAD[kind]}."
        )
    if values.dtype.kind not in "USO":
        return
    texts = (value for value in values.flat if isinstance(value, str | bytes))
    example = next((text for text in texts if not reads_as_number(text)), None)
    if example is not None:
        raise ValueError(
            f"y holds text such as {str(example)!r}, but a regressor learns numbers: convert it "
            "with float (decimal commas replaced by points), or use a classifier if each word is "
            "a class."
        )


def _check_few_dates(y: Any) -> None:
    """Raise ValueError for labels that are durations, or dates that hardly come twice."""
    values = np.asarray(y)
    kind = _kind_of_time(values)
    if not kind:
        return
    if values.dtype.kind == "M":
        n_dates = len(np.unique(values))
        # Folds have fewer rows of each date than the table, so no more than two are asked for.
        if n_dates <= _MOST_DATES and 2 * n_dates <= max(4, len(values)):
            return
    raise ValueError(
        f"y holds {kind}s, which are not supported as targets: convert them to a number, such as "
        f"{_INSTEAD[kind]}, for a regressor, or to text if each is a class: y.astype(str)."
    )


def _kind_of_time(values: np.ndarray) -> str:
    """Return "date" or "duration" where targets hold such, else an empty string."""
    if values.dtype.kind in "mM":
        return "date" if values.dtype.kind == "M" else "duration"
    for value in values.flat if values.dtype.kind == "O" else ():
        if is_absent(value):
            continue
        if isinstance(value, date | np.datetime64):
            return "date"
        if isinstance(value, timedelta | np.timedelta64):
            return "duration"
    return ""


def warn_of_other_order(X: Any, y: Any) -> None:
    """Warn of pandas rows and targets with the same labels in another order.

    They are matched by position, as in scikit-learn, where pandas itself would match labels.
    """
    rows: Any = getattr(X, "index", None)
    targets: Any = getattr(y, "index", None)
    if not all(type(index).__module__.startswith("pandas") for index in (rows, targets)):
        return
    if len(rows) != len(targets) or rows.equals(targets):
        return
    if not (rows.is_unique and targets.is_unique) or set(rows) != set(targets):
        return
    warnings.warn(
        "The index of y has the labels of the index of X in another order. Rows are matched by "
        "position, as in scikit-learn: pass y.loc[X.index] to match them by label.",
        UserWarning,
        stacklevel=frames_of_absentia(),
    )


def balanced_weights(y: ArrayLike, sample_weight: FloatArray) -> FloatArray:
    """Return what ``class_weight="balanced"`` multiplies each row's weight by, (n_samples,).

    The total weight over the number of classes and the weight of the row's class, so that a row of
    weight two counts as two rows; rows, and whole classes, of no weight count as absent.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.machines.targets import balanced_weights
    >>> balanced_weights(["a", "b", "b", "b"], np.array([1.0, 1.0, 2.0, 0.0])).round(3)
    array([2.   , 0.667, 0.667, 0.667])
    """
    _, codes = np.unique(y, return_inverse=True)
    totals = np.bincount(codes, sample_weight)
    counting = totals > 0
    factors = totals.sum() / (counting.sum() * np.where(counting, totals, 1.0))
    weights: FloatArray = factors[codes]
    return weights


def weights_of_present(class_weight: Any, y: np.ndarray) -> Any:
    """Return a ``class_weight`` without the classes whose rows have been left out.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.machines.targets import weights_of_present
    >>> weights_of_present({"a": 2.0, "b": 0.0}, np.array(["a", "c"]))
    {'a': 2.0}
    """
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
    """Return the mean of each target; of a constant its value, which the mean of many rounds."""
    centre: FloatArray = np.where(is_constant(y), y[0], y.mean(axis=0))[()]
    return centre


def spread_of_targets(y: FloatArray) -> FloatArray:
    """Return the standard deviation of each target, one for a constant.

    In a unit of its own, a power of two that changes no digit: squares of 1e200 have no number.
    """
    exponents = np.frexp(np.abs(y).max(axis=0))[1]
    spread = np.ldexp(np.ldexp(y, -exponents).std(axis=0), exponents)
    return np.where(is_constant(y) | (spread == 0), 1.0, spread)


def _check_given(machine: BaseEstimator, y: ArrayLike) -> None:
    if y is None:
        raise ValueError(
            f"{type(machine).__name__} requires y to be passed, but the target y is None."
        )
