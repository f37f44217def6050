"""Base class of the conformal predictors, and their conformity scores.

Regression scores are about a band ``(lower, upper, unit)``, and the score of a target ``y`` is
``max(lower - y, y - upper) / unit``: negative inside the band, zero on its edge. Scores of classes
are one number per class, the larger the less the class conforms.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
)
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

import absentia.parameters as rules
from absentia.densities.fit_density import DensityLike
from absentia.machines.validation import warn_of_other_order
from absentia.parameters import FloatMatrix, RandomState, Rule, check_parameters, declared, require
from absentia.predictions.calibration import Answer, Calibration, Comparison, Fitted
from absentia.predictions.hiding_table import HidingTable
from absentia.predictions.weighting import (
    MaskProbability,
    Weighting,
    complete,
    fit_joint_density,
    fit_mechanism,
)
from absentia.predictions.wrapped_model import (
    RoutesWeights,
    explained_words,
    fit_weighted,
    predict_parameters,
    require_one_target,
    rows_learned_from,
)
from absentia.tables import FloatArray, IntArray, Learned, TableLike, set_fitted
from absentia.tables.rows import row_weights
from absentia.tables.stored import InconsistentError

_FOLDS = 5
_SPLITS = Rule(
    ("a list of pairs of row indices",),
    lambda value: isinstance(value, list) and rules.CV.admits(value),
)


@declared
class ConformalPredictor(RoutesWeights, MetaEstimatorMixin, BaseEstimator):
    """Base class of the conformal predictors: training rows, calibration rows, and checks."""

    estimator: BaseEstimator | Sequence[BaseEstimator] = field(kw_only=False)
    method: str = "nested*"
    coverage: float = 0.9
    calibration_size: float = 0.3
    cv: int | list[Any] | None = None
    subsample: int = 100
    density: DensityLike = "auto"
    mechanism: MaskProbability | None = None
    n_draws: int = 8
    random_state: RandomState = None

    estimator_: BaseEstimator | tuple[BaseEstimator, ...] = field(init=False)
    calibration_: Calibration = field(init=False)
    calibration_targets_: np.ndarray = field(init=False)
    density_: BaseEstimator | None = field(init=False)
    mechanism_: FloatMatrix | None = field(init=False)
    _splitters: ClassVar[tuple[Any, Any]]

    _rules: ClassVar[dict[str, Rule]] = {
        "estimator": rules.ESTIMATOR,
        "method": rules.words("nested*", "nested", "exact", "weighted", "split", "cross"),
        "mechanism": Rule(("None", "a function"), lambda value: value is None or callable(value)),
        "n_draws": rules.COUNT,
        "coverage": rules.FRACTION,
        "calibration_size": rules.FRACTION,
        "cv": rules.count_from(2) | rules.words(None) | _SPLITS,
        "subsample": rules.COUNT,
    }

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the estimator on a part of the rows and calibrate it with the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN where a value is missing.
        y : array-like of shape (n_samples,)
            Numbers or class labels.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight two counts as two rows, in training and in calibration.
        groups : array-like of shape (n_samples,), optional
            Rows of one group, such as visits of one patient, all train or all calibrate.

        Returns
        -------
        self
        """
        check_parameters(self)
        require_one_target(self, y, ", whose estimators_ make the regions")
        warn_of_other_order(X, y)
        table = HidingTable.of(X)
        targets = self._check_targets(y, len(table))
        weights = row_weights(sample_weight, len(table))
        if groups is not None:
            check_consistent_length(targets, groups)
        learned = self._fit(table, targets, weights, groups)
        set_fitted(self, table, learned | self._described(learned, targets))
        return self

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the estimator's prediction of each row; for quantiles, the middle of the two."""
        check_is_fitted(self)
        with explained_words():
            if isinstance(self.estimator_, tuple):
                return _quantile(self.estimator_, X)[:, :2].mean(axis=1)
            prediction: np.ndarray = self.estimator_.predict(X)
        return prediction

    def _described(self, learned: Learned, y: np.ndarray) -> Learned:
        """Return further fitted attributes, after a check of the others."""
        return {}

    def _check_targets(self, y: Any, n_samples: int) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its targets.")

    def _fit(
        self, table: HidingTable, y: np.ndarray, weights: FloatArray | None, groups: Any
    ) -> Learned:
        """Return the fitted attributes: models, calibration rows and their targets."""
        templates, learned, targets = self._templates(), table, self._numbers(y)
        passed_on = self._passed_on(weights)
        if all(isinstance(template, FrozenEstimator) for template in templates):
            if self.cv is not None or self.method == "cross":
                raise ValueError(
                    "A FrozenEstimator cannot be fitted again in folds. Use method='split', "
                    "'exact', 'nested', 'nested*' or 'weighted' with cv=None; all rows then "
                    "calibrate it."
                )
            _warn_of_seen_rows(templates, table)
            model, models, which = templates, [templates], np.zeros(len(y), dtype=np.intp)
        elif self.cv is None and self.method != "cross":
            train, calibrate = self._held_out(y, groups)
            model = _fitted(templates, table, y, train, passed_on)
            models, which = [model], np.zeros(len(calibrate), dtype=np.intp)
            learned, targets = HidingTable.of(table.take(train)), targets[train]
            table, y = HidingTable.of(table.take(calibrate)), y[calibrate]
            weights = None if weights is None else weights[calibrate]
        else:
            splitter = self._splitters[1] if groups is None else GroupKFold
            number = self.cv if isinstance(self.cv, int) else _FOLDS
            folds = splitter(number, shuffle=True, random_state=self.random_state)
            splits = self.cv
            if not isinstance(splits, list):
                splits = folds.split(np.zeros((len(y), 1)), y, groups)
            models, which = [], np.full(len(y), -1)
            for fold, (train, test) in enumerate(splits):
                models.append(_fitted(templates, table, y, train, passed_on))
                which[test] = fold
            require((which >= 0).all(), "Each row must be tested in one of the splits of cv.")
            model = _fitted(templates, table, y, np.arange(len(y)), passed_on)
        counts = np.ones(len(table)) if weights is None else weights
        density = mechanism = None
        if self.method == "weighted":
            density = fit_joint_density(self.density, learned, targets, is_classifier(self))
            if self.mechanism is None:
                completed = complete(density, learned, targets, self.n_draws, 0)
                mechanism = fit_mechanism(completed, learned.mask)
        return {
            "estimator_": model[0] if len(model) == 1 else model,
            "calibration_": Calibration(table.copied(), tuple(models), which, counts),
            "calibration_targets_": y,
            "density_": density,
            "mechanism_": mechanism,
        }

    def _compare(self, table: HidingTable, answer: Answer) -> Iterator[Comparison]:
        """Yield comparisons of new rows with calibration rows by the method."""
        weighting, known = None, self.calibration_.table
        if self.method == "weighted":
            own = complete(self.density_, known, self.calibration_targets_, self.n_draws, 1)
            new = complete(self.density_, table, None, self.n_draws, 2)
            mechanism = self.mechanism_ if self.mechanism is None else self.mechanism
            assert mechanism is not None
            weighting = Weighting(own, new, known.mask, mechanism)
        return self.calibration_.compare(table, self.method, self.subsample, answer, weighting)

    def _numbers(self, y: np.ndarray) -> FloatArray:
        """Return targets as numbers: codes of classes."""
        return np.asarray(y, dtype=np.float64)

    def _templates(self) -> Fitted:
        return (self.estimator,)

    def _held_out(self, y: np.ndarray, groups: Any) -> tuple[IntArray, IntArray]:
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
        size: float = n_calibration
        if groups is not None:
            require(
                len(np.unique(groups)) > 1,
                "groups has one group only: expected at least two, one to train on and one to "
                "calibrate with.",
            )
            splitter, size = GroupShuffleSplit, self.calibration_size
        split = splitter(1, test_size=size, random_state=self.random_state)
        train, calibrate = next(split.split(np.zeros((n, 1)), y, groups))
        return train, np.sort(calibrate)

    def _new_rows(self, X: TableLike, coverage: float | None) -> tuple[HidingTable, float]:
        check_is_fitted(self)
        if len(self.calibration_targets_) != len(self.calibration_):
            raise InconsistentError(
                f"{len(self.calibration_)} calibration rows with "
                f"{len(self.calibration_targets_)} targets."
            )
        table = HidingTable.of(X).checked(self)
        if coverage is None:
            coverage = self.coverage
        rules.FRACTION.check("coverage", coverage)
        return table, float(coverage)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = self.estimator[0] if isinstance(self.estimator, tuple | list) else self.estimator
        tags.input_tags.allow_nan = get_tags(inner).input_tags.allow_nan
        return tags


