"""What conformal predictors share: which rows train, which calibrate, and how they are kept."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from absentia.parameters import (
    COUNT,
    ESTIMATOR,
    FRACTION,
    RandomState,
    Rule,
    count_from,
    declared,
    words,
)
from absentia.predictions.conformal_scores import (
    Fitted,
)
from absentia.predictions.hidden_calibration import Calibration, HidingTable
from absentia.predictions.seen_rows import rows_learned_from
from absentia.tables import IntArray, TableLike
from absentia.tables.stored import InconsistentError

__all__ = ["ConformalPredictor"]

_FOLDS = 5


@declared
class ConformalPredictor(MetaEstimatorMixin, BaseEstimator):
    """What both conformal predictors share: which rows train, which calibrate, and the checks."""

    estimator: BaseEstimator | Sequence[BaseEstimator] = field(kw_only=False)
    method: str = "nested*"
    coverage: float = 0.9
    calibration_size: float = 0.3
    cv: int | None = None
    subsample: int = 100
    random_state: RandomState = None

    estimator_: BaseEstimator | tuple[BaseEstimator, ...] = field(init=False)
    calibration_: Calibration = field(init=False)
    calibration_targets_: np.ndarray = field(init=False)
    _splitters: ClassVar[tuple[Any, Any]]

    _rules: ClassVar[dict[str, Rule]] = {
        "estimator": ESTIMATOR,
        "method": words("nested*", "nested", "exact", "split", "cross"),
        "coverage": FRACTION,
        "calibration_size": FRACTION,
        "cv": count_from(2) | words(None),
        "subsample": COUNT,
    }

    def _fit(self, table: HidingTable, y: np.ndarray) -> dict[str, object]:
        """Return the fitted attributes: models, calibration rows and their targets."""
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
    ) -> dict[str, object]:
        return {
            "estimator_": model[0] if len(model) == 1 else model,
            "calibration_": Calibration(table.kept(), tuple(models), which),
            "calibration_targets_": y,
        }

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
        if len(self.calibration_targets_) != len(self.calibration_):
            raise InconsistentError(
                f"{len(self.calibration_)} calibration rows with "
                f"{len(self.calibration_targets_)} targets."
            )
        table = HidingTable.of(X).checked(self)
        if coverage is None:
            coverage = self.coverage
        FRACTION.check("coverage", coverage)
        return table, float(coverage)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = self.estimator[0] if isinstance(self.estimator, tuple | list) else self.estimator
        tags.input_tags.allow_nan = get_tags(inner).input_tags.allow_nan
        return tags


def _fitted(templates: Fitted, table: HidingTable, y: np.ndarray, rows: IntArray) -> Fitted:
    if is_classifier(templates[0]) and len(np.unique(y[rows])) < 2 <= len(np.unique(y)):
        raise ValueError(
            f"The {len(rows)} training rows are all of one class: the other classes are so rare "
            "that the split put all of their rows among the calibration rows. Give more rows of "
            "the rare classes, another random_state, or a model that is fitted already "
            "(FrozenEstimator)."
        )
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
