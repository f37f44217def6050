"""From rows of any kind to a fitted density and to beliefs, also with third-party densities.

The densities of this library take a table that was read already. A third-party density needs
no more than ``fit(X)`` and ``condition(X)`` on arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter

from absentia.beliefs import Beliefs, Prior
from absentia.densities.named_densities import DensityLike, make_density
from absentia.densities.shared_fits import fitted_once
from absentia.parameters import RandomState
from absentia.tables import FloatArray, Rows, Table, WordsAs

__all__ = ["believe", "fit_density", "prior_of", "words_for"]


def words_for(density: DensityLike) -> WordsAs:
    """Return what columns of words become: codes where a density knows categories."""
    named = make_density(density) if isinstance(density, str) else density
    return "codes" if getattr(named, "takes_categories", False) else "indicators"


def fit_density(
    density: DensityLike,
    rows: Rows,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
) -> BaseEstimator | None:
    """Return a density fitted to rows: a copy, or the one of that name; None for beliefs.

    Parameters
    ----------
    density : str or density estimator
    rows : Table, Stream or Beliefs
        The weights of a stream come with it.
    sample_weight : ndarray of shape (n_samples,), optional
        Ignored where ``density.fit`` takes no weights.
    random_state : int, RandomState instance or None, default=None
        As in :func:`make_density`.
    """
    if isinstance(rows, Beliefs):
        return None
    fitted = make_density(density, random_state)
    weights = {}
    if sample_weight is not None and has_fit_parameter(fitted, "sample_weight"):
        weights["sample_weight"] = _as_counts(sample_weight)

    def fit() -> BaseEstimator:
        return fitted.fit(_as_taken(fitted, rows), None, **weights)

    return fitted_once(fitted, rows, weights.get("sample_weight"), fit)


def _as_counts(sample_weight: ArrayLike) -> ArrayLike:
    """Return weights of which one is one row.

    Rows that all weigh the same count as one each: a solver may make 0.01 of all of them, but the
    density has seen as many rows as there are.
    """
    weights = np.asarray(sample_weight)
    counting = weights[weights > 0] if weights.dtype.kind in "fiub" else weights
    return np.sign(weights) if counting.size and (counting == counting[0]).all() else sample_weight


def believe(density: BaseEstimator, rows: Rows | FloatArray) -> Beliefs:
    """Return the beliefs about rows; beliefs are returned as they are.

    An array is taken for rows that have been read and checked against the density's columns.
    """
    if isinstance(rows, Beliefs):
        rows.ensure_valid()
        return rows
    if isinstance(rows, np.ndarray):
        rows = Table(rows, columns_checked=True)
    if density is None:
        raise ValueError(
            "This estimator was fitted on Beliefs, so it has no density for the "
            "missing values of new rows. Pass Beliefs here too: density.condition(X) "
            "with the density that the training beliefs came from, or "
            "Beliefs.from_moments(means, covariances)."
        )
    beliefs: Beliefs = density.condition(_as_taken(density, rows))
    if isinstance(beliefs, Beliefs):  # what else a density may return is refused by kernels
        beliefs.ensure_valid()
    return beliefs


def prior_of(density: BaseEstimator, rows: Rows) -> Prior:
    """Return what training rows were conditioned on; beliefs bring theirs."""
    prior: Prior = rows.prior if isinstance(rows, Beliefs) else density.prior_
    return prior


def _as_taken(density: BaseEstimator, rows: Rows) -> Any:
    """Return rows in the form that a density takes them in."""
    rows = rows.behind_plan()
    if getattr(density, "takes_tables", False) or not isinstance(rows, Table):
        return rows
    # Arrays, except for a density that was fitted elsewhere to a frame and knows its names.
    return rows.as_given() if hasattr(density, "feature_names_in_") else rows.array
