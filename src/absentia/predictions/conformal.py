"""Prediction intervals and sets of classes with a guarantee, for rows with missing values."""

from __future__ import annotations

from dataclasses import field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from absentia.machines.averaging import require_probabilities
from absentia.machines.targets import ClassifierTargets, RegressorTargets
from absentia.machines.validation import checked_labels
from absentia.parameters import ESTIMATOR, Rule, declared, words
from absentia.predictions.calibration import Fitted, PredictionIntervals, PredictionSets
from absentia.predictions.conformal_base import (
    BANDS,
    LABEL_SCORES,
    ConformalPredictor,
    band_scores,
    quantile_pair,
    reports_spread,
)
from absentia.predictions.wrapped_model import class_probabilities
from absentia.tables import FloatArray, Learned, TableLike

#: Probabilities of equal rows differ by rounding with the batch that they are computed in. Scores
#: that are closer than this are ties, which leave a class in the set.
_ROUNDING = 1e-12
_TWO_ESTIMATORS = Rule(
    ("two of them, for quantiles",),
    lambda value: (
        isinstance(value, tuple | list) and len(value) == 2 and all(map(ESTIMATOR.admits, value))
    ),
)


def _is_support(value: Any) -> bool:
    pair = isinstance(value, tuple | list) and len(value) == 2
    return pair and all(isinstance(end, Real) for end in value) and bool(value[0] < value[1])


_SUPPORT = Rule(("a pair of increasing numbers",), _is_support)


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
    method : {"nested*", "nested", "exact", "weighted", "split", "cross"}, default="nested*"
        ``"exact"`` compares with the calibration rows whose missing columns the test row misses
        too, coverage guaranteed; ``"nested"`` with all, guaranteed is ``1 - 2 (1 - coverage)``, in
        practice about ``coverage`` or more; ``"nested*"`` with at least ``subsample`` rows, those
        that hide the fewest additional values: the same as exact where that has enough rows.
        ``"weighted"`` compares with all calibration rows, completed by draws and weighted by how
        likely they would miss what the test row misses (Fan, Park, Vo and Brunel 2025): coverage
        also for values that are not missing completely at random, approximately, as far as
        ``density`` and ``mechanism`` are right.
        ``"split"`` and ``"cross"`` (CV+ of Barber et al. 2021) hide nothing and cover on average
        over the patterns only.
    conformity_score : {"absolute", "normalised", "quantile"}, default="absolute"
        Absolute residuals; residuals divided by the standard deviation that the model predicts
        (``return_std`` or ``predict_uncertainty``); the distance to two predicted quantiles.
    coverage : float, default=0.9
        The probability with which an interval should contain its target.
    calibration_size : float, default=0.3
        The share of rows that are kept for calibration, where one model is trained.
    cv : int or list of (train, test), optional
        Folds: every row calibrates the model that did not learn from it. ``"cross"`` means 5 by
        default, all other methods one split.
    subsample : int, default=100
        The least number of calibration rows for ``"nested*"``.
    density : {"auto", "gaussian", "low-rank", "mixture", "mixed"} or density, default="auto"
        For ``"weighted"``, the law of the columns and, as the last one, the target, from which
        calibration rows are completed; fitted to the training rows. ``FrozenEstimator(density)``
        keeps a fitted one.
    mechanism : callable, optional
        For ``"weighted"``, ``mechanism(X, mask)`` returns the probability that a complete row
        misses exactly ``mask``, for each row of ``X``. By default it is estimated by logistic
        regressions on completed rows, which suits values missing at random. Values whose absence
        depends on themselves need it, and a ``density`` that is that of all rows.
    n_draws : int, default=8
        For ``"weighted"``, draws of each calibration row that misses a value.
    support : pair of numbers, optional
        The least and the largest value that the target can have, such as ``(0, np.inf)``: intervals
        end there. By default those that the estimator knows: the ``target_least_`` of an
        :class:`~absentia.AutoRegressor`.
    random_state : int, RandomState instance or None, default=None
        Which rows calibrate.

    Attributes
    ----------
    estimator_ : regressor
        The model behind ``predict``; a pair for quantiles.
    calibration_ : Calibration
    calibration_targets_ : ndarray of shape (n_calibration,)
    density_ : density or None
        For ``"weighted"``, the law of columns and target.
    mechanism_ : ndarray or None
        For ``"weighted"``, coefficients of the estimated mechanism.
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
        "support": words(None) | _SUPPORT,
    }
    _splitters = (ShuffleSplit, KFold)

    conformity_score: str = "absolute"
    support: tuple[float, float] | None = None

    def _described(self, learned: Learned, y: np.ndarray) -> Learned:
        model = learned["estimator_"]
        if self.conformity_score == "normalised" and not reports_spread(model):
            raise ValueError(
                f"conformity_score='normalised' needs the spread of each prediction, and "
                f"{type(model).__name__} has neither predict(X, return_std=True) nor "
                "predict_uncertainty. Use GaussianProcessRegressor or MarginalRegressor, or "
                "conformity_score='absolute'."
            )
        return {}

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
        for part in self._compare(table, answer):
            n_calibration[part.rows] = len(np.unique(part.kept))
            needed = part.needed(coverage)
            if np.isinf(needed).all():
                continue
            scores = band_scores(part.calibration, self.calibration_targets_[part.kept])
            low, high, unit = np.moveaxis(part.distinct, 2, 0)
            for i in np.flatnonzero(np.isfinite(needed)):
                margins, row = scores * unit[i, part.which], part.rows[i]
                lower[row] = -part.bound(margins - low[i, part.which], needed[i])
                upper[row] = part.bound(high[i, part.which] + margins, needed[i])
        # Nested bounds, each a quantile of its own, can cross where the band is far too wide.
        crossed = lower > upper
        lower[crossed] = upper[crossed] = (lower[crossed] + upper[crossed]) / 2
        # What cannot happen is cut off; infinite intervals stay, because they have no guarantee.
        cut = np.isfinite(lower) & np.isfinite(upper)
        ends = self.support or (getattr(self.estimator_, "target_least_", -np.inf), np.inf)
        lower[cut], upper[cut] = np.clip([lower[cut], upper[cut]], *ends)
        return PredictionIntervals(lower, upper, coverage, n_calibration)

    def _templates(self) -> Fitted:
        if self.conformity_score == "quantile":
            return tuple(quantile_pair(self.estimator, self.coverage))
        return super()._templates()


