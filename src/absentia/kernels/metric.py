"""The metric of distances: Euclidean, Mahalanobis, or a matrix given by the user."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from absentia.beliefs import Prior
from absentia.beliefs.prior import inverse_and_log_determinant
from absentia.kernels.base import Kernel, with_params
from absentia.parameters import GAMMA, GAMMAS, shown, words
from absentia.tables import FloatArray

__all__ = [
    "Widths",
    "metric_root",
    "resolve_gamma",
    "resolve_gammas",
    "resolve_metric",
    "with_gamma_and_metric",
]

#: The parameter ``gamma`` of kernels and machines: a word, a number, or a number per column.
Widths = float | str | list[float] | tuple[float, ...] | FloatArray


def with_gamma_and_metric(kernel: Kernel, prior: Prior) -> Kernel:
    """Return a copy of a kernel with numbers as ``gamma`` and a matrix as ``metric``.

    The Euclidean metric keeps its name.
    """
    own: Any = kernel
    if type(own.gamma) is float and isinstance(own.metric, str) and own.metric == "euclidean":
        GAMMA.check("gamma", own.gamma)  # by name, parameters take longer to find than a row
        return copy(kernel)
    params = kernel.get_params(deep=False)
    metric = resolve_metric(params["metric"], prior)
    named = "euclidean" if metric is None else metric
    return with_params(kernel, gamma=resolve_gammas(params["gamma"], prior, named), metric=named)


def resolve_gammas(gamma: Widths, prior: Prior, metric: str | ArrayLike) -> float | FloatArray:
    """Return ``gamma`` as a number, or as an array of one number per column.

    With one number per column the squared distance is ``sum_j gamma_j (x_j - y_j)^2``, which takes
    the place of a metric. Parameters are those of :func:`resolve_gamma`.
    """
    if not isinstance(gamma, np.ndarray | list | tuple):
        return resolve_gamma(gamma, prior, metric)
    (GAMMA | GAMMAS | words("scale", "auto")).check("gamma", gamma)
    gammas: FloatArray = np.array(gamma, dtype=np.float64)
    if len(gammas) != prior.n_features:
        raise ValueError(
            f"gamma must be one number, or one for each of the {prior.n_features} columns, found "
            f"{len(gammas)}. Columns without any observed value are left out by a density: give "
            "gamma[density.columns_] then."
        )
    if not (isinstance(metric, str) and metric == "euclidean"):
        raise ValueError(
            "gamma with one number per column is a metric of its own: keep metric='euclidean', or "
            "multiply the rows and columns of the metric by the roots of these numbers."
        )
    return gammas


def resolve_gamma(gamma: float | str, prior: Prior, metric: str | ArrayLike) -> float:
    """Return ``gamma`` as a number.

    ``"scale"`` is one over the trace of ``M S``, where ``S`` is the data's covariance and ``M`` the
    metric: one over the sum of the columns' variances in the Euclidean metric, one over the number
    of columns in that of Mahalanobis. It does not change when a constant is added to a column, as
    distances do not; scikit-learn's ``1 / (n_features * X.var())``, in which the differences
    between the means of the columns count as variance, does. The two agree on standardised columns.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        ``"auto"`` is one over the number of columns, as in scikit-learn.
    prior : Prior
    metric : {"euclidean", "mahalanobis"} or array-like of shape (n_features, n_features)
        In which the kernel measures distances. There is no default: a width belongs to a metric.
    """
    (GAMMA | words("scale", "auto")).check("gamma", gamma)
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / prior.n_features
    if isinstance(gamma, str):
        matrix, covariance = resolve_metric(metric, prior), prior.covariance()
        total = float(np.trace(covariance) if matrix is None else np.sum(matrix * covariance))
        return 1.0 / total if total > 0 else 1.0
    return float(gamma)


def resolve_metric(metric: str | ArrayLike, prior: Prior) -> FloatArray | None:
    """Return the matrix ``M`` of the squared distance ``d' M d``, or None where it is ``d'd``.

    Parameters
    ----------
    metric : {"euclidean", "mahalanobis"} or array-like of shape (n_features, n_features)
        ``"mahalanobis"`` is the inverse of the overall covariance of the prior, Appendix D of
        [Smieja2018]_. An array must be symmetric and positive definite.
    prior : Prior
    """
    if isinstance(metric, str):
        if metric == "euclidean":
            return None
        if metric == "mahalanobis":
            return inverse_and_log_determinant(prior.covariance())[0]
        raise ValueError(
            f"metric must be 'euclidean', 'mahalanobis' or a matrix, found {metric!r}."
        )
    try:
        M: FloatArray = np.asarray(metric, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"metric must be 'euclidean', 'mahalanobis' or a matrix, found {shown(metric)}."
        ) from None
    d = prior.n_features
    if M.shape != (d, d):
        raise ValueError(
            f"A metric for {d} columns must be a matrix of shape {(d, d)}, found {M.shape}. For "
            "one weight per column pass numpy.diag(weights)."
        )
    if not np.isfinite(M).all():
        raise ValueError("A metric must be a finite, symmetric matrix.")
    diagonal = np.diagonal(M)
    if not (diagonal > 0).all():
        raise ValueError(
            "A metric must be positive definite, but its smallest diagonal entry is "
            f"{diagonal.min():.3g}."
        )
    # With a diagonal of ones, so that very different units of the columns cost no accuracy.
    scaled = M / np.sqrt(diagonal) / np.sqrt(diagonal)[:, None]
    if not np.allclose(scaled, scaled.T):
        raise ValueError("A metric must be a finite, symmetric matrix.")
    smallest = float(np.linalg.eigvalsh(scaled)[0])
    if smallest <= 0:
        raise ValueError(
            "A metric must be positive definite, but scaled to a diagonal of ones its smallest "
            f"eigenvalue is {smallest:.3g}."
        )
    return (M + M.T) / 2


def metric_root(metric: FloatArray) -> FloatArray:
    """Return ``R`` with ``R'R = M``: distances after the map ``x -> R x`` are Euclidean."""
    root: FloatArray = np.asarray(np.linalg.cholesky(metric).T, dtype=np.float64)
    return root
