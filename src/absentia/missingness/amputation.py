"""Amputation: remove values from a table by a known mechanism, for experiments.

Five mechanisms, from completely at random to dependent on the removed values themselves:
:func:`mcar`, :func:`views`, :func:`mar`, :func:`mnar`, :func:`self_censoring`. Each takes a table
and the share of its observed values to remove, and returns a new table of the same kind.

The share is met to the nearest value (to the nearest group of columns by :func:`views`). Where a
mechanism says "remove with probability ``p(t)``", a value goes when its random draw is below
``p(t)``. With the draws held fixed there is one ``t`` for every value at which it goes, so the
``t`` that removes exactly the number asked for lies between two order statistics: what bisection
would converge to, without the search.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from absentia.parameters import FINITE, POSITIVE, SHARE, RandomState, shown
from absentia.tables import BoolArray, FloatArray, IntArray, TableLike, as_table, column_names
from absentia.tables.columns.guesses import read_columns
from absentia.tables.frames import without_cells
from absentia.tables.reading import as_arrow, as_frame, has_columns_of_words, is_frame, native_frame
from absentia.tables.rows import is_constant

__all__ = ["VisibleColumns", "mar", "mcar", "mnar", "self_censoring", "views"]


class VisibleColumns(NamedTuple):
    """Result of :func:`mnar`.

    Attributes
    ----------
    table : ndarray or frame of shape (n_samples, n_visible)
        The visible columns, with missing values.
    visible : ndarray of int, shape (n_visible,)
        Which columns of the original table these are, in ascending order.
    hidden : ndarray of int, shape (n_hidden,)
        The columns that decided what is missing, and that the table no longer has.
    """

    table: Any
    visible: IntArray
    hidden: IntArray


def mcar(X: TableLike, rate: float, *, random_state: RandomState = None) -> Any:
    """Remove values completely at random: every value is as likely to go as any other.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        It is not changed. Frames may hold words and dates. Values that are missing already stay
        missing.
    rate : float from 0 to 1
        The share of the observed values to remove, met to the nearest value.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    ndarray or frame of shape (n_samples, n_features)
        A new table with NaN where a value was removed; a pandas frame for a pandas frame, a
        polars frame (with nulls) for a polars frame, else an array.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.missingness.amputation import mcar
    >>> X = mcar(np.ones((100, 5)), rate=0.3, random_state=0)
    >>> float(np.isnan(X).mean())
    0.3
    """
    table = SourceTable.of(X)
    draws = check_random_state(random_state).random_sample(table.shape)
    return table.without(_first_to_go(draws, table.missing, rate))


def mar(X: TableLike, rate: float, *, power: float = 2, random_state: RandomState = None) -> Any:
    """Remove values near randomly drawn rows, one row per column: Eq. (26) of [Smieja2018]_.

    For each column ``j`` a row ``x_j`` is drawn, and the value of column ``j`` in row ``x`` is
    removed with probability::

        exp(-t |x - x_j|^2),   distance in the metric of the inverse sample covariance

    with ``t`` such that the rate is met. The row ``x_j`` itself keeps its column ``j``: its
    probability would be one for every ``t``. Other rows equal to it have that probability too, and
    lose the column first.

    Parameters
    ----------
    X, rate, random_state
        As in :func:`mcar`.
    power : float, default=2
        Power of the distance; 1 is the mechanism of [Struski2016]_.

    Returns
    -------
    ndarray or frame of shape (n_samples, n_features)
        As in :func:`mcar`.

    Notes
    -----
    The paper calls this mechanism missing at random. In the strict sense it is not quite, since
    the distance includes the value that is removed; with many columns that one value weighs
    little. Words take part in the distance by an indicator each. The cost is that of the
    covariance, O(n d^2).

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.missingness.amputation import mar
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> float(np.isnan(mar(X, rate=0.25, random_state=0)).mean())
    0.25
    """
    table = SourceTable.of(X)
    generator = check_random_state(random_state)
    POSITIVE.check("power", power)
    return table.without(
        _removed_near_anchors(table.filled(), table.missing, rate, generator, power)
    )


def mnar(X: TableLike, rate: float, *, random_state: RandomState = None) -> VisibleColumns:
    """Remove values for reasons that the table does not show: Eq. (27) of [Smieja2018]_.

    Half of the columns, drawn at random, are hidden (rounded down). The rest lose values as in
    :func:`mar`, but the distance is measured in the hidden columns alone, which are then left
    out: what is missing depends on what nobody can see.

    Parameters
    ----------
    X, random_state
        As in :func:`mcar`; a table of at least two columns.
    rate : float from 0 to 1
        The share of values to remove *from the visible columns*.

    Returns
    -------
    VisibleColumns
        A named tuple ``(table, visible, hidden)``: the visible columns, incomplete, and which
        columns of ``X`` were visible and hidden.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.missingness.amputation import mnar
    >>> X = np.random.default_rng(0).normal(size=(200, 6))
    >>> table, visible, hidden = mnar(X, rate=0.25, random_state=0)
    >>> table.shape, len(hidden)
    ((200, 3), 3)
    >>> float(np.isnan(table).mean())
    0.25
    """
    table = SourceTable.of(X)
    d = table.shape[1]
    if d < 2:
        raise ValueError(
            "mnar hides half of the columns, but X has only one; use self_censoring for a single "
            "column."
        )
    generator = check_random_state(random_state)
    order = generator.permutation(d)
    hidden, visible = np.sort(order[: d // 2]), np.sort(order[d // 2 :])
    reasons = table.filled()[:, np.isin(table.column_of, hidden)]
    removed = _removed_near_anchors(reasons, table.missing[:, visible], rate, generator)
    return VisibleColumns(table.without(removed, visible), visible, hidden)


def self_censoring(
    X: TableLike, rate: float, *, strength: float = 2.0, random_state: RandomState = None
) -> Any:
    """Remove values because of what they are: the larger a value, the likelier it goes.

    A value that lies ``z`` standard deviations above the mean of its column is removed with the
    probability ``1 / (1 + exp(-(strength z + t)))``, with ``t`` such that the rate is met. This
    is the hardest kind of absence, and a common one: incomes that are not disclosed, readings above
    the range of an instrument. No word is larger than another: columns of words lose values at
    random.

    Parameters
    ----------
    X, rate, random_state
        As in :func:`mcar`.
    strength : float, default=2.0
        By how much the log-odds grow per standard deviation: 0 is :func:`mcar`,
        large values cut the columns off at the top, negative values remove the small ones.

    Returns
    -------
    ndarray or frame of shape (n_samples, n_features)
        As in :func:`mcar`.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.missingness.amputation import self_censoring
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> holes = self_censoring(X, rate=0.3, random_state=0)
    >>> bool(np.nanmean(holes) < X.mean() - 0.3)
    True
    """
    table = SourceTable.of(X)
    FINITE.check("strength", strength)
    z = table.standard_scores()
    draws = check_random_state(random_state).logistic(size=table.shape)
    # draw < strength z + t happens with the probability above; -t is the order statistic.
    return table.without(_first_to_go(draws - strength * z, table.missing, rate))


def views(
    X: TableLike,
    rate: float,
    groups: Sequence[Sequence[Hashable]],
    *,
    keep_one: bool = False,
    random_state: RandomState = None,
) -> Any:
    """Remove whole groups of columns, as when some sensors were not deployed.

    Every row loses some of its views, drawn completely at random: the multi-view experiments of
    [Williams2005]_, Section 3.

    Parameters
    ----------
    X, random_state
        As in :func:`mcar`.
    rate : float from 0 to 1
        The share of values to remove, met to the nearest group.
    groups : sequence of sequences of columns
        The columns of each view, by position, or by name where ``X`` has names. No column may be
        in two views; columns in none are never removed.
    keep_one : bool, default=False
        Whether every row keeps at least one view.

    Returns
    -------
    ndarray or frame of shape (n_samples, n_features)
        As in :func:`mcar`.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.missingness.amputation import views
    >>> X = views(np.ones((4, 5)), 0.5, [[0, 1], [2, 3, 4]], keep_one=True, random_state=0)
    >>> np.isnan(X).astype(int)
    array([[1, 1, 0, 0, 0],
           [0, 0, 1, 1, 1],
           [0, 0, 1, 1, 1],
           [1, 1, 0, 0, 0]])
    """
    table = SourceTable.of(X)
    n, d = table.shape
    columns_of_view = _positions(groups, column_names(table.X, d))
    n_views = len(columns_of_view)
    generator = check_random_state(random_state)
    candidates = generator.permutation(n * n_views)
    if keep_one:
        kept = generator.randint(n_views, size=n)
        candidates = candidates[candidates % n_views != kept[candidates // n_views]]
    seen = np.column_stack(
        [(~table.missing[:, columns]).sum(axis=1) for columns in columns_of_view]
    )
    removed_so_far = np.concatenate([[0], np.cumsum(seen.ravel()[candidates])])
    wanted = _number_to_remove(rate, int((~table.missing).sum()), int(removed_so_far[-1]))
    chosen = candidates[: int(np.argmin(np.abs(removed_so_far - wanted)))]
    removed = np.zeros(table.shape, dtype=bool)
    for v, columns in enumerate(columns_of_view):
        rows = chosen[chosen % n_views == v] // n_views
        removed[np.ix_(rows, columns)] = True
    return table.without(removed)


@dataclass(frozen=True, eq=False)
class SourceTable:
    """The table that values are removed from, as the mechanisms see it.

    ``numbers`` has an indicator for each word of a column of words, ``column_of`` says which column
    of ``X`` each of them comes from, and ``words`` which columns of ``X`` are words, of which none
    is larger than another. ``missing`` has the shape of ``X``, which is in pandas for a
    ``given`` table of pyarrow.
    """

    X: Any
    numbers: FloatArray
    column_of: IntArray
    words: BoolArray
    missing: BoolArray
    given: Any

    @classmethod
    def of(cls, X: TableLike) -> SourceTable:
        given, X = X, native_frame(X)
        if not (is_frame(X) and has_columns_of_words(X)):
            table = as_table(X)
            d = table.shape[1]
            return cls(X, table, np.arange(d), np.zeros(d, dtype=bool), np.isnan(table), given)
        frame = as_frame(X)
        columns, readings = read_columns(frame)
        pairs = [(readings[name], column) for name, column in columns.items()]
        parts = [reading.values(column) for reading, column in pairs]
        return cls(
            X,
            np.hstack(parts),
            np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts]),
            np.array([reading.kind == "category" for reading, _ in pairs]),
            np.column_stack([reading.missing(column) for reading, column in pairs]),
            given,
        )

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.missing.shape
        return n, d

    def filled(self) -> FloatArray:
        """Return the numbers, the mean of their column where they are missing."""
        counts = np.maximum((~np.isnan(self.numbers)).sum(axis=0), 1)
        means = np.nansum(self.numbers, axis=0) / counts
        return np.where(np.isnan(self.numbers), means, self.numbers)

    def standard_scores(self) -> FloatArray:
        """Return how far each value lies above the mean of its column; zero for words."""
        z = np.zeros(self.shape)
        for values, j in zip(self.filled().T, self.column_of, strict=True):
            seen = values[~self.missing[:, j]]
            if len(seen) and not (self.words[j] or is_constant(seen)):
                z[:, j] = (values - seen.mean()) / (seen.std() or 1.0)
        return z

    def without(self, removed: BoolArray, columns: IntArray | None = None) -> Any:
        """Return the user's table without the given values, all of it or some of its columns."""
        columns = np.arange(self.shape[1]) if columns is None else columns
        if not is_frame(self.X):
            return np.where(removed, np.nan, self.numbers[:, columns])
        kept = self.X[[self.X.columns[j] for j in columns]]
        return as_arrow([without_cells(kept, removed)], self.given)[0]


