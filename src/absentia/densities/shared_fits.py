"""One fit per density and rows, where several models are tried on the same rows.

The members of an automatic machine learn from the same folds, and most of them begin with the same
density; on wide tables fitting it takes longer than the rest of a member. Inside a block of
:func:`shared_fits`, :func:`~absentia.densities.believing.fit_density` fits an equal density to
equal rows once, and returns copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from typing import TypeGuard

import joblib
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from absentia.tables import Rows, Table

__all__ = ["fitted_once", "shared_fits"]

_fits: ContextVar[dict[str, BaseEstimator] | None] = ContextVar("fits", default=None)


@contextmanager
def shared_fits() -> Iterator[dict[str, BaseEstimator]]:
    """Share fits of densities inside this block; a block inside another shares with it.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.densities.believing import fit_density
    >>> from absentia.densities.shared_fits import shared_fits
    >>> from absentia.tables import Table
    >>> rows = Table.of([[0.0, 1.0], [1.0, np.nan], [2.0, 4.0]])
    >>> with shared_fits() as fits:
    ...     first, second = fit_density("gaussian", rows), fit_density("gaussian", rows)
    >>> len(fits), bool((first.mean_ == second.mean_).all())
    (1, True)
    """
    outer = _fits.get()
    if outer is not None:
        yield outer
        return
    token = _fits.set({})
    try:
        inner = _fits.get()
        assert inner is not None
        yield inner
    finally:
        _fits.reset(token)


def fitted_once(
    density: BaseEstimator,
    rows: Rows,
    sample_weight: ArrayLike | None,
    fit: Callable[[], BaseEstimator],
) -> BaseEstimator:
    """Return a density as ``fit()`` returns it, or one that was fitted to the same in this block.

    Rows are the same when their numbers are; tables with names, limits or categories are not
    compared, and neither are streams.

    Parameters
    ----------
    density : density estimator
        Not fitted.
    rows : Table or Stream
    sample_weight : array-like of shape (n_samples,), optional
    fit : callable
    """
    fits = _fits.get()
    if fits is None or not _is_plain(rows):
        return fit()
    key = joblib.hash((type(density), density.get_params(), rows.array, sample_weight))
    if key not in fits:
        fits[key] = fit()
    # A copy of its arrays, too: whoever writes to those of one model leaves the others as they are.
    return deepcopy(fits[key])


def _is_plain(rows: Rows) -> TypeGuard[Table]:
    return isinstance(rows, Table) and not (
        rows.category_columns
        or any(part is not None for part in (rows.frame, rows.names, rows.lower, rows.plan))
    )