def _fitted(
    templates: Fitted, table: HidingTable, y: np.ndarray, rows: IntArray, weights: FloatArray | None
) -> Fitted:
    if is_classifier(templates[0]) and len(np.unique(y[rows])) < 2 <= len(np.unique(y)):
        raise ValueError(
            f"The {len(rows)} training rows are all of one class: the other classes are so rare "
            "that the split put all of their rows among the calibration rows. Give more rows of "
            "the rare classes, another random_state, or a model that is fitted already "
            "(FrozenEstimator)."
        )
    some = table.take(rows)
    own = None if weights is None else weights[rows]
    return tuple(fit_weighted(clone(template), some, y[rows], own) for template in templates)


def _warn_of_seen_rows(models: Fitted, table: HidingTable) -> None:
    if table.has_words:
        return
    framed = hasattr(table.values, "iloc")
    values = table.values.to_numpy(dtype=np.float64) if framed else table.values
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


def band_scores(bands: FloatArray, y: FloatArray) -> FloatArray:
    """Return ``max(lower - y, y - upper) / unit`` of each row."""
    lower, upper, unit = bands.T
    return np.maximum(lower - y, y - upper) / unit


def _absolute(fitted: Fitted, X: TableLike) -> FloatArray:
    """Return the prediction itself; scores are absolute residuals."""
    mean = _numbers(fitted[0].predict(X))
    return np.column_stack([mean, mean, np.ones(len(mean))])


