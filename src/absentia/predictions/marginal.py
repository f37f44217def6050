"""Any model on incomplete rows: its predictions averaged over what the missing values could be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.frozen import FrozenEstimator

from absentia.beliefs import Beliefs
from absentia.densities.fit_density import DensityEstimator
from absentia.machines.averaging import machine_uncertainty, require_probabilities
from absentia.machines.base import KernelMachine
from absentia.machines.targets import ClassifierTargets, RegressorTargets
from absentia.machines.uncertainty import Uncertainty
from absentia.parameters import DRAWS
from absentia.predictions.conformal_base import ConformalPredictor
from absentia.predictions.marginal_base import MarginalModel, tags_of
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
        """Return the probability of each class, averaged over what is missing."""
        return self._averaged(X)

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the most probable class of each row; of complete rows, the model's own."""

        def most_probable(means: FloatArray) -> np.ndarray:
            return self.classes_[means.argmax(axis=1)]

        def own(rows: Any) -> np.ndarray:
            if hasattr(self.estimator_, "classes_") and hasattr(self.estimator_, "predict"):
                return np.asarray(self.estimator_.predict(rows)).reshape(-1)
            return most_probable(self._answers(rows))

        return self._averaged(X, own, most_probable)

    def _check_targets(self, y: ArrayLike, n_samples: int) -> np.ndarray:
        require_probabilities(self.estimator)
        return super()._check_targets(y, n_samples)

    def _describe_output(self, model: BaseEstimator, prediction: FloatArray) -> dict[str, object]:
        classes = getattr(model, "classes_", None)
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
    density, n_draws, known, random_state, n_jobs
        As in :class:`MarginalClassifier`.

    Attributes
    ----------
    estimator_ : regressor
        The model in use.
    density_, patterns_, n_features_in_, feature_names_in_, columns_
        As in :class:`MarginalClassifier`.

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
        """Return the prediction for each row, in the shape of the model's own, averaged."""
        predictions = self._averaged(X)
        return predictions[:, 0] if self._single else predictions

    def _describe_output(self, model: BaseEstimator, prediction: FloatArray) -> dict[str, object]:
        return {"_single": prediction.ndim == 1}


def predict_uncertainty(
    model: BaseEstimator,
    X: TableLike,
    *,
    density: DensityEstimator | None = None,
    n_draws: int = 64,
    by_column: bool = True,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Uncertainty:
    """Predict incomplete rows, with a decomposition of their uncertainty.

    Parameters
    ----------
    model : fitted estimator
        A machine of absentia, a :class:`~absentia.MarginalClassifier` or
        :class:`~absentia.MarginalRegressor`, a search over machines (its ``best_estimator_`` is
        taken), a conformal predictor (the model inside), or any other model together with
        ``density``.
    X : array-like of shape (n_samples, n_features), or Beliefs for a machine
    density : fitted density, optional
        What the missing values could be, in place of the model's own density; needed for models
        that have none.
    n_draws : int, default=64
        Draws per row, where there is no closed form.
    by_column : bool, default=True
        Whether to compute what each missing column alone would remove.
    random_state : int, default=0
        Scrambles the quasi-random points.
    n_jobs : int, optional
        Threads over chunks of draws, where ``density`` is given.

    Returns
    -------
    Uncertainty

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LogisticRegression, predict_uncertainty
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> machine = LogisticRegression(C=100.0).fit(X, X[:, 0] > 0)
    >>> doubt = predict_uncertainty(machine, [[2.0, np.nan], [np.nan, 2.0]])
    >>> bool(doubt.missing[0] < 0.1 * doubt.missing[1])  # only the first column matters
    True
    """
    DRAWS.check("n_draws", n_draws)
    model = unwrapped(model)
    own = hasattr(model, "predict_uncertainty")
    inner = getattr(model, "best_estimator_", model)
    if isinstance(X, Beliefs) and not isinstance(inner, KernelMachine):
        raise TypeError(
            f"{type(model).__name__} answers rows, but X holds beliefs: pass the rows, and as "
            "density one whose condition(X) returns such beliefs."
        )
    if own and density is None:
        return model.predict_uncertainty(X, by_column=by_column)
    if isinstance(inner, KernelMachine) and density is None:
        return machine_uncertainty(
            inner, X, n_draws=n_draws, by_column=by_column, random_state=random_state
        )
    density = find_density(inner) if density is None else density
    draws = {"n_draws": n_draws, "random_state": random_state, "n_jobs": n_jobs}
    doubt = marginal_model(inner, density, X, **draws).predict_uncertainty(X, by_column=by_column)
    if own and doubt.unit == "variance" and not doubt.noise.any():
        # A model may know its noise and yet return no standard deviations.
        noise = model.predict_uncertainty(X, by_column=False).noise
        doubt = replace(doubt, noise=noise, total=doubt.total + noise)
    return doubt


def unwrapped(model: BaseEstimator) -> Any:
    """Return the model inside a conformal predictor or a FrozenEstimator."""
    model = model.estimator_ if isinstance(model, ConformalPredictor) else model
    return model.estimator if isinstance(model, FrozenEstimator) else model


def marginal_model(model: BaseEstimator, density: Any, X: TableLike, **draws: Any) -> Any:
    """Return a fitted model that answers incomplete rows by averages over a fitted density."""
    kind = MarginalClassifier if is_classifier(model) else MarginalRegressor
    if isinstance(model, MarginalModel):
        kind, model = type(model), unwrapped(model.estimator_)
    return kind(FrozenEstimator(model), density=FrozenEstimator(density), **draws).fit(X)


def layers(model: BaseEstimator) -> Iterator[Any]:
    """Yield a model, the model that it wraps, the one that that wraps..."""
    for _ in range(10):
        yield model
        calibrated = getattr(model, "calibrated_classifiers_", None)
        inner = calibrated[0] if calibrated else None
        for name in ("best_estimator_", "estimator_", "estimator", "features_"):
            if inner is None:
                inner = getattr(model, name, None)
        if inner is None:
            return
        model = inner


def find_density(model: BaseEstimator) -> BaseEstimator:
    """Return the fitted density inside a model: its own, or that of the model that it wraps."""
    for layer in layers(model):
        density = getattr(layer, "density_", None)
        if density is not None:
            return getattr(density, "estimator", density)  # a FrozenEstimator holds it
    raise ValueError(
        f"{type(model).__name__} has no density of the missing values. "
        "Give density=GaussianDensity().fit(training rows), or wrap the model in "
        "MarginalClassifier or MarginalRegressor."
    )
