"""Sets of classes with a guarantee, for rows with missing values."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from absentia.machines.targets import ClassifierTargets
from absentia.machines.validation import checked_labels, warn_of_other_order
from absentia.parameters import (
    Rule,
    check_parameters,
    declared,
    words,
)
from absentia.predictions.conformal import ConformalPredictor
from absentia.predictions.conformal_scores import (
    LABEL_SCORES,
    Fitted,
    class_probabilities,
)
from absentia.predictions.hidden_calibration import HidingTable, rank_of_quantile
from absentia.predictions.prediction_regions import PredictionSets
from absentia.tables import FloatArray, TableLike, set_fitted

__all__ = ["ConformalClassifier"]

#: Probabilities of equal rows differ by rounding with the batch that they are computed in. Scores
#: that are closer than this are ties, which leave a class in the set.
_ROUNDING = 1e-12


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

    _rules: ClassVar[dict[str, Rule]] = {"conformity_score": words(*LABEL_SCORES)}
    _splitters = (StratifiedShuffleSplit, StratifiedKFold)

    estimator_: BaseEstimator = field(init=False)
    classes_: np.ndarray = field(init=False)

    conformity_score: str = "lac"

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
        check_parameters(self)
        warn_of_other_order(X, y)
        table = HidingTable.of(X)
        if isinstance(self.estimator, FrozenEstimator):
            labels = checked_labels(self, y, len(table))
            classes = np.asarray(self.estimator.classes_)
            unknown = np.setdiff1d(labels, classes)
            if len(unknown):
                raise ValueError(
                    f"The model knows the classes {classes.tolist()}, but calibration rows have "
                    f"the label {unknown[0]!r}. Calibrate with labels that the model can predict."
                )
        else:
            labels = self._check_targets(y, len(table))
            classes = np.unique(labels)
        if not hasattr(self.estimator, "predict_proba"):
            name = type(getattr(self.estimator, "estimator", self.estimator)).__name__
            raise ValueError(
                f"{name} has no predict_proba, from which label sets are made. Wrap it in "
                f"scikit-learn's calibration: CalibratedClassifierCV({name}(...), "
                "method='sigmoid')."
            )
        attributes = self._fit(table, labels)
        codes = np.searchsorted(classes, np.asarray(attributes["calibration_targets_"]))
        found = attributes | {"calibration_targets_": codes, "classes_": classes}
        set_fitted(self, table, found)
        return self

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
                own = part.distinct[:, place] - _ROUNDING
                worse += np.searchsorted(beside, own, side="left")
            members[part.rows] = worse < rank
        return PredictionSets(members, self.classes_, coverage, n_calibration, too_few)