def _number_to_remove(rate: float, size: int, at_most: int) -> int:
    SHARE.check("rate", rate)
    number = round(float(rate) * size)
    # Half a point of grace: a rate at the edge is met as well as any other.
    if number - at_most > 0.005 * size:
        raise ValueError(
            f"A rate of {float(rate):g} cannot be reached here: at most {at_most / size:.3f} of "
            "the values can be removed by this mechanism; choose a lower rate, or use mcar."
        )
    return min(number, at_most)


def _first_to_go(order: FloatArray, missing: BoolArray, rate: float, n_kept: int = 0) -> BoolArray:
    """Return the observed entries with the smallest order, but for ``n_kept`` that stay."""
    n_observed = int((~missing).sum())
    number = _number_to_remove(rate, n_observed, n_observed - n_kept)
    removed = np.zeros(order.size, dtype=bool)
    if number:
        order = np.where(missing, np.inf, order)
        removed[np.argpartition(order.ravel(), number - 1)[:number]] = True
    return removed.reshape(order.shape)


def _removed_near_anchors(
    reasons: FloatArray,
    missing: BoolArray,
    rate: float,
    generator: np.random.RandomState,
    power: float = 2,
) -> BoolArray:
    """Return which values go, by their distance from the row drawn for each column.

    With an exponential draw ``e`` (minus the logarithm of a uniform one), the value goes when
    ``uniform < exp(-t D)``, which is ``D / e < 1 / t``.
    """
    n, n_columns = missing.shape
    anchors = generator.choice(n, size=n_columns, replace=n < n_columns)
    whitened = _whitened(reasons)
    distances = cdist(whitened, whitened[anchors], "sqeuclidean")
    if power != 2:
        distances **= power / 2
    draws = np.maximum(generator.standard_exponential((n, n_columns)), np.finfo(float).tiny)
    # Duplicates of an anchor are at distance zero and would tie; their draws decide among them.
    order = np.maximum(distances, np.finfo(float).tiny) / draws
    own = anchors, np.arange(n_columns)
    order[own] = np.inf
    return _first_to_go(order, missing, rate, n_kept=int((~missing[own]).sum()))


