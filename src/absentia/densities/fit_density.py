"""Densities by name, fitted to rows of any kind, and the beliefs they give.

The densities of this library accept a table that has been read. A third-party density needs only
``fit(X)`` and ``condition(X)`` on arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import replace
from typing import Any, Protocol, Self, TypeGuard

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from absentia.beliefs import Beliefs, Prior
from absentia.densities.base import Density
from absentia.parameters import RandomState, shown
from absentia.tables import FloatArray, Rows, Table, TableLike, WordsAs


class DensityEstimator(Protocol):
    """Interface that a machine needs of a density; third-party densities may have it."""

    def fit(self, X: TableLike, y: None = None) -> Self:
        """Fit to rows; a parameter ``sample_weight`` is used where there is one."""

    def condition(self, X: TableLike) -> Beliefs:
        """Return the beliefs about rows."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the parameters, as scikit-learn has them."""

    def set_params(self, **params: object) -> Self:
        """Set parameters."""


#: The parameter ``density`` of an estimator.
DensityLike = str | DensityEstimator


def make_density(density: DensityLike, random_state: RandomState = None) -> DensityEstimator:
    """Return an unfitted density, by name or as a clone.

    ``random_state`` is for a density by name that draws at random; one that is given has its own.

    A density that is fitted already is kept as it is when passed as
    ``sklearn.frozen.FrozenEstimator(density)``.
    """
    known = ", ".join(repr(name) for name in Density.by_name)
    if isinstance(density, str):
        density = density.replace("_", "-")  # as in the names of kernels
        if density not in Density.by_name:
            raise ValueError(
                f"density must be one of {known} or a density estimator such as "
                f"GaussianDensity(), found {shown(density)}."
            )
        named = Density.by_name[density]()
        if "random_state" in named.get_params():  # by default fixed, so that fits can be repeated
            named.set_params(random_state=0 if random_state is None else random_state)
        return named
    if isinstance(density, type) or not (hasattr(density, "fit") and hasattr(density, "condition")):
        raise TypeError(
            f"density must be one of {known} or a density estimator with fit and condition, such "
            f"as GaussianDensity(), found {shown(density)}."
        )
    return clone(density)


_fits: ContextVar[dict[str, BaseEstimator] | None] = ContextVar("fits", default=None)


@contextmanager
def shared_fits() -> Iterator[dict[str, BaseEstimator]]:
    """Share fits of densities inside this block; a block inside another shares with it.

    The members of an automatic machine learn from the same folds, and most of them begin with the
    same density; on wide tables fitting it takes longer than the rest of a member. Inside the
    block, :func:`fit_density` fits an equal density to equal rows once, and returns copies.
    """
    outer = _fits.get()
    shared: dict[str, BaseEstimator] = {} if outer is None else outer
    token = _fits.set(shared)
    try:
        yield shared
    finally:
        _fits.reset(token)


def words_for(density: DensityLike) -> WordsAs:
    """Return the encoding of word columns: codes for densities of categories, else indicators."""
    named = make_density(density) if isinstance(density, str) else density
    return "codes" if getattr(named, "takes_categories", False) else "indicators"


def fit_density(
    density: DensityLike,
    rows: Rows,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
) -> BaseEstimator | None:
    """Return a fitted copy of a density, or None for beliefs.

    ``sample_weight`` is ignored where ``density.fit`` takes no weights; those of a stream come with
    it. In a block of :func:`shared_fits` an equal fit made earlier is copied. Rows are equal when
    their numbers are; tables with names, limits or categories are not compared, nor are streams.
    """
    if isinstance(rows, Beliefs):
        return None
    fitted = make_density(density, random_state)
    weights = {}
    if sample_weight is not None and has_fit_parameter(fitted, "sample_weight"):
        weights["sample_weight"] = _as_counts(sample_weight)
    fits = _fits.get()
    if fits is None or not _is_plain(rows):
        return fitted.fit(_as_taken(fitted, rows), None, **weights)
    key = joblib.hash((type(fitted), fitted.get_params(), rows.array, weights))
    if key not in fits:
        fits[key] = fitted.fit(_as_taken(fitted, rows), None, **weights)
    # The arrays are copied too, so that writing to those of one model leaves the others unchanged.
    return deepcopy(fits[key])


def _is_plain(rows: Rows) -> TypeGuard[Table]:
    return isinstance(rows, Table) and not (
        rows.category_columns
        or any(part is not None for part in (rows.frame, rows.names, rows.lower, rows.plan))
    )


def _as_counts(sample_weight: ArrayLike) -> ArrayLike:
    """Return weights in units of one row.

    Equal weights become one each: a solver may scale all of them by 0.01, but the density has
    seen as many rows as there are.
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
    """Return the prior of a fitted density, or that of beliefs."""
    return rows.prior if isinstance(rows, Beliefs) else density.prior_


def _as_taken(density: BaseEstimator, rows: Rows) -> Any:
    """Return rows in the form that a density accepts."""
    rows = rows.behind_plan()
    if getattr(density, "takes_tables", False) or not isinstance(rows, Table):
        return rows
    # Arrays, except for a density that was fitted elsewhere to a frame and knows its names.
    return rows.as_given() if hasattr(density, "feature_names_in_") else rows.array


def filled_within_limits(density: BaseEstimator, table: Table) -> Table:
    """Fill censored values with their conditional means, within the limits.

    What is missing without a limit stays missing; so does a limited value of a column that the
    density does not know.
    """
    limited = table.limited
    rows = np.flatnonzero(limited.any(axis=1))
    if not len(rows):
        return replace(table, lower=None, upper=None, _whole=None, _known={})
    some = table[rows]
    beliefs = believe(density, some)
    columns = getattr(density, "number_columns_", getattr(density, "columns_", None))
    columns = np.arange(table.n_features) if columns is None else np.asarray(columns)
    guesses = np.full(some.shape, np.nan)
    guesses[:, columns] = beliefs.to_table_units(beliefs.mean())[:, : len(columns)]
    guesses = np.clip(guesses, some.lower, some.upper)
    array = np.array(table.array)
    array[rows] = np.where(limited[rows], guesses, some.array)
    return replace(table, array=array, lower=None, upper=None, _whole=None, _known={})
