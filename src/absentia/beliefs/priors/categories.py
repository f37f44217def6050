"""Columns of categories: codes of rows, and how they enter weights, draws and summaries.

A category is a whole number from 0, and -1 where it is missing. Of a row with a missing category
each component of its belief has the component's probabilities; an observed category is certain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from absentia.beliefs.priors.prior import Prior
from absentia.engine.threads import bounded_slices
from absentia.tables import FloatArray, IntArray

__all__ = [
    "category_log_likelihoods",
    "category_shares",
    "check_codes",
    "indicators",
    "likeliest_codes",
    "row_probabilities",
    "sample_codes",
    "split_categories",
]


def indicators(codes: IntArray, n_categories: tuple[int, ...]) -> Any:
    """Return a sparse matrix with a one for each observed category of each row.

    Parameters
    ----------
    codes : ndarray of int, shape (n_samples, n_columns)
        -1 where a category is missing.
    n_categories : tuple of int
        How many categories each column has.

    Returns
    -------
    csr_array of shape (n_samples, sum(n_categories))
        Columns of one table column stand together.
    """
    check_codes(codes, len(codes), n_categories)  # SciPy follows them without asking
    observed = codes >= 0
    starts = np.cumsum((0, *n_categories))
    places = (codes + starts[:-1])[observed]
    ends = np.concatenate([[0], np.cumsum(observed.sum(axis=1))])
    return csr_array((np.ones(len(places)), places, ends), shape=(len(codes), int(starts[-1])))


def split_categories(values: FloatArray, n_categories: tuple[int, ...]) -> tuple[FloatArray, ...]:
    """Cut an array with one column per category into one array per table column."""
    return tuple(np.split(values, np.cumsum(n_categories)[:-1], axis=-1))


def category_log_likelihoods(prior: Prior, codes: IntArray) -> FloatArray:
    """Return ``sum_j log p(category j | component)`` over observed categories, (n, k)."""
    found: FloatArray = indicators(codes, prior.n_categories) @ prior.log_probabilities.T
    return found


def category_shares(codes: IntArray, weights: FloatArray | None) -> tuple[FloatArray, ...]:
    """Return how frequent the categories of each column are among its observed values."""
    return tuple(_shares(column, weights) for column in codes.T)


def _shares(column: IntArray, weights: FloatArray | None) -> FloatArray:
    seen = column >= 0
    counts = np.bincount(column[seen], None if weights is None else weights[seen])
    shares: FloatArray = counts / counts.sum()
    return shares


def row_probabilities(
    prior: Prior, codes: IntArray, weights: FloatArray, column: int
) -> FloatArray:
    """Return how probable each category of a column is in each row, (n, n_categories).

    ``sum_c weight[c] p(category | c)`` where it is missing; one for the category observed.
    """
    found: FloatArray = weights @ prior.probabilities[column]
    seen = np.flatnonzero(codes[:, column] >= 0)
    found[seen] = 0.0
    found[seen, codes[seen, column]] = 1.0
    return found


def sample_codes(
    prior: Prior, codes: IntArray, component: IntArray, rng: np.random.RandomState
) -> IntArray:
    """Draw a category wherever one is missing, given the component drawn for each row.

    Parameters
    ----------
    prior : Prior
    codes : ndarray of int, shape (n_samples, n_columns)
    component : ndarray of int, shape (n_draws, n_samples)
    rng : RandomState

    Returns
    -------
    ndarray of int, shape (n_draws, n_samples, n_columns)
        Observed categories are the same in every draw.
    """
    drawn = np.repeat(codes[None], len(component), axis=0)
    for j, table in enumerate(prior.probabilities):
        missing = np.flatnonzero(codes[:, j] < 0)
        chosen = component[:, missing]
        uniforms = rng.uniform(size=chosen.shape)
        found = np.empty(chosen.shape, dtype=np.intp)
        for c, cumulative in enumerate(np.cumsum(table, axis=1)):
            own = chosen == c
            found[own] = np.searchsorted(cumulative[:-1], uniforms[own] * cumulative[-1])
        drawn[:, missing, j] = found
    return drawn


def likeliest_codes(prior: Prior, codes: IntArray, weights: FloatArray) -> IntArray:
    """Return the category of each row, (n, n_columns): the likeliest one where it is missing."""
    likeliest = codes.copy()
    for j, table in enumerate(prior.probabilities):
        missing = np.flatnonzero(codes[:, j] < 0)
        for part in bounded_slices(len(missing), table.shape[1]):
            rows = missing[part]
            likeliest[rows, j] = (weights[rows] @ table).argmax(axis=1)
    return likeliest


def check_codes(codes: Any, n_samples: int, n_categories: tuple[int, ...]) -> None:
    """Raise ValueError unless codes are those of so many rows and categories."""
    fits = isinstance(codes, np.ndarray) and codes.dtype == np.intp
    if not fits or codes.shape != (n_samples, len(n_categories)):
        raise ValueError(
            f"Beliefs.codes must be integers of shape {(n_samples, len(n_categories))}, found "
            f"{getattr(codes, 'shape', type(codes).__name__)}."
        )
    if not ((codes >= -1) & (codes < np.array(n_categories))).all():
        raise ValueError("Beliefs.codes must be categories of the prior, or -1 where missing.")
