"""Base class of densities: condition, score, impute, draw and sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from absentia.beliefs import Beliefs, Prior
from absentia.beliefs.column_trials import completed, conditional_quantiles
from absentia.beliefs.conditioning import condition, joint_log_densities, log_normalised
from absentia.beliefs.display import draw_prior
from absentia.beliefs.limits import log_masses, measured
from absentia.beliefs.prior import likeliest_codes
from absentia.densities.associations import Correlated
from absentia.densities.row_pvalues import RowPValues
from absentia.missingness import Patterns
from absentia.parameters import COUNT, IntVector, RandomState
from absentia.tables import (
    FloatArray,
    IntArray,
    Table,
    TableLike,
    WordsAs,
    open_known,
    open_rows,
    plan_of,
    table_as,
)
from absentia.tables.column_plan import ShowsColumns
from absentia.tables.margins import Margins
from absentia.tables.reading import as_arrow, is_frame, native_frame
from absentia.tables.rows import TakesMissing
from absentia.tables.stored import assume_valid
from absentia.tables.streams import Stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Density(Correlated, RowPValues, DensityMixin, TakesMissing, ShowsColumns):
    """Base class of densities.

    A subclass supplies ``fit``, which sets ``prior_`` and ``columns_``; all other methods are
    derived from these two. With a ``name`` of its own, machines find it by ``density="name"``.
    """

    name: ClassVar[str]
    by_name: ClassVar[dict[str, type[Density]]] = {}

    prior_: Prior
    columns_: IntVector
    #: Curves between values and normal scores, where beliefs are about scores.
    margins_: Margins | None = None

    #: Accepts a table that has been read; third-party densities get arrays.
    takes_tables = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls):
            Density.by_name[cls.name] = cls

    def condition(self, X: TableLike) -> Beliefs:
        """Return the beliefs about rows: their distributions given the observed values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with any missing values, seen in training or not.

        Returns
        -------
        Beliefs
            Of the columns ``columns_``, which are all columns unless one was missing in every
            row of training. The cost is O(d^2) per row and O(min(missing, observed)^3) per
            pattern, times the number of components. With ``margins="normal-scores"`` they are
            about scores; see :meth:`impute`, :meth:`draw` and :meth:`quantiles`.
        """
        beliefs, limits = self._before_limits(self._open_in_memory(X))
        return beliefs if limits is None else beliefs.within(*limits)

    def _before_limits(self, rows: Table) -> tuple[Beliefs, tuple[FloatArray, FloatArray] | None]:
        """Return the beliefs given the observed values alone, and the limits of the rows."""
        names = self._names()
        table, patterns, codes, limits = self._scored_columns(rows)
        errors, known = rows.errors_of(self._number_columns()), table
        if errors is not None:
            table = np.where(errors > 0, np.nan, known)
            patterns = Patterns.of_mask(np.isnan(table))
        beliefs = condition(self.prior_, table, names, patterns, codes)[0]
        if errors is not None:
            if self.margins_ is not None:  # of scores, to first order
                errors = errors * self.margins_.slopes(rows.array[:, self._number_columns()])
            beliefs = measured(beliefs, known, np.nan_to_num(errors))
        if self.margins_ is not None:
            self.margins_.ensure_valid()
            beliefs = assume_valid(replace(beliefs, margins=self.margins_), beliefs, self.margins_)
        return beliefs.labelled(names), limits

    def impute(self, X: TableLike, *, as_numbers: bool = False) -> Any:
        """Return the rows with missing values replaced by their conditional means.

        The best prediction of each missing value by squared error; observed values are returned to
        the last bit. A missing word is the one whose indicator has the largest conditional mean.
        Kernels of beliefs do not need it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        as_numbers : bool, default=False
            Whether numbers of frames are floats: fractions of whole numbers and of booleans, and
            numbers that are written as text.

        Returns
        -------
        ndarray of shape (n_samples, len(columns_)), or a frame where ``X`` is one
            A frame of pandas or polars or a table of pyarrow comes back with all its columns in
            their order, their types, index and names; whole numbers are whole, and columns that the
            density does not use are as they were.
        """
        rows = self._open(X)
        if isinstance(rows, Stream):
            return rows.map_rows(partial(_of_rows, self.impute), len(self.columns_))
        return self._in_units([self._completed(rows)], X, as_numbers)[0]

    def _completed(self, rows: Table) -> FloatArray:
        """Return rows with their conditional means, in the order of ``columns_``."""
        beliefs, codes = self.condition(rows), None
        if beliefs.codes is not None:
            codes = likeliest_codes(beliefs.prior, beliefs.codes, beliefs.weights())
        known = self._known_columns(rows)[0]
        filled = completed(beliefs, known)
        if rows.errors is not None:  # a measured value is imputed by nothing else
            filled = np.where(np.isnan(known), filled, known)
        return self._in_order(filled, codes)

    def _in_order(self, numbers: FloatArray, codes: IntArray | None) -> FloatArray:
        """Return numbers, and the values of categories, in the order of ``columns_``."""
        return numbers

    def draw(
        self,
        X: TableLike,
        size: int | None = None,
        random_state: RandomState = None,
        *,
        as_numbers: bool = False,
    ) -> Any:
        """Draw completed rows, in the units of the table.

        The parameters of the density are taken as known: for estimates with standard errors such
        draws are improper, and :func:`absentia.multiple_imputations` draws the parameters as well.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        size : int, optional
            How many tables to draw.
        random_state : int, RandomState instance or None, default=None
        as_numbers : bool, default=False
            As for :meth:`impute`.

        Returns
        -------
        ndarray of shape (n_samples, len(columns_)), or (size, n_samples, len(columns_))
            A frame, as :meth:`impute` returns it, or a list of ``size`` of them, where ``X`` is one
            or training had columns of words. Observed values are the same in every draw, to the
            last bit. Values with limits are drawn as :meth:`Beliefs.sample` does, some of them
            beyond a limit.
        """
        rows = self._open_in_memory(X)
        filled = self._drawn(rows, size, random_state)
        if size is None:
            return self._in_units([filled], X, as_numbers)[0]
        plain = plan_of(self) is None and not is_frame(native_frame(X))
        return filled if plain else self._in_units(filled, X, as_numbers)

    def _drawn(self, rows: Table, size: int | None, random_state: RandomState) -> FloatArray:
        """Return completed rows at random, in the order of ``columns_``."""
        values, beliefs = self._known_columns(rows)[0], self.condition(rows)
        drawn, d = beliefs.sample(size, random_state), beliefs.n_features
        numbers = beliefs.to_table_units(drawn[..., :d])
        codes = None if beliefs.codes is None else drawn[..., d:].astype(np.intp)
        return self._in_order(np.where(np.isnan(values), numbers, values), codes)

    def _in_units(
        self,
        tables: Sequence[FloatArray] | FloatArray,
        given: TableLike | None = None,
        as_numbers: bool = False,
    ) -> list[Any]:
        """Return numbers as the kind of table that was given, with the user's own words."""
        frame = native_frame(given)
        plan = vars(self).get("plan_") if is_frame(frame) else plan_of(self)
        if plan is not None and len(tables):
            found = plan.restored(list(tables), self.columns_, frame, as_numbers=as_numbers)
        else:
            found = [table_as(frame, table, self.columns_, self._names()) for table in tables]
        return as_arrow(found, given)

    def quantiles(self, X: TableLike, levels: ArrayLike) -> FloatArray:
        """Return conditional quantiles of the missing numbers, in the units of the table.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        levels : array-like of shape (n_levels,)
            Between 0 and 1: ``[0.05, 0.95]`` for an interval that holds nine of ten values.

        Returns
        -------
        ndarray of shape (n_levels, n_samples, n_numbers)
            Of the columns of numbers among ``columns_``; observed values at every level. A value
            with limits stays within them: exactly where it is the only one of its row, by
            Gaussians of the moments that are left, cut off at the limits, where there are more.
            A missing value of a frame stays between the ends of its column's support.
        """
        rows = self._open_in_memory(X)
        found, columns = self._quantiles(rows, levels), self._number_columns()
        plan = vars(self).get("plan_") if is_frame(native_frame(X)) else plan_of(self)
        if plan is None:
            return found
        ends = np.array([(support.lower, support.upper) for support in plan.supports])[columns]
        inside = np.where(np.isnan(rows.array[:, columns]), np.clip(found, *ends.T), found)
        return inside * plan.scales[columns] + plan.centres[columns]

    def _quantiles(self, rows: Table, levels: ArrayLike) -> FloatArray:
        before, limits = self._before_limits(rows)
        beliefs = before if limits is None else before.within(*limits)
        known = self._known_columns(rows)[0]
        return conditional_quantiles(beliefs, known, levels, limits, before)

    def score_samples(self, X: TableLike) -> FloatArray:
        """Return the log-likelihood of the observed values of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Zero for a row with nothing observed. A value with limits counts with the probability
            of its limits (see :func:`absentia.bounded`). Rows that miss different columns are
            densities over different spaces; compare them with care.
        """
        rows = self._open(X)
        if isinstance(rows, Stream):
            return rows.map_rows(partial(_of_rows, self.score_samples), None)
        return log_normalised(self._log_joint(rows))[1]

    def score(self, X: TableLike, y: ArrayLike | None = None) -> float:
        """Return the average log-likelihood of the observed values of the rows."""
        return float(self.score_samples(X).mean())

    def sample(
        self,
        n_samples: int = 1,
        random_state: RandomState = None,
        *,
        missing: TableLike | None = None,
    ) -> Any:
        """Draw rows from the density: a synthetic table.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None
        missing : array-like or frame of shape (n_rows, n_features), optional
            Rows, such as those of training, whose missing patterns the drawn rows get: each that
            of a row at random, whatever its values. By default nothing is missing.

        Returns
        -------
        ndarray of shape (n_samples, len(columns_)), or pandas.DataFrame after training on a frame
            with columns of words
        """
        check_is_fitted(self)
        COUNT.check("n_samples", n_samples)
        rng = check_random_state(random_state)
        nothing = Table(np.full((n_samples, self.n_features_in_), np.nan), columns_checked=True)
        drawn = self._drawn(nothing, None, rng)
        if missing is not None:
            mask = self._open_in_memory(missing).mask[:, self.columns_]
            drawn = np.where(mask[rng.randint(len(mask), size=n_samples)], np.nan, drawn)
        return self._in_units([drawn])[0]

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the columns that beliefs and imputed rows have.

        ``input_features`` are names to use where training had none.
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.columns_]

    def plot(self, *, max_columns: int = 24) -> Figure:
        """Draw the density of the first columns, and its components where there are several.

        With ``margins="normal-scores"`` that of the scores.
        """
        check_is_fitted(self)
        names = self._names() or [f"x{j}" for j in self.columns_]
        return draw_prior(self.prior_, names, max_columns)

    def _open(self, X: TableLike) -> Table | Stream:
        """Return the rows, with their columns checked."""
        if "prior_" not in vars(self):  # quicker than scikit-learn's check, which follows
            check_is_fitted(self)
        rows = open_known(X, self) if plan_of(self, X) is not None else open_table_or_stream(X)
        assert isinstance(rows, Table | Stream)
        return rows.behind_plan().checked(self)

    def _known_columns(self, rows: Table) -> tuple[FloatArray, Patterns, IntArray | None]:
        """Return the known numbers of the rows, their missing patterns, and the categories."""
        patterns = Patterns.of(rows).of_columns(self.columns_)
        kept = len(self.columns_) == rows.n_features
        return rows.array if kept else rows.array[:, self.columns_], patterns, None

    def _number_columns(self) -> IntArray:
        """Return the columns of the table that are numbers in beliefs."""
        return self.columns_

    def _open_in_memory(self, X: TableLike) -> Table:
        rows = self._open(X)
        if isinstance(rows, Stream):
            raise ValueError(
                "Beliefs are held in memory, but this table is not. Condition it chunk by chunk, "
                "or use FourierFeatures, score_samples and impute, which accept it as it is."
            )
        return rows

    def _scored_columns(
        self, rows: Table
    ) -> tuple[FloatArray, Patterns, IntArray | None, tuple[FloatArray, FloatArray] | None]:
        """Return the numbers, patterns, categories and limits that beliefs are conditioned on."""
        table, patterns, codes = self._known_columns(rows)
        limits = rows.limits_of(self._number_columns())
        if self.margins_ is not None:
            table = self.margins_.forward(table)
            limits = None if limits is None else self.margins_.forward_limits(*limits)
        return table, patterns, codes, limits

    def _log_joint(self, X: TableLike) -> FloatArray:
        rows = self._open_in_memory(X)
        table, patterns, codes, limits = self._scored_columns(rows)
        if limits is None:
            found = joint_log_densities(self.prior_, table, self._names(), patterns, codes)
        else:
            beliefs, totals = condition(self.prior_, table, self._names(), patterns, codes)
            beliefs = beliefs.labelled(self._names())
            found = beliefs.log_weights + totals[:, None] + log_masses(beliefs, *limits)
        if self.margins_ is not None:
            found += self.margins_.log_slopes(self._known_columns(rows)[0])[:, None]
        return found

    def _names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names[self._number_columns()])


def open_table_or_stream(
    X: TableLike, sample_weight: ArrayLike | None = None, *, words: WordsAs = None
) -> Table | Stream:
    """Return rows for a density, or raise for beliefs."""
    rows = open_rows(X, None, sample_weight, words=words)
    if isinstance(rows, Table | Stream):
        return rows.behind_plan()
    raise TypeError(
        "Every value must be a number or missing, but X holds beliefs. A density is fitted to "
        "rows, not to beliefs: pass the rows themselves."
    )


def _of_rows(method: Callable[[Table], FloatArray], rows: FloatArray) -> FloatArray:
    """Call a method of a fitted density on rows that were checked; workers can be sent it."""
    return method(Table(rows, columns_checked=True))