def _normalised(fitted: Fitted, X: TableLike) -> FloatArray:
    """Return the prediction, in units of the standard deviation that the model predicts."""
    (model,) = fitted
    if "return_std" in predict_parameters(model):
        mean, spread = model.predict(X, return_std=True)
    else:
        uncertainty = model.predict_uncertainty(X, by_column=False)
        mean, spread = uncertainty.prediction, np.sqrt(uncertainty.total)
    mean, spread = _numbers(mean), _numbers(spread)
    # A spread of zero would divide by zero.
    floor = max(float(spread.max(initial=0.0)), 1.0) * 1e-12
    return np.column_stack([mean, mean, np.maximum(spread, floor)])


def _quantile(fitted: Fitted, X: TableLike) -> FloatArray:
    """Return two predicted quantiles in order: conformalised quantile regression."""
    pair = np.column_stack([_numbers(model.predict(X)) for model in fitted])
    return np.column_stack([pair.min(axis=1), pair.max(axis=1), np.ones(len(pair))])


#: From the name of a score to the band that a fitted model draws around each row.
BANDS: dict[str, Callable[[Fitted, Any], FloatArray]] = {
    "absolute": _absolute,
    "normalised": _normalised,
    "quantile": _quantile,
}


def _adaptive(probabilities: FloatArray) -> FloatArray:
    """Return the probability of all classes that are at least as likely (APS)."""
    # One minus the rest, so that the least likely class has exactly one, in every row.
    rest = [
        np.where(probabilities < p[:, None], probabilities, 0.0).sum(axis=1)
        for p in probabilities.T
    ]
    return 1.0 - np.column_stack(rest)


#: From the name of a score to the scores of all classes, given their probabilities.
LABEL_SCORES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "lac": lambda probabilities: 1.0 - probabilities,  # least ambiguous
    "aps": _adaptive,
}


def reports_spread(model: BaseEstimator) -> bool:
    """Return whether a regressor reports the spread of its predictions."""
    return "return_std" in predict_parameters(model) or hasattr(model, "predict_uncertainty")


def quantile_pair(estimator: BaseEstimator, coverage: float) -> Sequence[Any]:
    """Return estimators of the quantiles ``(1 - coverage) / 2`` and ``(1 + coverage) / 2``.

    A pair is taken as it is; one estimator must have a parameter ``quantile``, its own or that of
    an estimator inside it, and is copied twice.
    """
    if isinstance(estimator, tuple | list):
        return estimator
    inner = not isinstance(estimator, FrozenEstimator)
    names = [name for name in estimator.get_params() if name.split("__")[-1] == "quantile"]
    if not (names and inner):
        raise ValueError(
            f"score='quantile' needs an unfitted estimator with a parameter 'quantile', such as "
            "HistGradientBoostingRegressor(loss='quantile'), or a pair of estimators (lower, "
            f"upper), found {type(estimator).__name__}."
        )
    name = min(names, key=len)
    levels = ((1 - coverage) / 2, (1 + coverage) / 2)
    return [clone(estimator).set_params(**{name: level}) for level in levels]


def _numbers(prediction: object) -> FloatArray:
    numbers = np.asarray(prediction, dtype=np.float64)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.ndim != 1:
        raise ValueError(
            f"One target is needed here, but the model predicts {numbers.shape[1]}: fit one model "
            "per target."
        )
    return numbers
