"""The uncertainty of any model's predictions, by one function."""

from __future__ import annotations

from sklearn.base import BaseEstimator, is_classifier
from sklearn.frozen import FrozenEstimator

from absentia.densities.fit_density import DensityEstimator
from absentia.machines.base import KernelMachine
from absentia.machines.uncertainty.machine_draws import machine_uncertainty
from absentia.machines.uncertainty.parts import Uncertainty
from absentia.parameters import DRAWS
from absentia.predictions.marginal_classifier import MarginalClassifier
from absentia.predictions.marginal_regressor import MarginalRegressor
from absentia.tables import TableLike

__all__ = ["predict_uncertainty"]


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
        taken), or any other model together with ``density``.
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
    if hasattr(model, "predict_uncertainty"):
        doubt: Uncertainty = model.predict_uncertainty(X, by_column=by_column)
        return doubt
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, KernelMachine) and density is None:
        return machine_uncertainty(
            model, X, n_draws=n_draws, by_column=by_column, random_state=random_state
        )
    if density is None:  # machines on features have their density there
        density = getattr(getattr(model, "features_", None), "density_", None)
    if density is None:
        raise ValueError(
            f"{type(model).__name__} has no density of the missing values. "
            "Give density=GaussianDensity().fit(training rows), or wrap the model in "
            "MarginalClassifier or MarginalRegressor."
        )
    wrapper = (MarginalClassifier if is_classifier(model) else MarginalRegressor)(
        FrozenEstimator(model),
        density=FrozenEstimator(density),
        n_draws=n_draws,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return wrapper.fit(X).predict_uncertainty(X, by_column=by_column)
