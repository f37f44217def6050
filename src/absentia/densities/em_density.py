"""Base class of densities fitted by EM, with information criteria."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from absentia.densities.base import Density, open_table_or_stream
from absentia.densities.em.ascent import Ascent, Steps, n_parameters
from absentia.densities.em.streamed_rows import StreamedRows
from absentia.densities.training_rows import (
    Categories,
    TrainingRows,
    scored_rows,
    warn_not_converged,
)
from absentia.engine.threads import one_blas_thread
from absentia.parameters import (
    COUNT,
    FLAG,
    NOT_NEGATIVE,
    THREADS,
    FloatVector,
    Rule,
    check_parameters,
    declared,
    number_between,
    words,
)
from absentia.progress import shows_progress
from absentia.tables import Learned, Table, TableLike, set_fitted
from absentia.tables.streams import Stream


@declared
class EMDensity(Density):
    """Base class of the densities that EM fits to incomplete rows."""

    _rules: ClassVar[dict[str, Rule]] = {
        "shrinkage": words("auto") | number_between(0, 1, expected="a number from 0 (none) to 1"),
        "reg_covar": number_between(
            0,
            1e100,
            expected="a number from 0 to 1e100, relative to the variance of each column, such as "
            "1e-6",
        ),
        "tol": NOT_NEGATIVE,
        "max_iter": COUNT,
        "margins": words("auto", "normal-scores", None),
        "n_jobs": THREADS,
        "verbose": FLAG,
    }

    shrinkage_: float = field(init=False)
    log_likelihoods_: FloatVector = field(init=False)
    n_iter_: int = field(init=False)
    converged_: bool = field(init=False)

    shrinkage: float | Literal["auto"] = "auto"
    reg_covar: float = 1e-6
    max_iter: int = 500
    tol: float = 1e-5
    accelerate: bool = True
    margins: Literal["auto", "normal-scores"] | None = None
    verbose: bool = False

    @property
    def _steps(self) -> Steps:
        return Steps(self.max_iter, self.tol, self.accelerate)

    @abstractmethod
    def _climb(self, training: TrainingRows | StreamedRows) -> tuple[Learned, Ascent, float]:
        """Return the fitted attributes of a class, the ascent of EM, and the shrinkage used."""

    def _n_parameters(self) -> int:
        """Return the number of free parameters."""
        return n_parameters(self.prior_, len(self._number_columns()))

    @shows_progress
    def fit(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the density to incomplete rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), Chunks, or Dask array or frame
            NaN, ``None`` or ``pd.NA`` where a value is missing. For out-of-core tables each step
            of EM is one pass over the rows, which stay where they are; starts and numbers of
            factors are chosen from 20 000 rows at random.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight two counts as two rows. Weights of chunks come with the chunks.

        Returns
        -------
        self
        """
        check_parameters(self)
        rows = self._training_table(X, sample_weight)
        words = self._categories(rows, sample_weight)
        scored, stretch, margins = scored_rows(rows, self.margins, sample_weight, words)
        training: TrainingRows | StreamedRows
        if isinstance(scored, Stream):
            training = StreamedRows.of(scored, words, stretch)
        else:
            training = TrainingRows.of(scored, sample_weight, words, stretch)
        with one_blas_thread():
            learned, ascent, shrinkage = self._climb(training)
        if not ascent.converged:
            warn_not_converged(self, len(ascent.objectives), ascent.residual)
        described = len(training.columns) > 0
        learned |= {
            "margins_": margins.of_columns(training.columns) if margins and described else None,
            "columns_": training.columns,
            "shrinkage_": shrinkage,
            "log_likelihoods_": ascent.objectives + training.log_jacobian,
            "n_iter_": len(ascent.objectives),
            "converged_": ascent.converged,
        }
        if words is not None:
            learned |= words.attributes(training.columns)
        set_fitted(self, rows, learned)
        return self

    def _training_table(self, X: TableLike, sample_weight: ArrayLike | None) -> Table | Stream:
        return open_table_or_stream(X, sample_weight, words="indicators")

    def _categories(
        self, rows: Table | Stream, sample_weight: ArrayLike | None
    ) -> Categories | None:
        """Return the columns of categories, None for a density of numbers."""
        return None

    def bic(self, X: TableLike) -> float:
        """Return the Bayesian information criterion on a table, the lower the better.

        ``p log(n) - 2 log-likelihood`` with ``p`` the number of free parameters and ``n`` the
        number of rows in which anything was observed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        float
        """
        rows = self._open(X)
        table = self._open_in_memory(rows)
        informed = (~table.mask[:, self.columns_]).any(axis=1)
        limits = table.limits_of(self.columns_)
        if limits is not None:
            informed |= np.isfinite(limits).any(axis=(0, 2))
        n_rows = max(1, int(informed.sum()))
        log_likelihood = float(self.score_samples(rows).sum())
        return self._n_parameters() * float(np.log(n_rows)) - 2 * log_likelihood

    def aic(self, X: TableLike) -> float:
        """Return Akaike's information criterion on a table, the lower the better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        float
            ``2 p - 2 log-likelihood`` with ``p`` the number of free parameters.
        """
        check_is_fitted(self)
        return 2 * self._n_parameters() - 2 * float(self.score_samples(X).sum())