def _whitened(table: FloatArray) -> FloatArray:
    """Return rows whose Euclidean distances are the Mahalanobis distances of the given rows.

    Directions in which the table does not vary are left out, so that constant and collinear
    columns do no harm.
    """
    centred = table - table.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    U, singular_values, _ = np.linalg.svd(
        centred / np.where(largest > 0, largest, 1.0), full_matrices=False
    )
    floor = singular_values[0] * max(table.shape) * np.finfo(float).eps
    return U[:, singular_values > floor] * np.sqrt(max(len(table) - 1, 1))


def _positions(groups: Sequence[Sequence[Hashable]], names: list[str]) -> list[IntArray]:
    """Turn the columns of each view, positions or names, into positions."""
    place: dict[Hashable, int] = {j: j % len(names) for j in range(-len(names), len(names))}
    place |= {name: j for j, name in enumerate(names)}
    groups = [groups] if isinstance(groups, str) or not isinstance(groups, Iterable) else groups
    found: list[IntArray] = []
    seen: set[int] = set()
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Sequence | np.ndarray) or not len(group):
            raise ValueError(
                "groups must be a list of lists of columns, each with at least one column, such as "
                f"[[0, 1], [2, 3]]; found {shown(group)}."
            )
        for column in group:
            if column not in place:
                raise ValueError(
                    f"A group names the column {column!r}, but the table has {len(names)} columns: "
                    f"{', '.join(names[:10])}{', ...' * (len(names) > 10)}."
                )
            if place[column] in seen:
                raise ValueError(
                    f"Column {names[place[column]]!r} is in the groups more than once; each column "
                    "belongs to one group or to none."
                )
            seen.add(place[column])
        found.append(np.array([place[column] for column in group]))
    if not found:
        raise ValueError("groups is empty: give the columns of at least one view.")
    return found
