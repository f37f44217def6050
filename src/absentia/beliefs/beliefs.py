"""Beliefs: every row of a table as the distribution of what it could have been.

A complete row is a point. An incomplete row is the density of the data conditioned on what was
observed: a Gaussian, or a mixture of Gaussians, on the missing columns. Rows with known
measurement error are the same kind of thing (:meth:`Beliefs.from_moments`), so every kernel and
every machine handles both alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.base import BaseEstimator

from absentia.beliefs import row_moments
from absentia.beliefs.construction import (
    check_columns,
    check_parts,
    joined,
    mapped,
    moments_by_row,
    selected,
)
from absentia.beliefs.covariances import CovarianceTable
from absentia.beliefs.display import ShownBeliefs, draw_row
from absentia.beliefs.limits import limited
from absentia.beliefs.prior import Prior, row_probabilities
from absentia.beliefs.row_moments import sampled
from absentia.missingness import Patterns
from absentia.parameters import RandomState
from absentia.tables import BoolArray, FloatArray, IntArray, RowIndex
from absentia.tables.normal_scores import Margins
from absentia.tables.stored import Stored, assume_valid, frozen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Beliefs"]


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs(Stored, ShownBeliefs):
    """An array of distributions, one per row of a table.

    Row ``i`` is the mixture ``sum_c exp(log_weights[i, c]) N(means[i, c], S[group_of_row[i], c])``
    with ``S`` the covariance table, zero on every column that was observed. Make one with
    ``density.condition(X)`` or :meth:`from_moments`; the fields are for kernels.

    Attributes
    ----------
    log_weights : ndarray of shape (n_samples, n_components)
        Logarithms of the responsibilities of the components for each row.
    means : ndarray of shape (n_samples, n_components, n_features)
        Observed entries are the observed values, to the last bit, in every component.
    covariances : CovarianceTable
        One covariance for each group of rows and each component.
    group_of_row : ndarray of int, shape (n_samples,)
        Which row of the covariance table belongs to each row; the row's pattern, where the
        beliefs come from a density.
    patterns : Patterns
        Which columns are missing, all of them observed for beliefs from moments.
    prior : Prior
        The density that the rows were conditioned on; ``gamma="scale"`` and
        ``metric="mahalanobis"`` refer to its overall covariance.
    codes : ndarray of int, shape (n_samples, n_category_columns), or None
        The category of each row in columns of categories, -1 where it is missing; then a component
        has the prior's ``probabilities``. None for tables of numbers.
    margins : Margins or None
        How the numbers that these beliefs are about came from those of the table, where they are
        normal scores of these; :meth:`Density.impute` and draws for models go back by it.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianDensity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=500)
    >>> density = GaussianDensity().fit(X)
    >>> beliefs = density.condition([[1.0, np.nan], [1.0, 2.0]])
    >>> beliefs.mean().round(1)
    array([[1. , 0.9],
           [1. , 2. ]])
    >>> beliefs.covariance().round(1)[0]
    array([[0. , 0. ],
           [0. , 0.2]])
    """

    log_weights: FloatArray
    means: FloatArray
    covariances: CovarianceTable
    group_of_row: IntArray
    patterns: Patterns
    prior: Prior
    codes: IntArray | None = None
    margins: Margins | None = None

    def __post_init__(self) -> None:
        # Frozen to the last number: slices share memory with the whole.
        names = ["log_weights", "means", "group_of_row"]
        for name in names if self.codes is None else [*names, "codes"]:
            object.__setattr__(self, name, frozen(getattr(self, name).view()))

    def validate(self) -> None:
        """Raise ValueError unless all parts are consistent and about the same rows and columns.

        Compiled code looks up groups of rows in the tables, so every index is checked.
        """
        check_parts(self)

    @classmethod
    def from_moments(
        cls,
        means: ArrayLike,
        covariances: ArrayLike | None = None,
        *,
        variances: ArrayLike | None = None,
        prior: Prior | None = None,
    ) -> Beliefs:
        """Make beliefs from rows that were measured with known error.

        Parameters
        ----------
        means : array-like of shape (n_samples, n_features)
            What was measured.
        covariances : array-like, optional
            The covariance of the errors, of shape (n_samples, n_features, n_features) for one
            matrix per row, or (1, n_features, n_features) or (n_features, n_features) for one
            that all rows share. Variances are understood too, where their shape cannot be
            mistaken for that of a matrix.
        variances : array-like, optional
            Instead of ``covariances``, for independent errors: anything that broadcasts
            to (n_samples, n_features).
        prior : Prior, optional
            The density that ``gamma="scale"`` and ``metric="mahalanobis"`` refer to; by default
            the Gaussian of all rows together. Give new rows the ``prior`` of the training rows.

        Returns
        -------
        Beliefs
            With one component.

        Examples
        --------
        >>> from absentia import Beliefs
        >>> measured = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
        >>> Beliefs.from_moments(measured, [[0.1, 0.0], [0.0, 0.2]])
        Beliefs of 3 rows in 2 columns, 1 component, from moments
        >>> Beliefs.from_moments(measured, variances=0.1).covariance()[0]
        array([[0.1, 0. ],
               [0. , 0.1]])
        """
        centres, table, group_of_row, prior = moments_by_row(means, covariances, variances, prior)
        patterns = Patterns.of_mask(np.zeros(centres.shape, dtype=bool))
        log_weights = np.zeros((len(centres), 1))
        prior.ensure_valid()
        made = cls(log_weights, centres[:, None, :], table, group_of_row, patterns, prior)
        return assume_valid(made, prior)

    @classmethod
    def concatenate(cls, parts: Sequence[Beliefs]) -> Beliefs:
        """Join beliefs about rows of the same table, conditioned on the same density."""
        return joined(parts)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.means)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features), so that beliefs can stand where a table does."""
        return len(self), self.n_features

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.means.shape[2])

    @property
    def mask(self) -> BoolArray:
        """Which values are missing, shape (n_samples, n_features)."""
        return self.patterns.mask

    def checked(self, estimator: BaseEstimator) -> Beliefs:
        """Return the beliefs after checking their number of columns against training."""
        check_columns(self, estimator)
        self.ensure_valid()
        return self

    def require_numbers(self, user: str) -> None:
        """Raise ValueError where there are columns of categories, which ``user`` cannot take."""
        if self.codes is not None:
            raise ValueError(
                f"{user} works on numbers, but these beliefs have columns of categories. Make "
                "indicator columns of them: density='gaussian' or 'mixture' in a machine that is "
                "given a frame, or TableEncoder."
            )

    @property
    def n_components(self) -> int:
        """The number of components of each row's mixture."""
        return int(self.means.shape[1])

    def __getitem__(self, rows: RowIndex) -> Beliefs:
        """Return the beliefs about some rows; one integer gives beliefs of length one."""
        return selected(self, rows)

    def spread(self) -> FloatArray:
        """Return the standard deviation of each value, shape (n_samples, n_features).

        The root of the diagonal of :meth:`covariance`; zero where the value was observed.
        """
        return row_moments.spread_of(self)

    def plot(self, row: int, *, max_columns: int = 24) -> Figure:
        """Draw what a row could be: known values as points, missing ones as densities.

        Parameters
        ----------
        row : int
        max_columns : int, default=24
            The most columns to draw, missing ones first.

        Returns
        -------
        matplotlib.figure.Figure
            A panel per column, over the density of all rows in grey.
        """
        return draw_row(self, row, max_columns)

    def mean(self) -> FloatArray:
        """Return the mean of each row, shape (n_samples, n_features).

        ``sum_c weight[c] mean[c]``; observed entries come back to the last bit.
        """
        return row_moments.mean_of(self)

    def weights(self) -> FloatArray:
        """Return the weight of each component for each row, summing to one."""
        normaliser = logsumexp(self.log_weights, axis=1, keepdims=True)
        return np.exp(self.log_weights - normaliser)

    def probabilities(self, column: int) -> FloatArray:
        """Return how probable each category of a column is in each row.

        Parameters
        ----------
        column : int
            Which of the columns of categories, in their order: 0 is the first. Beliefs know no
            names.

        Returns
        -------
        ndarray of shape (n_samples, n_categories)
            One for a category that was observed.
        """
        n_columns = 0 if self.codes is None else self.codes.shape[1]
        if isinstance(column, bool) or not isinstance(column, int | np.integer):
            raise TypeError(
                f"column must be a number, 0 for the first of the {n_columns} columns of "
                f"categories, found {column!r}. Beliefs do not know the names of columns."
            )
        if self.codes is None or not 0 <= column < n_columns:
            raise IndexError(f"category column {column} of beliefs that have {n_columns}")
        return row_probabilities(self.prior, self.codes, self.weights(), column)

    @property
    def missing_patterns(self) -> Patterns:
        """Which values are missing, numbers first and categories after them."""
        if self.codes is None:
            return self.patterns
        return Patterns.of_mask(np.hstack([self.patterns.mask, self.codes < 0]))

    def covariance(self) -> FloatArray:
        """Return the covariance of each row, shape (n_samples, n_features, n_features).

        ``sum_c weight[c] (S[c] + (mean[c] - mean)(mean[c] - mean)')``: the spread within the
        components and between them.
        """
        return row_moments.covariance_of(self)

    def sample(self, size: int | None = None, random_state: RandomState = None) -> FloatArray:
        """Draw what the rows could have been.

        Parameters
        ----------
        size : int, optional
            How many tables to draw.
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        ndarray of shape (n_samples, n_features), or (size, n_samples, n_features)
            Observed entries are the same in every draw, to the last bit. Columns of categories
            come after those of numbers, and hold the codes of categories. Values with limits are
            drawn from the Gaussian that stands for the truncated one (:meth:`within`), so that some
            draws lie beyond a limit; clip them where that matters.
        """
        return sampled(self, size, random_state)

    def within(self, lower: ArrayLike, upper: ArrayLike) -> Beliefs:
        """Return the beliefs about the rows given limits on their missing numbers.

        A value below the limit of detection, a rounded one, or one beyond the end of a scale is not
        known and yet not anywhere. Its belief is the truncated Gaussian, replaced by the Gaussian
        of the same mean and covariance: exact moments for one such column of a row; those of
        several are approximated by expectation propagation. The variance of a value does not fall
        below about 1e-10 of that without its limits, however narrow an interval is: what is left
        then is rounding. Observed values are as they were.

        Parameters
        ----------
        lower, upper : array-like that broadcasts to (n_samples, n_features)
            ``-inf`` and ``inf`` where there is no limit; ``lower < upper``.

        Returns
        -------
        Beliefs

        Examples
        --------
        >>> import numpy as np
        >>> from absentia import GaussianDensity
        >>> X = np.random.default_rng(0).normal(size=(1000, 1))
        >>> belief = GaussianDensity().fit(X).condition([[np.nan]]).within(-np.inf, 0.0)
        >>> belief.mean().round(1), belief.spread().round(1)
        (array([[-0.8]]), array([[0.6]]))
        """
        return limited(self, lower, upper)

    def to_table_units(self, values: FloatArray) -> FloatArray:
        """Return numbers of the beliefs' columns in the units of the table.

        The same numbers, unless the density has margins (``margins="normal-scores"``). The last
        axis are the columns of numbers.
        """
        return values if self.margins is None else self.margins.backward(values)

    def in_units(self, units: FloatArray, origin: FloatArray | float = 0.0) -> Beliefs:
        """Return the beliefs about ``(x - origin) / units``, a unit per column."""
        prior = self.prior.kept_in_units(units, origin)
        covariances = self.covariances.in_units(units, prior)
        changed = replace(
            self,
            means=(self.means - origin) / units,
            covariances=covariances,
            prior=prior,
            margins=None,
        )
        if self.whole is not self:
            changed.__dict__["_cut"] = self.whole.in_units(units, origin), self.rows_of_whole
        return assume_valid(changed, self)

    def tile(self, rows: slice) -> Beliefs:
        """Return the beliefs about a range of rows that are one part of a computation over all.

        As slicing, but :attr:`whole` remembers all rows: what is decided by counting rows or
        patterns (which formula, compiled or not) is decided for all parts alike, so that results
        do not depend on where a computation was cut.
        """
        part = self[rows]
        start, stop, _ = rows.indices(len(self))
        part.__dict__["_cut"] = self, slice(start, stop)
        return part

    @property
    def whole(self) -> Beliefs:
        """The beliefs of which these are a :meth:`tile`; otherwise these."""
        cut: tuple[Beliefs, slice] | None = self.__dict__.get("_cut")
        return self if cut is None else cut[0]

    @property
    def rows_of_whole(self) -> slice:
        """Where these rows stand in :attr:`whole`."""
        cut: tuple[Beliefs, slice] | None = self.__dict__.get("_cut")
        return slice(0, len(self)) if cut is None else cut[1]

    def transform(self, A: ArrayLike, b: ArrayLike = 0.0) -> Beliefs:
        """Return the beliefs about ``A x + b``.

        After an affine map the missing part of a row is a general subspace, no longer a set of
        columns: Eq. (2) of [Smieja2018]_. The new beliefs keep the missing masks only where ``A``
        maps columns to columns one by one (it is diagonal); elsewhere no column counts as missing.

        Parameters
        ----------
        A : array-like of shape (n_new_features, n_features)
        b : array-like of shape (n_new_features,), default=0

        Returns
        -------
        Beliefs
        """
        return mapped(self, A, b)
