"""Prediction intervals with a guarantee, for rows with missing values."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.utils.validation import check_is_fitted

from absentia.machines.targets import RegressorTargets
from absentia.machines.validation import warn_of_other_order
from absentia.parameters import (
    ESTIMATOR,
    Rule,
    check_parameters,
    declared,
    words,
)
from absentia.predictions.conformal import ConformalPredictor
from absentia.predictions.conformal_scores import (
    BANDS,
    Fitted,
    band_scores,
    quantile_pair,
    tells_spread,
)
from absentia.predictions.hidden_calibration import HidingTable, rank_of_quantile
from absentia.predictions.prediction_regions import PredictionIntervals
from absentia.tables import FloatArray, TableLike, set_fitted

__all__ = ["ConformalRegressor"]


_TWO_ESTIMATORS = Rule(
    ("two of them, for quantiles",),
    lambda value: (
        isinstance(value, tuple | list) and len(value) == 2 and all(map(ESTIMATOR.admits, value))
    ),
)


@declared
class ConformalRegressor(RegressorTargets, ConformalPredictor):
    """Prediction intervals with the requested coverage, per missing pattern.

    Any regressor that accepts NaN predicts; held-out rows calibrate how far off it may be. With
    scores ``s_k`` of ``n`` calibration rows and a band ``[lower_k, upper_k]`` of width unit
    ``unit_k`` around the test row, the interval has the ends

        the ``r``-th largest of ``lower_k - s_k unit_k`` and the ``r``-th smallest of
        ``upper_k + s_k unit_k``,  ``r = ceil(coverage (n + 1))``,

    and is infinite where ``r > n``. A plain split-conformal interval covers on average over all
    rows, too rarely for rows that miss much; the methods with *missing data augmentation* (CP-MDA
    of Zaffran et al. 2023, 2024) hide values in the calibration rows until they miss what the
    test row misses, and cover for every pattern, provided values are missing completely at random.

    Parameters
    ----------
    estimator : regressor
        It is cloned and trained on a part of the rows, also where it is fitted. As
        ``FrozenEstimator(model)`` it stays as it is, and all rows given to ``fit`` calibrate it.
        ``conformity_score="quantile"`` also takes a pair ``(lower, upper)``.
    method : {"nested*", "nested", "exact", "split", "cross"}, default="nested*"
        ``"exact"`` compares with the calibration rows whose missing columns the test row misses
        too, coverage guaranteed; ``"nested"`` with all, guaranteed is ``1 - 2 (1 - coverage)``, in
        practice about ``coverage`` or more; ``"nested*"`` with at least ``subsample`` rows, those
        that hide the fewest additional values: the same as exact where that has enough rows.
        ``"split"`` and ``"cross"`` (CV+ of Barber et al. 2021) hide nothing and cover on average
        over the patterns only.
    conformity_score : {"absolute", "normalised", "quantile"}, default="absolute"
        Absolute residuals; residuals divided by the standard deviation that the model predicts
        (``return_std`` or ``predict_uncertainty``); the distance to two predicted quantiles.
    coverage : float, default=0.9
        The probability with which an interval should contain its target.
    calibration_size : float, default=0.3
        The share of rows that are kept for calibration, where one model is trained.
    cv : int, optional
        Folds: every row calibrates the model that did not learn from it. ``"cross"`` means 5 by
        default, all other methods one split.
    subsample : int, default=100
        The least number of calibration rows for ``"nested*"``.
    random_state : int, RandomState instance or None, default=None
        Which rows calibrate.

    Attributes
    ----------
    estimator_ : regressor
        The model that ``predict`` asks; a pair for quantiles.
    calibration_ : Calibration
    calibration_targets_ : ndarray of shape (n_calibration,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only for frames.

    Notes
    -----
    A prediction costs, per test pattern, one prediction of the calibration rows; with the nested
    methods also one per test row and distinct union of two patterns.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import ConformalRegressor, KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = 3 * X[:, 0] + X[:, 1] + rng.normal(size=400)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = ConformalRegressor(KernelRidge(), method="exact", random_state=0).fit(X, y)
    >>> intervals = model.predict_interval([[1.0, 0.0], [np.nan, 0.0]])
    >>> intervals.width.round(0)
    array([ 4., 10.])
    >>> model.predict_interval([[1.0, 0.0]], coverage=0.999)
    PredictionIntervals of 1 row, coverage 0.999, 1 infinite
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "estimator": ESTIMATOR | _TWO_ESTIMATORS,
        "conformity_score": words(*BANDS),
    }
    _splitters = (ShuffleSplit, KFold)

    conformity_score: str = "absolute"

    def fit(self, X: TableLike, y: ArrayLike) -> ConformalRegressor:
        """Train the estimator on a part of the rows and calibrate it with the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN where a value is missing.
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        check_parameters(self)
        warn_of_other_order(X, y)
        table = HidingTable.of(X)
        attributes = self._fit(table, self._check_targets(y, len(table)))
        model = attributes["estimator_"]
        if self.conformity_score == "normalised" and not tells_spread(model):
            raise ValueError(
                f"conformity_score='normalised' needs the spread of each prediction, and "
                f"{type(model).__name__} has neither predict(X, return_std=True) nor "
                "predict_uncertainty. Use GaussianProcessRegressor or MarginalRegressor, or "
                "conformity_score='absolute'."
            )
        set_fitted(self, table, attributes)
        return self

    def predict(self, X: TableLike) -> FloatArray:
        """Return the prediction of each row; for quantiles, the middle of the two."""
        check_is_fitted(self)
        if isinstance(self.estimator_, tuple):
            bands = BANDS["quantile"](self.estimator_, X)
            return bands[:, :2].mean(axis=1)
        prediction: FloatArray = self.estimator_.predict(X)
        return prediction

    def predict_interval(self, X: TableLike, coverage: float | None = None) -> PredictionIntervals:
        """Return an interval per row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, optional
            Other than that of ``fit``.

        Returns
        -------
        PredictionIntervals
            ``lower, upper = intervals`` unpacks it; ``n_without_guarantee`` counts the rows whose
            interval is infinite because too few calibration rows remain.
        """
        table, coverage = self._new_rows(X, coverage)
        lower, upper = np.full(len(table), -np.inf), np.full(len(table), np.inf)
        n_calibration = np.zeros(len(table), dtype=np.intp)
        answer = BANDS[self.conformity_score]
        for part in self.calibration_.compare(table, self.method, self.subsample, answer):
            n = len(part.kept)
            n_calibration[part.rows] = n
            rank = rank_of_quantile(coverage, n)
            if rank > n:
                continue
            scores = band_scores(part.calibration, self.calibration_targets_[part.kept])
            low, high, unit = np.moveaxis(part.distinct, 2, 0)
            for i, row in enumerate(part.rows):
                margins = scores * unit[i, part.which]
                lower[row] = np.partition(low[i, part.which] - margins, n - rank)[n - rank]
                upper[row] = np.partition(high[i, part.which] + margins, rank - 1)[rank - 1]
        # Nested bounds, each a quantile of its own, can cross where the band is far too wide.
        crossed = lower > upper
        lower[crossed] = upper[crossed] = (lower[crossed] + upper[crossed]) / 2
        return PredictionIntervals(lower, upper, coverage, n_calibration)

    def _templates(self) -> Fitted:
        if self.conformity_score == "quantile":
            return tuple(quantile_pair(self.estimator, self.coverage))
        return super()._templates()
