"""Rows of a table as mixtures of Gaussians: moments, selection, units and affine maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from absentia.beliefs.covariances import CovarianceTable
from absentia.beliefs.prior import Prior, row_probabilities
from absentia.engine.threads import bounded_slices
from absentia.missingness import Patterns
from absentia.tables import BoolArray, FloatArray, IntArray, MemoryRows, RowIndex
from absentia.tables.margins import Margins
from absentia.tables.stored import Stored, assume_valid, frozen


@dataclass(frozen=True, eq=False, repr=False)
class RowMixtures(Stored, MemoryRows):
    """Base class of beliefs: their parts, and what is computed from them."""

    log_weights: FloatArray
    means: FloatArray
    covariances: CovarianceTable
    group_of_row: IntArray
    patterns: Patterns
    prior: Prior
    codes: IntArray | None = None
    margins: Margins | None = None

    def __post_init__(self) -> None:
        # Arrays are read-only, because slices share memory with the whole.
        names = ["log_weights", "means", "group_of_row"]
        for name in names if self.codes is None else [*names, "codes"]:
            object.__setattr__(self, name, frozen(getattr(self, name).view()))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join beliefs about rows of the same table, conditioned on the same density."""
        if not parts:
            raise ValueError("Nothing to concatenate: give at least one Beliefs.")
        first = parts[0]
        if not all(part.prior.equals(first.prior) for part in parts):
            raise ValueError(
                "Beliefs can be joined only when they were conditioned on the same density; "
                "condition all rows with one fitted density first."
            )
        means = np.concatenate([part.means for part in parts])
        log_weights = np.concatenate([part.log_weights for part in parts])
        patterns = Patterns.of_mask(np.concatenate([part.patterns.mask for part in parts]))
        if all(part.covariances.is_conditioned for part in parts):
            table = CovarianceTable.conditioned(first.prior, patterns.masks)
            group_of_row = patterns.pattern_of_row
        else:
            table = CovarianceTable.of_matrices(
                np.concatenate([part.covariances.dense() for part in parts])
            )
            starts = np.cumsum([0] + [part.covariances.n_groups for part in parts[:-1]])
            group_of_row = np.concatenate(
                [part.group_of_row + start for part, start in zip(parts, starts, strict=True)]
            )
        codes = None
        if first.codes is not None:
            codes = np.concatenate([part.codes for part in parts if part.codes is not None])
        whole = replace(
            first,
            log_weights=log_weights,
            means=means,
            covariances=table,
            group_of_row=group_of_row,
            patterns=patterns,
            codes=codes,
        )
        return assume_valid(whole, *parts)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.means)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.means.shape[2])

    @property
    def n_components(self) -> int:
        """The number of components of each row's mixture."""
        return int(self.means.shape[1])

    @property
    def labels(self) -> list[str]:
        """Names of the columns: those that the density was fitted with, if any."""
        given: list[str] | None = self.__dict__.get("_labels")
        return super().labels if given is None else given

    def labelled(self, names: Sequence[str] | None) -> Self:
        """Set the names of columns for plots and frames, which model files do not store."""
        self.__dict__["_labels"] = None if names is None else [str(name) for name in names]
        return self

    @property
    def mask(self) -> BoolArray:
        """Mask of the missing values, shape (n_samples, n_features)."""
        return self.patterns.mask

    @property
    def missing_patterns(self) -> Patterns:
        """Patterns of the missing values, numbers first and categories after them."""
        if self.codes is None:
            return self.patterns
        return Patterns.of_mask(np.hstack([self.patterns.mask, self.codes < 0]))

    def __getitem__(self, rows: RowIndex) -> Self:
        """Return the beliefs about some rows; one integer gives beliefs of length one."""
        if isinstance(rows, int | np.integer):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"row {rows} of beliefs about {len(self)} rows")
            rows = slice(int(rows), int(rows) + 1 or None)
        patterns = self.patterns[rows]
        table, group_of_row = self.covariances.of_rows(self.group_of_row[rows], patterns)
        codes = None if self.codes is None else self.codes[rows]
        part = replace(
            self,
            log_weights=self.log_weights[rows],
            means=self.means[rows],
            covariances=table,
            group_of_row=group_of_row,
            patterns=patterns,
            codes=codes,
        )
        return assume_valid(part, self).labelled(self.__dict__.get("_labels"))

    def mean(self) -> FloatArray:
        """Return the mean of each row, shape (n_samples, n_features).

        ``sum_c weight[c] mean[c]``; observed entries come back to the last bit.
        """
        first = self.means[:, 0]
        if self.n_components == 1:
            return first.copy()
        # Relative to the first component: where all components agree (observed entries), the
        # differences vanish exactly, whatever the rounding of the weights.
        offsets = self.means - first[:, None]
        return first + np.einsum("ic,icj->ij", self.weights(), offsets)

    def weights(self) -> FloatArray:
        """Return the weight of each component for each row, summing to one."""
        normaliser = logsumexp(self.log_weights, axis=1, keepdims=True)
        return np.exp(self.log_weights - normaliser)

    def spread(self) -> FloatArray:
        """Return the standard deviation of each value, shape (n_samples, n_features).

        The root of the diagonal of :meth:`covariance`; zero where the value was observed.
        """
        variances = self.covariances.diagonals()[self.group_of_row]
        if self.n_components > 1:
            variances = variances + (self.means - self.mean()[:, None]) ** 2
        total = np.einsum("ic,icj->ij", self.weights(), variances)
        return np.sqrt(np.maximum(total, 0.0))

    def covariance(self) -> FloatArray:
        """Return the covariance of each row, shape (n_samples, n_features, n_features).

        ``sum_c weight[c] (S[c] + (mean[c] - mean)(mean[c] - mean)')``: the spread within the
        components and between them.
        """
        if self.n_components == 1:
            return self.covariances.dense()[self.group_of_row, 0]
        weights = self.weights()
        # With roots of the weights both factors are the same: symmetric to the last bit.
        offsets = np.sqrt(weights)[:, :, None] * (self.means - self.mean()[:, None])
        out = np.einsum("icj,icl->ijl", offsets, offsets)
        for part in bounded_slices(len(self), self.n_components * self.n_features**2):
            dense = self.covariances.dense(self.group_of_row[part])
            out[part] += np.einsum("ic,icjl->ijl", weights[part], dense)
        return out

    def probabilities(self, column: int) -> FloatArray:
        """Return the probability of each category of a column, by row.

        Parameters
        ----------
        column : int
            Position among the columns of categories: 0 is the first.

        Returns
        -------
        ndarray of shape (n_samples, n_categories)
            One for a category that was observed.
        """
        n_columns = 0 if self.codes is None else self.codes.shape[1]
        if isinstance(column, bool) or not isinstance(column, int | np.integer):
            raise TypeError(
                f"column must be a number, 0 for the first of the {n_columns} columns of "
                f"categories, found {column!r}."
            )
        if self.codes is None or not 0 <= column < n_columns:
            raise IndexError(f"category column {column} of beliefs that have {n_columns}")
        return row_probabilities(self.prior, self.codes, self.weights(), column)

    def to_table_units(self, values: FloatArray) -> FloatArray:
        """Return numbers of the beliefs' columns in the units of the table.

        The same numbers, unless the density has ``margins="normal-scores"``.
        """
        return values if self.margins is None else self.margins.backward(values)

    def in_units(self, units: FloatArray, origin: FloatArray | float = 0.0) -> Self:
        """Return the beliefs about ``(x - origin) / units``, a unit per column."""
        prior = self.prior.kept_in_units(units, origin)
        means, table = (self.means - origin) / units, self.covariances.in_units(units, prior)
        changed = replace(self, means=means, covariances=table, prior=prior, margins=None)
        if self.whole is not self:
            changed.__dict__["_cut"] = self.whole.in_units(units, origin), self.rows_of_whole
        return assume_valid(changed, self)

    def transform(self, A: ArrayLike, b: ArrayLike = 0.0) -> Self:
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
        A = np.array(A, dtype=np.float64, ndmin=2)
        if A.shape[1] != self.n_features:
            raise ValueError(
                f"A must have one column for each of the {self.n_features} features, found shape "
                f"{A.shape}."
            )
        b = np.asarray(b, dtype=np.float64)
        if b.shape not in ((), (1,), (A.shape[0],)):
            raise ValueError(
                f"b must be one number, or one for each of the {A.shape[0]} rows of A, found shape "
                f"{b.shape}."
            )
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            raise ValueError("A and b must be finite, found NaN or infinity.")
        b = np.broadcast_to(b, (A.shape[0],))
        prior = self.prior.transform(A, b)
        patterns, table = self.patterns, self.covariances
        diagonal = np.diagonal(A)
        if A.shape[0] == A.shape[1] and not np.count_nonzero(A - np.diag(diagonal)):
            means = self.means * diagonal + b
        else:
            means = self.means @ A.T + b
            patterns = Patterns.of_mask(np.zeros((len(self), A.shape[0]), dtype=bool))
        if patterns is self.patterns and table.is_conditioned and diagonal.all():
            # Scaled columns are conditioned as before: the covariances are those of the new prior.
            moved = CovarianceTable.conditioned(prior, patterns.masks)
        else:
            values = A @ table.dense() @ A.T
            moved = CovarianceTable.of_matrices(frozen((values + values.transpose(0, 1, 3, 2)) / 2))
        found = replace(
            self, means=means, covariances=moved, patterns=patterns, prior=prior, margins=None
        )
        return assume_valid(found, self)

    def tile(self, rows: slice) -> Self:
        """Return the beliefs about a range of rows, with :attr:`whole` set to all rows.

        Choices that count rows or patterns (which formula, compiled or not) are made for the whole,
        so that results do not depend on where a computation was cut.
        """
        part = self[rows]
        start, stop, _ = rows.indices(len(self))
        part.__dict__["_cut"] = self, slice(start, stop)
        return part

    @property
    def whole(self) -> Self:
        """The beliefs that this is a :meth:`tile` of, or itself."""
        return self.__dict__["_cut"][0] if "_cut" in self.__dict__ else self

    @property
    def rows_of_whole(self) -> slice:
        """The positions of these rows in :attr:`whole`."""
        return self.__dict__["_cut"][1] if "_cut" in self.__dict__ else slice(0, len(self))
