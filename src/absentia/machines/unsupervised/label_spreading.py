"""Learning from few labels and many incomplete rows."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import ClassifierMixin

from absentia.machines.base import KernelMachine
from absentia.machines.documentation import documented
from absentia.machines.shared_parameters import WidthParameters
from absentia.machines.targets import ClassifierTargets, MostProbableClass, checked_labels
from absentia.machines.unsupervised.clustering import check_similarities
from absentia.parameters import FRACTION, GAMMA, FloatMatrix, Rule, declared, words
from absentia.tables import FloatArray, Learned, TableLike

__all__ = ["LabelSpreading"]


@documented
@declared
class LabelSpreading(
    WidthParameters, MostProbableClass, ClassifierTargets, ClassifierMixin, KernelMachine
):
    """Semi-supervised classification of rows with missing values.

    Labels spread over the graph whose weights are the kernel ``W`` of all rows, labelled or not,
    as [Williams2005]_ proposes to use it: with ``S = D^(-1/2) W D^(-1/2)``, ``D`` the row sums of
    ``W`` without its diagonal, and ``Y`` the indicators of the labels given,

        ``F = (1 - alpha) inv(I - alpha S) Y``,

    the limit of repeatedly passing a fraction ``alpha`` of each row's label distribution to its
    neighbours. The density learns from the rows without labels as well.

    Parameters
    ----------
    alpha : float, default=0.2
        Between 0 and 1: how much of a row's label comes from its neighbours, given labels
        included. Near 0 the given labels are kept.
    {common_parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The probability of each class for each training row.
    transduction_ : ndarray of shape (n_samples,)
        The most probable class of each training row.
    {common_attributes}

    Notes
    -----
    Exact, by one Cholesky factor, O(n^3 / 3), where scikit-learn's
    :class:`~sklearn.semi_supervised.LabelSpreading` iterates up to a tolerance. Every row is a
    neighbour of every other, so choose ``gamma`` large enough that only near rows count, four to
    ten times ``"scale"`` in trials; ``gamma="loo"``, which suits regression and comes out far
    smaller, is not offered.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LabelSpreading
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(-3, 1, size=(20, 3)), rng.normal(3, 1, size=(20, 3))])
    >>> X[:, :2][rng.random((40, 2)) < 0.2] = np.nan
    >>> y = np.full(40, -1)
    >>> y[0], y[20] = 0, 1
    >>> machine = LabelSpreading(gamma=0.1).fit(X, y)
    >>> np.bincount(machine.transduction_)
    array([20, 20])
    >>> machine.predict([[np.nan, 3.0, 2.0]])
    array([1])
    """

    _rules: ClassVar[dict[str, Rule]] = {"gamma": GAMMA | words("scale"), "alpha": FRACTION}

    classes_: np.ndarray = field(init=False)
    label_distributions_: FloatMatrix = field(init=False)
    transduction_: np.ndarray = field(init=False)

    alpha: float = 0.2

    def fit(self, X: TableLike, y: ArrayLike) -> LabelSpreading:
        """Spread the labels over all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : array-like of shape (n_samples,)
            Class labels, -1 for unlabelled rows.

        Returns
        -------
        self
        """
        self._fit(X, y)
        return self

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return the probability of each class: the average of the training rows, by similarity.

        A row to which no training row has any similarity gets the average of all.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self._map_gram(X, lambda K: K @ self.label_distributions_)
        return _normalised(scores, self.label_distributions_.mean(axis=0))

    def _check_targets(self, y: ArrayLike, n_samples: int) -> np.ndarray:
        given = np.asarray(y)
        if given.dtype.kind in "US" and not hasattr(y, "dtype"):
            given = np.array(y, dtype=object)  # a list of words, in which -1 stays a number
        unlabelled = given == -1
        if given.size and unlabelled.all():
            raise ValueError("No row has a label: y is -1 everywhere. Label at least one row.")
        words = given.dtype == object and any(isinstance(label, str) for label in given.flat)
        if words and given.shape == (n_samples,) and unlabelled.any():
            checked_labels(self, np.where(unlabelled, "", given), n_samples)  # -1 is no word
            return given
        return super()._check_targets(y, n_samples)

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        check_similarities(K, self)
        labelled = np.flatnonzero(y != -1)
        classes, codes = np.unique(y[labelled], return_inverse=True)
        Y = np.zeros((len(K), len(classes)))
        Y[labelled, codes] = 1.0
        S = K.copy()
        np.fill_diagonal(S, 0.0)
        degrees = S.sum(axis=1)
        roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))
        S /= roots[:, None]
        S /= roots
        S *= -self.alpha
        S[np.diag_indices_from(S)] += 1.0
        factor = cho_factor(S, lower=True, overwrite_a=True, check_finite=False)
        spread = np.maximum((1 - self.alpha) * cho_solve(factor, Y, check_finite=False), 0.0)
        distributions = _normalised(spread, Y[labelled].mean(axis=0))
        return {
            "classes_": classes,
            "label_distributions_": distributions,
            "transduction_": classes[distributions.argmax(axis=1)],
        }


def _normalised(scores: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return rows normalised to sum to one; all-zero rows become the given default."""
    totals = scores.sum(axis=1, keepdims=True)
    empty = totals[:, 0] <= 0
    normalised = scores / np.where(totals > 0, totals, 1.0)
    normalised[empty] = otherwise
    return normalised