@declared
class ConformalClassifier(ClassifierTargets, ConformalPredictor):
    """Sets of classes that contain the true one with the requested probability, per pattern.

    Any classifier with ``predict_proba`` that takes NaN. A class is in the set of a row unless its
    score is larger than that of too many calibration rows: with ``n`` of them, and ``S_k(c)`` the
    score of class ``c`` when the row is compared with calibration row ``k``,

        ``c`` is in the set where ``#{k: s_k < S_k(c)} < coverage (n + 1)``.

    With too few rows the set has all classes. The methods are those of
    :class:`ConformalRegressor`: all but ``"split"`` and ``"cross"`` hide values in calibration
    rows until they miss what the test row misses, so that the coverage holds for every pattern of
    values missing completely at random.

    Parameters
    ----------
    estimator : classifier
        Fitted already as ``FrozenEstimator(model)``: then all rows calibrate it. Any other, fitted
        or not, is cloned and trained on a part of the rows.
    method : {"nested*", "nested", "exact", "weighted", "split", "cross"}, default="nested*"
    conformity_score : {"lac", "aps"}, default="lac"
        One minus the probability of the class (least ambiguous sets, the smallest on average), or
        the probability of all classes that are at least as likely (adaptive sets, larger for rows
        that are hard).
    coverage, calibration_size, cv, subsample, density, mechanism, n_draws, random_state
        As in :class:`ConformalRegressor`.

    Attributes
    ----------
    estimator_ : classifier
    classes_ : ndarray of shape (n_classes,)
    calibration_ : Calibration
    calibration_targets_ : ndarray of int, shape (n_calibration,)
        Positions in ``classes_``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only for frames.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import ConformalClassifier, LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = np.where(X.sum(axis=1) > 0, "right", "left")
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = ConformalClassifier(LogisticRegression(C=10.0), random_state=0).fit(X, y)
    >>> sets = model.predict_set([[1.0, 1.0], [np.nan, 0.1]])
    >>> sets[0].tolist(), sets[1].tolist()
    (['right'], ['left', 'right'])
    """

    _rules: ClassVar[dict[str, Rule]] = {"conformity_score": words(*LABEL_SCORES)}
    _splitters = (StratifiedShuffleSplit, StratifiedKFold)

    estimator_: BaseEstimator = field(init=False)
    classes_: np.ndarray = field(init=False)

    conformity_score: str = "lac"

    def _check_targets(self, y: Any, n_samples: int) -> np.ndarray:
        require_probabilities(self.estimator)
        if not isinstance(self.estimator, FrozenEstimator):
            return super()._check_targets(y, n_samples)
        labels = checked_labels(self, y, n_samples)
        unknown = np.setdiff1d(labels, self.estimator.classes_)
        if len(unknown):
            known = np.asarray(self.estimator.classes_).tolist()
            raise ValueError(
                f"The model knows the classes {known}, but calibration rows have the label "
                f"{unknown[0]!r}. Calibrate with labels that the model can predict."
            )
        return labels

    def _described(self, learned: Learned, y: np.ndarray) -> Learned:
        codes = np.searchsorted(self._classes(y), learned["calibration_targets_"])
        return {"calibration_targets_": codes, "classes_": self._classes(y)}

    def _classes(self, y: np.ndarray) -> np.ndarray:
        frozen = isinstance(self.estimator, FrozenEstimator)
        return np.asarray(getattr(self.estimator, "classes_", ())) if frozen else np.unique(y)

    def _numbers(self, y: np.ndarray) -> FloatArray:
        return np.searchsorted(self._classes(y), y).astype(np.float64)

    predict = ConformalPredictor.predict  # not by probabilities, as ClassifierTargets would

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return the probabilities of the estimator, as they are."""
        check_is_fitted(self)
        return class_probabilities(self.estimator_, X, self.classes_)

    def predict_set(self, X: TableLike, coverage: float | None = None) -> PredictionSets:
        """Return a set of classes per row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, optional
            Other than that of ``fit``.

        Returns
        -------
        PredictionSets
            ``sets[i]`` are the classes of row ``i``; ``n_without_guarantee`` counts the rows that
            have all classes because too few calibration rows remain.
        """
        table, coverage = self._new_rows(X, coverage)
        members = np.ones((len(table), len(self.classes_)), dtype=bool)
        n_calibration = np.zeros(len(table), dtype=np.intp)
        too_few = np.zeros(len(table), dtype=np.bool_)
        label_scores = LABEL_SCORES[self.conformity_score]

        def answer(fitted: Fitted, rows: Any) -> FloatArray:
            return label_scores(class_probabilities(fitted[0], rows, self.classes_))

        for part in self._compare(table, answer):
            n_calibration[part.rows] = len(np.unique(part.kept))
            needed = part.needed(coverage)
            too_few[part.rows] = np.isinf(needed)
            true = self.calibration_targets_[part.kept]
            scores = part.calibration[np.arange(len(true)), true]
            worse = np.zeros((len(part.rows), len(self.classes_)))
            for place in range(part.distinct.shape[1]):
                beside = np.flatnonzero(part.which == place)
                beside = beside[np.argsort(scores[beside])]
                heavier = np.concatenate([[0.0], np.cumsum(part.weights[beside])])
                own = part.distinct[:, place] - _ROUNDING
                worse += heavier[np.searchsorted(scores[beside], own, side="left")]
            members[part.rows] = worse < needed[:, None]
        return PredictionSets(members, self.classes_, coverage, n_calibration, too_few)
