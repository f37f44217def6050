"""Outlier detection by p-values of incomplete rows."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from absentia.densities.fit_density import DensityLike
from absentia.densities.suspicious_cells import fit_without_suspects
from absentia.parameters import Rule, check_parameters, count_from, declared, number_between, words
from absentia.tables import FloatArray, IntArray, TableLike, set_fitted
from absentia.tables.column_plan import ShowsColumns
from absentia.tables.rows import TakesMissing

#: Rows below this p-value are outliers by default.
_OUTLIER_LEVEL = 0.05


@declared
class OutlierDetector(OutlierMixin, TakesMissing, ShowsColumns):
    """Outlier detection by the p-values of incomplete rows under a density.

    A row that misses more is not more suspicious for that: p-values are comparable across missing
    patterns (:meth:`Density.row_pvalues`).

    Parameters
    ----------
    density : str or density estimator, default="gaussian"
        Fitted to the rows, and again without the cells that it cannot explain.
    contamination : "auto" or float, default="auto"
        The share of outliers among the training rows, at most 0.5. "auto": rows with a p-value
        below 0.05 are outliers.
    n_draws : int, default=1000
        For mixtures and categories, see :meth:`Density.row_pvalues`.

    Attributes
    ----------
    density_ : fitted density
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``; negative for outliers.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import OutlierDetector
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[::4, 0] = np.nan
    >>> detector = OutlierDetector().fit(X)
    >>> detector.predict([[0.0, np.nan, 0.0], [np.nan, 0.0, 8.0]])
    array([ 1, -1])
    """

    density_: BaseEstimator = field(init=False)
    offset_: float = field(init=False)
    n_features_in_: int = field(init=False)

    _rules: ClassVar[dict[str, Rule]] = {
        "contamination": number_between(1e-12, 0.5, expected="a share of at most 0.5")
        | words("auto"),
        "n_draws": count_from(1),
    }

    density: DensityLike = field(default="gaussian", kw_only=False)
    contamination: float | Literal["auto"] = "auto"
    n_draws: int = 1000

    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:
        """Fit the density to rows, some of which may be outliers.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self)
        fitted, rows = fit_without_suspects(self.density, X, 0.05)
        offset = float(np.log(_OUTLIER_LEVEL))
        if self.contamination != "auto":
            scores = fitted._log_row_pvalues(rows, self.n_draws, 0)
            offset = float(np.quantile(scores, self.contamination))
        learned: dict[str, Any] = {"density_": fitted, "offset_": offset}
        set_fitted(self, rows, learned)
        return self

    def score_samples(self, X: TableLike) -> FloatArray:
        """Return the logarithm of the p-value of each row."""
        check_is_fitted(self)
        return self.density_._log_row_pvalues(X, self.n_draws, 0)

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return ``score_samples(X) - offset_``, negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: TableLike) -> IntArray:
        """Return -1 for outliers and 1 for other rows."""
        return np.where(self.decision_function(X) < 0, -1, 1)
