"""Intervals and label sets with a guarantee, for rows with missing values."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from absentia.machines.targets import ClassifierTargets, RegressorTargets, checked_labels
from absentia.parameters import COUNT, FRACTION, RandomState, count_from
from absentia.predictions.conformal_scores import (
    BANDS,
    LABEL_SCORES,
    Fitted,
    band_scores,
    class_probabilities,
    quantile_pair,
    tells_spread,
)
from absentia.predictions.hidden_calibration import Calibration, HidingTable, rank_of_quantile
from absentia.predictions.prediction_regions import PredictionIntervals, PredictionSets
from absentia.predictions.seen_rows import rows_learned_from
from absentia.tables import FloatArray, IntArray, TableLike, remember_columns

__all__ = ["ConformalClassifier", "ConformalRegressor"]

_METHODS = ("nested*", "nested", "exact", "split", "cross")
_FOLDS = 5


class _Conformal(MetaEstimatorMixin, BaseEstimator):
    """What both conformal predictors share: which rows train, which calibrate, and the checks."""

    estimator: Any
    method: str
    conformity_score: str
    coverage: float
    calibration_size: float
    cv: int | None
    subsample: int
    random_state: RandomState

    estimator_: Any
    calibration_: Calibration
    calibration_targets_: np.ndarray
    _known_scores: tuple[str, ...]
    _splitters: tuple[Any, Any]

    def _fit(self, X: TableLike, y: np.ndarray) -> dict[str, Any]:
        """Return the fitted attributes: models, calibration rows and their targets."""
        table = HidingTable.of(X)
        templates = self._templates()
        if all(isinstance(template, FrozenEstimator) for template in templates):
            if self.cv is not None or self.method == "cross":
                raise ValueError(
                    "A FrozenEstimator cannot be fitted again in folds. Use method='split', "
                    "'exact', 'nested' or 'nested*' with cv=None; all rows then calibrate it."
                )
            _warn_of_seen_rows(templates, table)
            return self._attributes(templates, table, [templates], np.zeros(len(y), int), y)
        if self.cv is None and self.method != "cross":
            train, calibrate = self._held_out(y)
            model = _fitted(templates, table, y, train)
            rows = HidingTable.of(table.take(calibrate))
            which = np.zeros(len(calibrate), dtype=np.intp)
            return self._attributes(model, rows, [model], which, y[calibrate])
        folds = self._splitters[1](self.cv or _FOLDS, shuffle=True, random_state=self.random_state)
        models, which = [], np.empty(len(y), dtype=np.intp)
        for fold, (train, test) in enumerate(folds.split(np.zeros((len(y), 1)), y)):
            models.append(_fitted(templates, table, y, train))
            which[test] = fold
        whole = _fitted(templates, table, y, np.arange(len(y)))
        return self._attributes(whole, table, models, which, y)

    def _attributes(
        self,
        model: Fitted,
        table: HidingTable,
        models: list[Fitted],
        which: IntArray,
        y: np.ndarray,
    ) -> dict[str, Any]:
        return {
            "estimator_": model[0] if len(model) == 1 else model,
            "calibration_": Calibration(table, tuple(models), which),
            "calibration_targets_": y,
        }

    def _keep(self, X: TableLike, attributes: dict[str, Any]) -> Self:
        for name, value in attributes.items():
            setattr(self, name, value)
        remember_columns(self, X)
        return self

    def _templates(self) -> Fitted:
        return (self.estimator,)

    def _held_out(self, y: np.ndarray) -> tuple[IntArray, IntArray]:
        """Return the rows to train on and the rows to calibrate with."""
        n = len(y)
        n_calibration = round(self.calibration_size * n)
        if not 0 < n_calibration < n:
            raise ValueError(
                f"calibration_size={self.calibration_size:g} of n_samples={n} leaves "
                f"{n_calibration} rows to calibrate with and {n - n_calibration} to train on; both "
                "need at least one. Give more rows, or another share."
            )
        splitter, _ = self._splitters
        if splitter is StratifiedShuffleSplit:
            counts = np.unique(y, return_counts=True)[1]
            if counts.min() < 2 or min(n_calibration, n - n_calibration) < len(counts):
                splitter = ShuffleSplit
        split = splitter(1, test_size=n_calibration, random_state=self.random_state)
        train, calibrate = next(split.split(np.zeros((n, 1)), y))
        return train, np.sort(calibrate)

    def _new_rows(self, X: TableLike, coverage: float | None) -> tuple[HidingTable, float]:
        check_is_fitted(self)
        table = HidingTable.of(X)
        validate_data(
            self, X if hasattr(X, "columns") else table.values, reset=False, skip_check_array=True
        )
        if coverage is None:
            coverage = self.coverage
        FRACTION.check("coverage", coverage)
        return table, float(coverage)

    def _check_parameters(self) -> None:
        for name, known in (("method", _METHODS), ("conformity_score", self._known_scores)):
            value = getattr(self, name)
            if value not in known:
                listed = ", ".join(repr(word) for word in known)
                raise ValueError(f"{name} must be one of {listed}, found {value!r}.")
        FRACTION.check("coverage", self.coverage)
        FRACTION.check("calibration_size", self.calibration_size)
        COUNT.check("subsample", self.subsample)
        if self.cv is not None:
            count_from(2).check("cv", self.cv)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = self.estimator[0] if isinstance(self.estimator, tuple | list) else self.estimator
        tags.input_tags.allow_nan = get_tags(inner).input_tags.allow_nan
        return tags


class ConformalRegressor(RegressorTargets, RegressorMixin, _Conformal):
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
        Unfitted, it is trained on a part of the rows. As ``FrozenEstimator(model)`` it is fitted
        already, and all rows given to ``fit`` calibrate it. ``conformity_score="quantile"`` also
        takes a pair ``(lower, upper)``.
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

    _known_scores = tuple(BANDS)
    _splitters = (ShuffleSplit, KFold)

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "nested*",
        conformity_score: str = "absolute",
        coverage: float = 0.9,
        calibration_size: float = 0.3,
        cv: int | None = None,
        subsample: int = 100,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.method = method
        self.conformity_score = conformity_score
        self.coverage = coverage
        self.calibration_size = calibration_size
        self.cv = cv
        self.subsample = subsample
        self.random_state = random_state

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
        self._check_parameters()
        attributes = self._fit(X, self._check_targets(y, len(HidingTable.of(X))))
        model = attributes["estimator_"]
        if self.conformity_score == "normalised" and not tells_spread(model):
            raise ValueError(
                f"conformity_score='normalised' needs the spread of each prediction, and "
                f"{type(model).__name__} has neither predict(X, return_std=True) nor "
                "predict_uncertainty. Use GaussianProcessRegressor or MarginalRegressor, or "
                "conformity_score='absolute'."
            )
        fitted: ConformalRegressor = self._keep(X, attributes)
        return fitted

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


class ConformalClassifier(ClassifierTargets, ClassifierMixin, _Conformal):
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
        Unfitted, or fitted already as ``FrozenEstimator(model)``; then all rows calibrate it.
    method : {"nested*", "nested", "exact", "split", "cross"}, default="nested*"
    conformity_score : {"lac", "aps"}, default="lac"
        One minus the probability of the class (least ambiguous sets, the smallest on average), or
        the probability of all classes that are at least as likely (adaptive sets, larger for rows
        that are hard).
    coverage : float, default=0.9
    calibration_size : float, default=0.3
    cv : int, optional
    subsample : int, default=100
    random_state : int, RandomState instance or None, default=None

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

    _known_scores = tuple(LABEL_SCORES)
    _splitters = (StratifiedShuffleSplit, StratifiedKFold)

    classes_: np.ndarray

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "nested*",
        conformity_score: str = "lac",
        coverage: float = 0.9,
        calibration_size: float = 0.3,
        cv: int | None = None,
        subsample: int = 100,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.method = method
        self.conformity_score = conformity_score
        self.coverage = coverage
        self.calibration_size = calibration_size
        self.cv = cv
        self.subsample = subsample
        self.random_state = random_state

    def fit(self, X: TableLike, y: ArrayLike) -> ConformalClassifier:
        """Train the estimator on a part of the rows and calibrate it with the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN where a value is missing.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
        """
        self._check_parameters()
        n_samples = len(HidingTable.of(X))
        if isinstance(self.estimator, FrozenEstimator):
            labels = checked_labels(self, y, n_samples)
            classes = np.asarray(self.estimator.classes_)
            unknown = np.setdiff1d(labels, classes)
            if len(unknown):
                raise ValueError(
                    f"The model knows the classes {classes.tolist()}, but calibration rows have "
                    f"the label {unknown[0]!r}. Calibrate with labels that the model can predict."
                )
        else:
            labels = self._check_targets(y, n_samples)
            classes = np.unique(labels)
        if not hasattr(self.estimator, "predict_proba"):
            name = type(getattr(self.estimator, "estimator", self.estimator)).__name__
            raise ValueError(
                f"{name} has no predict_proba, which label sets are made from. Wrap it: "
                f"CalibratedClassifierCV({name}(...), method='sigmoid') of scikit-learn."
            )
        attributes = self._fit(X, labels)
        codes = np.searchsorted(classes, attributes["calibration_targets_"])
        found = attributes | {"calibration_targets_": codes, "classes_": classes}
        fitted: ConformalClassifier = self._keep(X, found)
        return fitted

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the class that the estimator predicts for each row."""
        check_is_fitted(self)
        labels: np.ndarray = self.estimator_.predict(X)
        return labels

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

        for part in self.calibration_.compare(table, self.method, self.subsample, answer):
            n = len(part.kept)
            n_calibration[part.rows] = n
            rank = rank_of_quantile(coverage, n)
            if rank > n:
                too_few[part.rows] = True
                continue
            true = self.calibration_targets_[part.kept]
            scores = part.calibration[np.arange(n), true]
            worse = np.zeros((len(part.rows), len(self.classes_)), dtype=np.intp)
            for place in range(part.distinct.shape[1]):
                beside = np.sort(scores[part.which == place])
                worse += np.searchsorted(beside, part.distinct[:, place], side="left")
            members[part.rows] = worse < rank
        return PredictionSets(members, self.classes_, coverage, n_calibration, too_few)


def _fitted(templates: Fitted, table: HidingTable, y: np.ndarray, rows: IntArray) -> Fitted:
    some = table.take(rows)
    return tuple(clone(template).fit(some, y[rows]) for template in templates)


def _warn_of_seen_rows(models: Fitted, table: HidingTable) -> None:
    if hasattr(table.values, "iloc"):
        numeric = table.values.select_dtypes("number")
        if numeric.shape != table.values.shape:
            return
        values = numeric.to_numpy(dtype=np.float64)
    else:
        values = table.values
    for model in models:
        seen = int(rows_learned_from(model.estimator, values).sum())
        if seen:
            warnings.warn(
                f"{seen} of the {len(values)} calibration rows were used to train the model: it "
                "knows their targets, and its intervals will be too narrow. Calibrate with rows "
                "that it has not seen.",
                UserWarning,
                stacklevel=4,
            )
