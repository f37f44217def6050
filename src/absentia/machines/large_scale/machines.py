"""Support vector machine, logistic and ridge regression at a cost linear in the rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from absentia.machines import losses
from absentia.machines.documentation import documented
from absentia.machines.large_scale.base import LargeScaleMachine
from absentia.machines.large_scale.summed_optimum import CodesOf
from absentia.machines.targets import (
    ClassCodes,
    ClassifierTargets,
    RegressorTargets,
    decided_classes,
)
from absentia.machines.validation import check_numbers, checked_labels
from absentia.parameters import PENALTY, Rule, declared, words
from absentia.tables import FloatArray, Learned, TableLike
from absentia.tables.streams import Chunk, Stream

#: From the scores of one output, (n, 1), to an array (n,); can be sent to other processes.
_FIRST_COLUMN = itemgetter((slice(None), 0))


@declared
class _LargeScaleClassifier(ClassifierTargets, LargeScaleMachine):
    """Base class of the large-scale classifiers."""

    _rules: ClassVar[dict[str, Rule]] = {"C": PENALTY}

    C: float = 1.0
    tol: float = 1e-6  # type: ignore[misc]
    max_iter: int = 200  # type: ignore[misc]

    def partial_fit(
        self,
        X: TableLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update the model with the next rows of a stream.

        The first call fits density and features to its rows, later ones keep them; a ``fit``
        before the first call is forgotten. Earlier rows are summarised by a quadratic around the
        coefficients, which is exact for squared error and Laplace's approximation for other
        losses; there is no learning rate to choose.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All classes of the stream; required at the first call unless its rows have them all.
        sample_weight : array-like of shape (n_samples,), optional
        """
        return self._learn(X, y, sample_weight, classes, partial=True)

    def decision_function(self, X: TableLike) -> Any:
        """Return scores: (n_samples,) for two classes, else (n_samples, n_classes), or lazy."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return self._map_scores(X, _FIRST_COLUMN, None)
        return self._map_scores(X, np.asarray, len(self.classes_))

    def predict(self, X: TableLike) -> Any:
        """Return the predicted class of each row, (n_samples,), or a lazy array."""
        check_is_fitted(self)
        return self._map_scores(X, partial(decided_classes, self.classes_), None)

    def _check_targets(self, y: ArrayLike, n_samples: int) -> np.ndarray:
        # A chunk of a stream may have one class only; `_learn_codes` counts those of all rows.
        return checked_labels(self, y, n_samples)

    def _learn_codes(self, chunks: Stream, classes: ArrayLike | None) -> tuple[CodesOf, Learned]:
        weightless = None
        if classes is None:
            found = chunks.map_sum(classes_of)
            classes, weightless = found.labels, np.setdiff1d(found.every, found.labels)
        else:
            classes = np.unique(classes)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class."
            )
        return ClassCodes(classes, weightless), {"classes_": classes}

    def _known_codes(self) -> ClassCodes:
        return ClassCodes(self.classes_)

    def _penalty_weight(self) -> float:
        return 1 / float(self.C)


@documented
class LargeScaleSVC(_LargeScaleClassifier):
    """Support vector classification on features of beliefs, for any number of rows.

    ``min_b |b|^2 / 2 + C sum_i weight_i loss(y_i, z_i'b + b_0)`` with ``z`` the expected Fourier
    or Nystroem features of a row and one score per class (one against the rest). The loss is
    the squared hinge ``max(0, 1 - y f)^2``, or for the least-squares SVM ``(y - f)^2 / 2``, which
    takes a single pass over the data.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors relative to the penalty.
    loss : {"squared_hinge", "least_squares"}, default="squared_hinge"

    Notes
    -----
    Cost: one pass of n D^2 multiplications for D features, then some twenty passes of n D and the
    features again, where they are not kept.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LargeScaleSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 3))
    >>> y = np.where((X[:, :2] ** 2).sum(axis=1) > 1.5, "out", "in")
    >>> X[rng.random(X.shape) < 0.05] = np.nan
    >>> machine = LargeScaleSVC(n_components=300, C=10, random_state=0).fit(X, y)
    >>> bool(machine.score(X, y) > 0.93)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"loss": words("squared_hinge", "least_squares")}

    loss: Literal["squared_hinge", "least_squares"] = "squared_hinge"

    def _loss(self, codes_of: CodesOf) -> losses.Loss:
        return losses.squared_hinge if self.loss == "squared_hinge" else losses.squared_error


