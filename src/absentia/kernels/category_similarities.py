"""Similarities between the categories of a column: a matrix that is known, or an order.

A kernel ``S`` of categories enters the kernel of two beliefs as ``p'Sq``, where ``p`` and ``q`` are
the probabilities of the categories. With the weight ``w`` of its column the factor is::

    exp(-w) + (1 - exp(-w)) p'Sq

which is ``E exp(-w [x != y])`` where ``S`` is the identity (categories are alike only if they are
the same), ``p'Sq`` itself for a large weight, and 1 for a weight of zero. It is positive
semidefinite wherever ``S`` is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from absentia.beliefs import Prior
from absentia.parameters import shown
from absentia.tables import FloatArray

__all__ = ["Similarities", "ordered_similarity", "resolve_similarities", "shares_that_differ"]

#: For each column of categories a matrix; None where different categories are not alike at all.
Similarities = tuple[FloatArray | None, ...]

# A matrix whose entries are rounded to six digits is positive semidefinite up to about this much.
_ROUNDING = 1e-6


def ordered_similarity(n_categories: int) -> FloatArray:
    """Return ``1 - |a - b| / (n_categories - 1)`` for categories ``a`` and ``b`` in their order.

    Neighbours are most alike, and the first and the last category have nothing in common. It is
    the triangular kernel of the ranks, which is positive definite, and the identity for two
    categories.

    Parameters
    ----------
    n_categories : int

    Returns
    -------
    ndarray of shape (n_categories, n_categories)

    Examples
    --------
    >>> from absentia.kernels.category_similarities import ordered_similarity
    >>> ordered_similarity(3)
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    ranks = np.arange(n_categories, dtype=np.float64)
    apart: FloatArray = np.abs(ranks[:, None] - ranks) / max(1, n_categories - 1)
    return 1.0 - apart


def resolve_similarities(given: object, prior: Prior) -> Similarities | None:
    """Return one matrix, or None, per column of categories; None where no column has one.

    Parameters
    ----------
    given : None, "ordered", sequence or mapping
        For all columns, one entry per column of categories, or entries by the number of the column
        among them; an entry is None, ``"ordered"`` or a matrix.
    prior : Prior
    """
    counts = prior.n_categories
    if given is None or not counts:
        return None
    if isinstance(given, str):
        given = [given] * len(counts)
    if isinstance(given, Mapping):
        unknown = [key for key in given if key not in range(len(counts))]
        if unknown:
            raise ValueError(
                f"Similarities of categories were given for column {shown(unknown[0])}, but these "
                f"beliefs have columns of categories 0 to {len(counts) - 1}: count columns of "
                "categories only, as density.category_columns_ lists them."
            )
        given = [given.get(j) for j in range(len(counts))]
    if not isinstance(given, list | tuple) or len(given) != len(counts):
        raise ValueError(
            "Similarities of categories must be None, 'ordered', or a list with None, 'ordered' or "
            f"a matrix for each of the {len(counts)} columns of categories (or a dict of some of "
            f"them), found {shown(given)}."
        )
    pairs = enumerate(zip(given, counts, strict=True))
    found = tuple(_resolved(one, j, n_categories) for j, (one, n_categories) in pairs)
    return None if all(one is None for one in found) else found


def _resolved(given: object, column: int, n_categories: int) -> FloatArray | None:
    """Return the matrix of one column, checked."""
    if given is None:
        return None
    where = f"The similarities of column {column} of categories"
    if isinstance(given, str):
        if given != "ordered":
            raise ValueError(f"{where} must be None, 'ordered' or a matrix, found {shown(given)}.")
        return ordered_similarity(n_categories)
    try:
        S: FloatArray = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{where} must be None, 'ordered' or a matrix of numbers, found {shown(given)}."
        ) from None
    if S.shape != (n_categories, n_categories):
        raise ValueError(
            f"{where} must be a matrix of shape {(n_categories, n_categories)}, one row per "
            f"category in the order of density.categories_, found shape {S.shape}. A category that "
            "no training row has is not counted."
        )
    if not (np.isfinite(S).all() and (S >= 0).all() and (S <= 1).all()):
        raise ValueError(f"{where} must be numbers from 0 to 1, found {_outside(S):.6g}.")
    if not (np.diagonal(S) == 1).all() or not np.array_equal(S, S.T):
        raise ValueError(
            f"{where} must be symmetric, with ones on the diagonal: each category is like itself. "
            "Try (S + S.T) / 2, and division by the roots of its diagonal on both sides."
        )
    lowest = float(np.linalg.eigvalsh(S)[0])
    if lowest < -_ROUNDING * n_categories:
        raise ValueError(
            f"{where} must be positive semidefinite, but their lowest eigenvalue is {lowest:.3g}: "
            "two categories that are both like a third are too little alike. Lower the entries "
            "off the diagonal, or use 'ordered'."
        )
    return S


def _outside(S: FloatArray) -> float:
    wrong = S[~((S >= 0) & (S <= 1))]
    return float(wrong[0])


def shares_that_differ(prior: Prior, similarities: Similarities | None) -> list[float]:
    """Return, by column, ``1 - p'Sp`` for the frequencies ``p`` of the whole table.

    Where no similarities are given, that is the probability that two rows differ.
    """
    matrices = similarities or (None,) * len(prior.probabilities)
    found = []
    for table, S in zip(prior.probabilities, matrices, strict=True):
        share = prior.weights @ table
        found.append(1.0 - float(share @ share if S is None else share @ S @ share))
    return found
