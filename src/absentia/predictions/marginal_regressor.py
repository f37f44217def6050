"""Predictions of any regressor for incomplete rows, averaged over what is missing."""

from __future__ import annotations

from absentia.machines.targets import RegressorTargets
from absentia.predictions.marginal import MarginalModel, tags_of
from absentia.predictions.wrapped_model import WrappedModel
from absentia.tables import (
    FloatArray,
    TableLike,
)

__all__ = ["MarginalRegressor"]


class MarginalRegressor(RegressorTargets, MarginalModel):
    """Predictions of any regressor for incomplete rows, averaged over what is missing.

    For a row with observed values ``o`` the answer is ``E[f(x) | o]``, with ``f`` the regressor's
    ``predict`` and ``x`` drawn from the density conditioned on ``o``: the best prediction of
    ``f`` at the true row by squared error. Several outputs are averaged one by one.

    Parameters
    ----------
    estimator : regressor
        ``FrozenEstimator(model)`` for one that is fitted already: then ``fit(X)`` fits the
        density alone. Any other, fitted or not, is cloned and trained on draws of the training
        rows, as scikit-learn's meta-estimators do: a fit from before does not count.
    density : {"auto", "gaussian", "low-rank", "mixture", "mixed"} or density, default="auto"
        What the missing values could be. ``"auto"`` is ``"mixed"`` for frames with columns of words
        and ``"gaussian"`` for numbers. ``FrozenEstimator(density)`` keeps a fitted one.
    n_draws : int, default=64
        Draws per row, at least 2; powers of two are best.
    known : {"average", "model"}, default="average"
        What to do with rows whose missing pattern was met in ``fit``; see
        :class:`MarginalClassifier`.
    random_state : int, RandomState instance or None, default=None
        Scrambles the quasi-random points, once, in ``fit``.
    n_jobs : int, default=None
        Threads over chunks of draws. None means one, because many models use threads themselves.

    Attributes
    ----------
    estimator_ : regressor
        The model in use.
    density_ : density
    patterns_ : ndarray of bool, shape (n_patterns, n_features)
        The missing patterns of the rows given to ``fit``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the table had names
    columns_ : ColumnPlan, if the table was a frame with columns of words
        How each column is read.

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
        answers = self._average(X)
        return answers[:, 0] if self._single else answers

    def _describe_answer(self, wrapped: WrappedModel, answer: FloatArray) -> dict[str, object]:
        return {"_single": answer.ndim == 1}
