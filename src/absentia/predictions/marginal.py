"""Any model on incomplete rows: its predictions averaged over what the missing values could be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from absentia.machines.averaging import require_probabilities
from absentia.machines.targets import ClassifierTargets, RegressorTargets
from absentia.predictions.marginal_base import MarginalModel, tags_of
from absentia.predictions.wrapped_model import WrappedModel
from absentia.tables import FloatArray, TableLike


class MarginalClassifier(ClassifierTargets, MarginalModel):
    """Probabilities of any classifier for incomplete rows, averaged over what is missing.

    For a row with observed values ``o`` the answer is ``E[f(x) | o]``, with ``f`` the classifier's
    ``predict_proba`` and ``x`` drawn from the density conditioned on ``o``. That is the best
    prediction of ``f`` at the true row by squared error, and where ``f`` is the true probability
    given ``x`` and values are missing at random, it is the true probability given ``o``. Filling
    in the most likely values instead makes a classifier overconfident.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        ``FrozenEstimator(model)`` for one that is fitted already (scikit-learn's, a pipeline,
        XGBoost, LightGBM, CatBoost, anything with ``predict_proba``): then ``fit(X)`` fits the
        density alone. Any other, fitted or not, is cloned and trained on draws of the training
        rows, as scikit-learn's meta-estimators do: a fit from before does not count.
    density : {"auto", "gaussian", "low-rank", "mixture", "mixed"} or density, default="auto"
        What the missing values could be. ``"auto"`` is ``"mixed"`` for frames with columns of words
        and ``"gaussian"`` for numbers. ``FrozenEstimator(density)`` keeps a fitted one.
    n_draws : int, default=64
        Draws per row, at least 2; powers of two are best.
    known : {"average", "model"}, default="average"
        What to do with rows whose missing pattern was met in ``fit``. ``"model"`` passes them to
        the model as they are, NaN included, for models that were trained on NaN; an estimator
        that is not fitted is then trained on NaN. Patterns that were not met are averaged.
    random_state : int, RandomState instance or None, default=None
        Scrambles the quasi-random points, once, in ``fit``.
    n_jobs : int, default=None
        Threads over chunks of draws. None means one, because many models use threads themselves.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : classifier
        The model in use.
    density_ : density
    patterns_ : ndarray of bool, shape (n_patterns, n_features)
        The missing patterns of the rows given to ``fit``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the table had names
    columns_ : ColumnPlan, if the table was a frame with columns of words
        How each column is read.

    Notes
    -----
    Complete rows get exactly the model's own answer, at the cost of one prediction for all of
    them. An incomplete row costs ``n_draws`` predictions; memory is bounded, whatever the number
    of rows. All rows share their quasi-random points, so that a row's answer does not depend on
    the batch it came in.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from absentia import MarginalClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
    >>> model = MarginalClassifier(FrozenEstimator(forest), random_state=0).fit(X[::2])
    >>> rows = X[1::2].copy()
    >>> rows[:, 6:] = np.nan
    >>> bool((model.predict(rows) == y[1::2]).mean() > 0.8)
    True
    """

    _method = "predict_proba"
    classes_: np.ndarray

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return the probability of each class, averaged over what is missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._averaged(X)

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the most probable class of each row; of complete rows, the model's own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """

        def most_probable(means: FloatArray) -> np.ndarray:
            chosen: np.ndarray = self.classes_[means.argmax(axis=1)]
            return chosen

        def own(rows: Any) -> np.ndarray:
            if hasattr(self.estimator_, "classes_") and hasattr(self.estimator_, "predict"):
                return np.asarray(self.estimator_.predict(rows)).reshape(-1)
            return most_probable(self._wrapped.predict(rows))

        return self._averaged(X, own, most_probable)

    def _check_targets(self, y: ArrayLike, n_samples: int) -> np.ndarray:
        require_probabilities(self.estimator)
        return super()._check_targets(y, n_samples)

    def _describe_output(self, wrapped: WrappedModel, prediction: FloatArray) -> dict[str, object]:
        classes = getattr(wrapped.model, "classes_", None)
        n_outputs = prediction.shape[-1]
        return {"classes_": np.arange(n_outputs) if classes is None else np.asarray(classes)}


class MarginalRegressor(RegressorTargets, MarginalModel):
    """Predictions of any regressor for incomplete rows, averaged over what is missing.

    For a row with observed values ``o`` the answer is ``E[f(x) | o]``, with ``f`` the regressor's
    ``predict`` and ``x`` drawn from the density conditioned on ``o``: the best prediction of
    ``f`` at the true row by squared error. Several outputs are averaged one by one.

    Parameters
    ----------
    estimator : regressor
        ``FrozenEstimator(model)`` for one that is fitted already: then ``fit(X)`` fits the
        density alone.
    density : {"auto", "gaussian", "low-rank", "mixture", "mixed"} or density, default="auto"
    n_draws : int, default=64
    known : {"average", "model"}, default="average"
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, default=None
        All as in :class:`MarginalClassifier`.

    Attributes
    ----------
    estimator_ : regressor
        The model in use.
    density_ : density
    patterns_ : ndarray of bool, shape (n_patterns, n_features)
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the table had names
    columns_ : ColumnPlan, if the table was a frame with columns of words

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from sklearn.frozen import FrozenEstimator
    >>> from absentia import MarginalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> boosting = HistGradientBoostingRegressor(random_state=0).fit(X, X[:, 0] ** 2)
    >>> model = MarginalRegressor(FrozenEstimator(boosting), random_state=0).fit(X)
    >>> model.predict([[np.nan, 0.0]]).round()  # the mean of a squared normal number
    array([1.])
    """

    _method = "predict"
    _single: bool

    @property
    def _multi_output(self) -> bool:  # type: ignore[override]
        inner = tags_of(self.estimator)
        return inner is None or bool(inner.target_tags.multi_output)

    def predict(self, X: TableLike) -> FloatArray:
        """Return the prediction for each row, averaged over what is missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), as the model returns it
        """
        predictions = self._averaged(X)
        return predictions[:, 0] if self._single else predictions

    def _describe_output(self, wrapped: WrappedModel, prediction: FloatArray) -> dict[str, object]:
        return {"_single": prediction.ndim == 1}
