"""A metric learned from the gradients of a fitted machine, for Fourier features.

The directions in which a good prediction changes are those along which rows should be far apart.
With ``f`` the scores of a machine, the average outer product of gradients ``mean(grad f grad f')``
is such a metric; a machine fitted in that metric has better gradients, and so on (recursive feature
machines, Radhakrishnan et al., Science 383, 2024). The rounds are compared on held-out rows.

For Fourier features the gradients are in closed form: ``f = sum_k a_k r_k cos(w_k'm) + b_k r_k
sin(w_k'm)`` at a belief with mean ``m``, whose covariance is in ``r`` alone, has the gradient
``sum_k w_k (b_k r_k cos(w_k'm) - a_k r_k sin(w_k'm))``, a product of matrices of the features.
"""

from __future__ import annotations

from operator import itemgetter

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.frozen import FrozenEstimator

from absentia.beliefs import Beliefs
from absentia.densities.fit_density import fit_density
from absentia.kernels.metric import resolve_gamma
from absentia.machines.search.widths import losses_of_rows
from absentia.progress import report
from absentia.tables import FloatArray, MemoryRows

#: Rows that the metric is learned from, at most, and the share of them that judges.
MOST_ROWS = 20_000
_HELD_OUT = 0.25
_MOST_FEATURES = 1024
_ROUNDS = 4
_MOST_STEPS = 6  # of the width, in one round
# Powers of the product that are tried in every round. The root is less extreme, and was better on
# a table of hourly air quality.
_POWERS = (0.5, 1.0)
# Floor of every direction, as a share of the average one.
_FLOOR = 1e-3


def average_gradient_product(
    features: BaseEstimator,
    coef: FloatArray,
    Z: FloatArray,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return the average outer product of the gradients of linear scores of Fourier features.

    By the means of the beliefs; of mixtures, by a common shift of the means of all components.
    ``features`` are fitted, with an even number of components; ``coef`` has shape
    (n_scores, n_components), ``Z``, the features of the rows, (n_samples, n_components).
    """
    frequencies = features.frequencies_
    half = frequencies.shape[1]
    total = np.zeros((len(frequencies), len(frequencies)))
    weights = np.ones(len(Z)) if sample_weight is None else sample_weight
    for of_cosines, of_sines in zip(coef[:, :half], coef[:, half:], strict=True):
        gradients = (Z[:, :half] * of_sines - Z[:, half:] * of_cosines) @ frequencies.T
        total += gradients.T @ (weights[:, None] * gradients)
    return total / weights.sum()


def learn_metric(
    machine: BaseEstimator, rows: MemoryRows, y: np.ndarray, sample_weight: FloatArray | None
) -> tuple[FloatArray, float]:
    """Return metric and width of the round whose machine predicts held-out rows best.

    The metric is scaled to the trace that the Euclidean metric has in the data's covariance.
    """
    if sample_weight is not None and not sample_weight.all():
        counting = np.flatnonzero(sample_weight)
        rows, y, sample_weight = rows[counting], y[counting], sample_weight[counting]
    order = np.random.RandomState(0).permutation(len(rows))[:MOST_ROWS]
    n_held = max(1, int(_HELD_OUT * len(order)))
    train, held = order[n_held:], order[:n_held]
    if is_classifier(machine) and len(np.unique(y[train])) < len(np.unique(y)):
        raise ValueError(
            "metric='learned' holds out a quarter of the rows, and a class has too few rows for "
            "that. Use metric='euclidean'."
        )
    known = isinstance(rows, Beliefs)
    weights, held_weights = (
        None if sample_weight is None else sample_weight[part] for part in (train, held)
    )
    density = machine.density
    if not known:
        sample = np.sort(train)
        of_sample = None if sample_weight is None else sample_weight[sample]
        density = FrozenEstimator(fit_density(density, rows[sample], of_sample))
    prior = rows.prior if isinstance(rows, Beliefs) else density.prior_
    covariance = prior.covariance()
    d = prior.n_features
    metric, gamma = np.eye(d), resolve_gamma(machine.gamma, prior, "euclidean")
    n_components = min(int(machine.n_components), _MOST_FEATURES)
    n_components += n_components % 2

    def fitted(metric: FloatArray, gamma: float) -> tuple[float, BaseEstimator]:
        own = clone(machine).set_params(
            metric=metric, gamma=gamma, density=density, n_components=n_components
        )
        own.fit(rows[train], y[train], sample_weight=weights)
        losses = losses_of_rows(own, rows[held], y[held], np.finfo(float).eps)
        return float(np.average(losses, weights=held_weights)), own

    loss, own = fitted(metric, gamma)
    best = loss, metric, gamma
    for number in range(_ROUNDS):
        product = average_gradient_product(
            own.features_, own.coef_, own.features_.of_rows(rows[train]), weights
        )
        if not np.isfinite(product).all() or not np.trace(product) > 0:
            break
        trials = [(*fitted(M, gamma), M, gamma) for M in _metrics_of(product, covariance)]
        best_trial = min(trials, key=itemgetter(0))
        # Then the width, downhill in steps of two.
        for step in (0.5, 2.0):
            for _ in range(_MOST_STEPS):
                _, _, metric, width = best_trial
                trial = (*fitted(metric, width * step), metric, width * step)
                if trial[0] >= best_trial[0]:
                    break
                best_trial = trial
            if best_trial[3] != gamma:
                break
        loss, own, metric, gamma = best_trial
        report("%s: round %d of the metric, loss %.6g", type(machine).__name__, number + 1, loss)
        if loss >= best[0]:
            break
        best = loss, metric, gamma
    _, metric, gamma = best
    return metric if known else _for_all_columns(metric, density, rows), gamma


def _metrics_of(product: FloatArray, covariance: FloatArray) -> list[FloatArray]:
    """Return powers of a product of gradients as metrics, none of them singular.

    All have the trace in the data's covariance that the Euclidean metric has, so that one gamma
    means the same in all of them.
    """
    values, vectors = np.linalg.eigh(product)
    unit, d = float(np.trace(covariance)), len(product)
    metrics = []
    for power in _POWERS:
        metric = (vectors * np.maximum(values, 0.0) ** power) @ vectors.T
        metric = metric / np.sum(metric * covariance) + _FLOOR / unit * np.eye(d)
        metric = (metric + metric.T) / 2
        metrics.append(metric * unit / np.sum(metric * covariance))
    return metrics


def _for_all_columns(metric: FloatArray, density: BaseEstimator, rows: MemoryRows) -> FloatArray:
    """Return the metric with a place for columns that only rows outside the sample have."""
    # The metric is about numbers; categories have weights of their own.
    categories = getattr(density, "category_columns_", ())
    seen = np.setdiff1d(np.flatnonzero(~rows.mask.all(axis=0)), categories)
    if len(seen) == len(metric):
        return metric
    whole = np.eye(len(seen)) * np.trace(metric) / len(metric)
    places = np.searchsorted(seen, getattr(density, "number_columns_", density.columns_))
    whole[np.ix_(places, places)] = metric
    return whole
