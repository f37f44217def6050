"""Widths and metrics of kernels: parameters, the RBF as a Gaussian, a warning of gross values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from absentia.beliefs import Beliefs, Prior
from absentia.beliefs.prior import inverse_and_log_determinant
from absentia.engine.threads import computed_once
from absentia.parameters import GAMMA, GAMMAS, numbers, words
from absentia.tables import BoolArray, FloatArray, Table
from absentia.tables.phrases import frames_of_absentia, listed

_Value = TypeVar("_Value")

#: The parameter ``gamma`` of kernels and machines: a word, a number, or a number per column.
Widths = float | str | list[float] | tuple[float, ...] | FloatArray

# Between 1e-20 and 1e20 of a variance nothing is gained by other units.
_USUAL_EXPONENT = 33

# A value is gross where the squared distances of all others from the median are together less than
# this share of its own: a thousand standard deviations for a column of one row, times the root of
# the number of rows. No column of the tables that come with the library has one.
_SHARE_OF_OTHERS = 1e-6
_FEWEST_VALUES = 10
# Columns that are nearly always the same value, such as indicators of a rare word, are no spread to
# compare with: at least this share of the values must differ from the median.
_SHARE_THAT_VARIES = 0.1


def resolved_widths(params: dict[str, Any], prior: Prior) -> dict[str, Any]:
    """Return numbers as ``gamma`` and a matrix as ``metric``, of parameters that have these names.

    The Euclidean metric keeps its name.
    """
    if "gamma" not in params:
        return {}
    metric = resolve_metric(params.get("metric", "euclidean"), prior)
    named = "euclidean" if metric is None else metric
    found = {"gamma": resolve_gammas(params["gamma"], prior, named), "metric": named}
    return {name: value for name, value in found.items() if name in params}


def resolve_gammas(gamma: Widths, prior: Prior, metric: str | ArrayLike) -> float | FloatArray:
    """Return ``gamma`` as a number, or as an array of one number per column.

    With one number per column the squared distance is ``sum_j gamma_j (x_j - y_j)^2``, which takes
    the place of a metric.
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
    """Return ``gamma`` as a number; ``"auto"`` is one over the number of columns.

    ``"scale"`` is one over the trace of ``M S``, where ``S`` is the data's covariance and ``M`` the
    metric: one over the sum of the columns' variances in the Euclidean metric, one over the number
    of columns in that of Mahalanobis. It does not change when a constant is added to a column, as
    distances do not; scikit-learn's ``1 / (n_features * X.var())``, in which the differences
    between the means of the columns count as variance, does. The two agree on standardised columns.
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

    ``"mahalanobis"`` is the inverse of the overall covariance, Appendix D of [Smieja2018]_. An
    array must be symmetric and positive definite.
    """
    if isinstance(metric, str) and metric == "euclidean":
        return None
    if isinstance(metric, str) and metric == "mahalanobis":
        return inverse_and_log_determinant(prior.covariance())[0]
    M: FloatArray = numbers("metric", metric, "'euclidean', 'mahalanobis' or a matrix")
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
    return np.asarray(np.linalg.cholesky(metric).T, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Smoothing:
    """The RBF as a Gaussian, of covariance ``C0 = inv(2 gamma M)``."""

    gamma: float | FloatArray  # one number per column in the Euclidean metric only
    metric: FloatArray | None  # None for the Euclidean metric
    n_features: int

    @classmethod
    def of(cls, gamma: Any, metric: Any, n_features: int) -> Smoothing:
        """Return the smoothing of a kernel's resolved parameters; a named metric is Euclidean."""
        number = np.asarray(gamma, dtype=np.float64)
        matrix = None if isinstance(metric, str) else metric
        return cls(number if number.ndim else float(number), matrix, n_features)

    @property
    def by_column(self) -> bool:
        """Whether each column has a width of its own."""
        return isinstance(self.gamma, np.ndarray)

    @computed_once
    def key(self) -> tuple[float | bytes, bytes | None]:
        """Hashable key, different for any other smoothing of as many columns."""
        gamma = self.gamma.tobytes() if isinstance(self.gamma, np.ndarray) else self.gamma
        return gamma, None if self.metric is None else self.metric.tobytes()

    @computed_once
    def units(self) -> FloatArray | None:
        """Units of the columns in which ``C0`` has a diagonal of order one; None where it has.

        Powers of two, so that a change of units rounds nothing. One for all columns in the
        Euclidean metric, which thereby stays Euclidean. Where each column has a width of its own
        the widths are the units, in which ``C0`` is the identity; these are no powers of two.
        """
        if self.by_column:
            return 1 / np.sqrt(2 * self.gamma)
        if self.metric is None:
            exponent = round(-0.5 * (1 + math.log2(float(self.gamma))))
            usual = abs(exponent) <= _USUAL_EXPONENT
            return None if usual else np.full(self.n_features, 2.0**exponent)
        logs = np.log2(np.diagonal(self.metric))
        exponents = np.round(-0.5 * (1 + np.log2(self.gamma) + logs))
        if np.abs(exponents).max() <= _USUAL_EXPONENT:
            return None
        return np.broadcast_to(np.exp2(exponents), self.n_features).copy()

    def in_units(self, units: FloatArray) -> Smoothing:
        """Return the same smoothing for columns that are measured in other units."""
        if self.by_column:
            return Smoothing(0.5, None, self.n_features)
        if self.metric is None:
            return Smoothing(float(self.gamma * units[0] * units[0]), None, self.n_features)
        metric = (self.metric * units) * units[:, None] * self.gamma
        return Smoothing(1.0, metric, self.n_features)

    @property
    def information(self) -> FloatArray:
        """The inverse ``2 gamma M``."""
        if self.metric is None:
            return 2 * self.gamma * np.eye(self.n_features)
        return 2 * self.gamma * self.metric

    def range_in_units(self, prior: Prior) -> tuple[float, float]:
        """Return the smallest and the largest variance of a prior in units of the RBF's own.

        Column by column, of all components.
        """
        if self.metric is None and not self.by_column:
            least, most = prior.variance_range
            return float(2 * self.gamma * least), float(2 * self.gamma * most)
        spread = prior.variances * np.diagonal(self.information)
        return float(spread.min()), float(spread.max())

    @computed_once
    def diagonal(self) -> FloatArray | None:
        """The diagonal of ``C0`` where it has nothing else; None for any other metric."""
        if self.metric is None:
            return np.full(self.n_features, 1 / (2 * self.gamma))
        own = np.diagonal(self.metric)
        if np.count_nonzero(self.metric) != np.count_nonzero(own):
            return None
        return 1 / (2 * self.gamma * own)

    @computed_once
    def covariance(self) -> FloatArray:
        """``C0``, symmetric to the last bit."""
        if self.metric is None:
            return np.eye(self.n_features) / (2 * self.gamma)
        return inverse_and_log_determinant(self.metric)[0] / (2 * self.gamma)

    @computed_once
    def log_determinant(self) -> float:
        """``log det C0``."""
        log_det = 0.0 if self.metric is None else inverse_and_log_determinant(self.metric)[1]
        return -log_det - float(np.broadcast_to(np.log(2 * self.gamma), self.n_features).sum())


def warn_of_gross_values(
    rows: object, density: object, sample_weight: ArrayLike | None = None
) -> None:
    """Warn of columns in which one value makes up nearly all of the variance.

    Widths that are taken from the spread of the columns, or searched for from there, depend on
    nothing but this value then: all other rows are alike. Those of normal scores do not. Rows of
    weight zero do not count, and streams are not checked.
    """
    if not isinstance(rows, Table) or getattr(density, "margins", None) is not None:
        return
    table = rows.array if sample_weight is None else rows.array[np.asarray(sample_weight) > 0]
    found = np.flatnonzero(gross_columns(table))
    if not len(found):
        return
    labels = rows.labels
    first = found[0]
    values = table[:, first]
    centre = np.nanmedian(values)
    value = values[np.nanargmax(np.abs(values - centre))]
    half = float(np.nanmedian(np.abs(values - centre)))
    names = listed([labels[j] for j in found])
    columns = f"column {names}" if len(found) == 1 else f"each of the columns {names}"
    example = "" if len(found) == 1 else f" of {labels[first]!r}"
    warnings.warn(
        f"One value makes up nearly all of the variance of {columns}: {value:g}{example}, where "
        f"half of the values are within {half:.2g} of {centre:g}. Widths of "
        "the kernel are taken from this variance, so that all other rows look alike. Correct or "
        "remove the value, or use normal scores (`NormalScores`, or a density with "
        "margins='normal-scores').",
        stacklevel=frames_of_absentia(),
    )


def widths_from_variance(kernel: BaseEstimator) -> bool:
    """Return whether a kernel, or one that it is made of, takes its width from the columns."""
    return any(
        name.split("__")[-1] in ("gamma", "theta") and isinstance(value, str) and value == "scale"
        for name, value in kernel.get_params().items()
    )


def gross_columns(X: FloatArray) -> BoolArray:
    """Return in which columns one value makes up the variance, shape (n_features,)."""
    n_known = np.count_nonzero(~np.isnan(X), axis=0)
    some = X[:, n_known > _FEWEST_VALUES]
    # In units of the largest value, whose square may be no number.
    some = some / np.maximum(np.nanmax(np.abs(some), axis=0, initial=0.0), np.finfo(float).tiny)
    distances = np.abs(np.nan_to_num(some - np.nanmedian(some, axis=0)))
    largest = distances.max(axis=0, initial=0.0)
    others = n_known[n_known > _FEWEST_VALUES] - 1
    varies = np.count_nonzero(distances, axis=0) - 1 >= _SHARE_THAT_VARIES * others
    rest = np.square(distances / np.maximum(largest, np.finfo(float).tiny)).sum(axis=0) - 1.0
    found = np.zeros(X.shape[1], dtype=bool)
    found[n_known > _FEWEST_VALUES] = (largest > 0) & varies & (rest < _SHARE_OF_OTHERS)
    return found


def cached(
    beliefs: Beliefs, smoothing: Smoothing, what: Hashable, compute: Callable[[], _Value]
) -> _Value:
    """Return ``compute()``, or its value of an earlier call with the same beliefs and smoothing.

    Support vectors come back at every call. The values of one smoothing are cached, so that a
    search over widths does not pile them up. They live and die with the beliefs, are no part of
    their fields, and are neither copied nor written to files. Two threads may compute the same
    value at the same time; both get the one stored first. ``what`` is the name of the value, with
    everything else that it depends on.
    """
    key = smoothing.key
    own = vars(beliefs)
    found = own.get("_cached")
    if found is None or found[0] != key:
        found = own["_cached"] = (key, {})
    values: dict[Hashable, _Value] = found[1]
    if what not in values:
        return values.setdefault(what, compute())
    return values[what]