@documented
class LargeScaleLogisticRegression(_LargeScaleClassifier):
    """Logistic regression on features of beliefs, for any number of rows.

    ``min_b |b|^2 / 2 + C sum_i weight_i log(1 + exp(-y_i (z_i'b + b_0)))`` with ``z`` the expected
    Fourier or Nystroem features of a row; for more than two classes the multinomial model.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the likelihood relative to the penalty.

    Notes
    -----
    Cost: as for :class:`LargeScaleSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LargeScaleLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> X[rng.random(X.shape) < 0.05] = np.nan
    >>> machine = LargeScaleLogisticRegression(n_components=200, C=10, random_state=0).fit(X, y)
    >>> machine.predict_proba([[1.0, 2.0], [np.nan, np.nan]])[:, 1].round(1)
    array([1. , 0.5])
    """

    def predict_proba(self, X: TableLike) -> Any:
        """Return the probability of each class, (n_samples, n_classes), or a lazy table."""
        check_is_fitted(self)
        return self._map_scores(X, losses.probabilities_of, len(self.classes_))

    def predict_log_proba(self, X: TableLike) -> Any:
        """Return the logarithms of :meth:`predict_proba`, exact if a probability underflows."""
        check_is_fitted(self)
        return self._map_scores(X, losses.log_probabilities_of, len(self.classes_))

    def _loss(self, codes_of: Any) -> losses.Loss:
        return losses.logistic if codes_of.n_scores == 1 else losses.multinomial


@documented
class LargeScaleRidge(RegressorTargets, LargeScaleMachine):
    """Ridge regression on features of beliefs: kernel ridge for any number of rows.

    ``min_b sum_i weight_i (y_i - z_i'b - b_0)^2 + alpha |b|^2`` with ``z`` the expected Fourier or
    Nystroem features of a row. The normal equations are summed in one pass over the data, in
    memory, in chunks, or on many machines, and solved once.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.

    Notes
    -----
    Cost: the features, and n D^2 multiplications for D of them; D^3 / 3 to solve.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LargeScaleRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 3))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    >>> X[rng.random(X.shape) < 0.05] = np.nan
    >>> machine = LargeScaleRidge(n_components=300, alpha=0.1, random_state=0).fit(X, y)
    >>> bool(machine.score(X, y) > 0.8)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"alpha": PENALTY}

    _multi_output = True

    alpha: float = 1.0
    _flat: bool = field(init=False)

    def partial_fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Update the model with the next rows of a stream; equals one fit to all of them.

        The first call fits density and features to its rows, later ones keep them; pass a
        ``FrozenEstimator`` of a density fitted to more rows if the first ones are few. A
        ``fit`` before the first call is forgotten.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        """
        return self._learn(X, y, sample_weight, partial=True)

    def predict(self, X: TableLike) -> Any:
        """Return predictions, (n_samples,) or (n_samples, n_outputs), or a lazy table."""
        check_is_fitted(self)
        if self._flat:
            return self._map_scores(X, _FIRST_COLUMN, None)
        return self._map_scores(X, np.asarray, len(self.intercept_))

    def _learn_codes(self, chunks: Stream, classes: ArrayLike | None) -> tuple[CodesOf, Learned]:
        shape, *others = chunks.map_sum(shapes_of)
        if others:
            raise ValueError(
                f"The targets of all chunks must have one shape, found {shape} and {others[0]}."
            )
        return NumberCodes(shape[0] if shape else 1), {"_flat": not shape}

    def _known_codes(self) -> NumberCodes:
        return NumberCodes(len(self.intercept_))

    def _loss(self, codes_of: CodesOf) -> losses.Loss:
        return losses.squared_error

    def _penalty_weight(self) -> float:
        return float(self.alpha)


@dataclass(frozen=True, eq=False)
class NumberCodes:
    """Targets that are numbers, as columns."""

    n_scores: int

    def __call__(self, y: np.ndarray) -> FloatArray:
        check_numbers(y)
        columns = np.asarray(y, dtype=np.float64)
        columns = columns[:, None] if columns.ndim == 1 else columns
        if columns.shape[1] != self.n_scores:
            raise ValueError(
                f"y must have {self.n_scores} column(s), as in the rows before, found "
                f"{columns.shape[1]}."
            )
        if not np.isfinite(columns).all():
            raise ValueError("y must hold finite numbers, found NaN or infinity.")
        return columns


@dataclass(frozen=True, eq=False)
class Labels:
    """The class labels of rows that count, and of all rows; the sum is the union."""

    labels: np.ndarray
    every: np.ndarray

    def __add__(self, other: Labels) -> Labels:
        return Labels(np.union1d(self.labels, other.labels), np.union1d(self.every, other.every))


def classes_of(chunk: Chunk) -> Labels:
    """Return the class labels of a chunk."""
    y = _targets_of(chunk)
    every = np.unique(y)
    if chunk.sample_weight is None:
        return Labels(every, every)
    return Labels(np.unique(np.asarray(y)[np.asarray(chunk.sample_weight) > 0]), every)


def shapes_of(chunk: Chunk) -> Counter[tuple[int, ...]]:
    """Return the shape of a chunk's targets without their number; a sum has those of all chunks."""
    return Counter([np.shape(_targets_of(chunk))[1:]])


def _targets_of(chunk: Chunk) -> np.ndarray:
    if chunk.y is None:
        raise ValueError("The table has no targets: make each chunk a tuple (X, y).")
    return chunk.y
