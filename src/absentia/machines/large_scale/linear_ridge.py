"""Ridge regression at a cost linear in the rows."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from absentia.machines.documentation import documented
from absentia.machines.large_scale.base import LargeScaleMachine
from absentia.machines.large_scale.losses import Loss, SquaredError
from absentia.machines.large_scale.summed_optimum import CodesOf
from absentia.machines.large_scale.target_codes import (
    NumberCodes,
    all_columns,
    first_column,
    widths_of,
)
from absentia.machines.targets import RegressorTargets
from absentia.parameters import PENALTY, Rule, declared
from absentia.tables import Learned, TableLike
from absentia.tables.streams import Stream

__all__ = ["LargeScaleRidge"]


@documented
@declared
class LargeScaleRidge(RegressorTargets, LargeScaleMachine):
    """Ridge regression on features of beliefs: kernel ridge for any number of rows.

    ``min_b sum_i weight_i (y_i - z_i'b - b_0)^2 + alpha |b|^2`` with ``z`` the expected Fourier or
    Nystroem features of a row. The normal equations are summed in one pass over the data, in
    memory, in chunks, or on many machines, and solved once.

    Parameters
    ----------
    {feature_parameters}
    alpha : float, default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    {feature_cache_parameters}

    Attributes
    ----------
    features_ : fitted feature map
        A learned metric is its parameter ``metric``.
    coef_ : ndarray of shape (n_outputs, n_components)
    intercept_ : ndarray of shape (n_outputs,)
    n_iter_ : int
        Passes over the data after density and features were fitted.

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

    # One pass solves it; the base asks every machine for these.
    tol = 1e-6
    max_iter = 1

    def partial_fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LargeScaleRidge:
        """Update the model with the next rows of a stream; equals one fit to all of them.

        The first call fits density and features to its rows, later ones keep them; pass a
        ``FrozenEstimator`` of a density fitted to more rows if the first ones are few. A
        ``fit`` before the first call is forgotten.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._partial_fit(X, y, sample_weight, None)
        return self

    def predict(self, X: TableLike) -> Any:
        """Predict the target, or targets, of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Beliefs, Chunks, or Dask array or frame

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or a lazy table
        """
        check_is_fitted(self)
        if self._flat:
            return self._map_scores(X, first_column, None)
        return self._map_scores(X, all_columns, len(self.intercept_))

    def _learn_codes(self, chunks: Stream, classes: ArrayLike | None) -> tuple[CodesOf, Learned]:
        widths = chunks.map_sum(widths_of).widths
        return NumberCodes(widths[0] if widths else 1), {"_flat": not widths}

    def _known_codes(self) -> NumberCodes:
        return NumberCodes(len(self.intercept_))

    def _loss(self, codes_of: CodesOf) -> Loss:
        return SquaredError()

    def _penalty_weight(self) -> float:
        return float(self.alpha)
