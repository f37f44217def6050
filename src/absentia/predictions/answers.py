"""Uncertainty of the predictions of any model for incomplete rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import BaseEstimator, is_classifier
from sklearn.frozen import FrozenEstimator

from absentia.densities.fit_density import DensityEstimator
from absentia.machines.averaging import machine_uncertainty
from absentia.machines.base import KernelMachine
from absentia.machines.uncertainty import Uncertainty
from absentia.parameters import DRAWS
from absentia.predictions.conformal_base import ConformalPredictor
from absentia.predictions.marginal import MarginalClassifier, MarginalRegressor
from absentia.tables import TableLike


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
    X : array-like of shape (n_samples, n_features)
    density : fitted density, optional
        What the missing values could be; needed for models that have none of their own.
    n_draws : int, default=64
        Draws per row, where there is no closed form.
    by_column : bool, default=True
        Whether to compute what each missing column alone would remove.
    random_state : int, default=0
        Scrambles the quasi-random points.
    n_jobs : int, optional
        Threads over chunks of draws, for models that need ``density``.

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
    if hasattr(model, "predict_uncertainty"):
        doubt: Uncertainty = model.predict_uncertainty(X, by_column=by_column)
        return doubt
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, KernelMachine) and density is None:
        return machine_uncertainty(
            model, X, n_draws=n_draws, by_column=by_column, random_state=random_state
        )
    density = find_density(model) if density is None else density
    draws = {"n_draws": n_draws, "random_state": random_state, "n_jobs": n_jobs}
    return marginal_model(model, density, X, **draws).predict_uncertainty(X, by_column=by_column)


def unwrapped(model: BaseEstimator) -> Any:
    """Return the model inside a conformal predictor or a FrozenEstimator."""
    model = model.estimator_ if isinstance(model, ConformalPredictor) else model
    return model.estimator if isinstance(model, FrozenEstimator) else model


def marginal_model(model: BaseEstimator, density: Any, X: TableLike, **draws: Any) -> Any:
    """Return a fitted model that answers incomplete rows by averages over a fitted density."""
    kind = MarginalClassifier if is_classifier(model) else MarginalRegressor
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
