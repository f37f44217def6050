"""Base class of densities fitted by EM, with information criteria."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from absentia.densities.base import Density
from absentia.densities.em.ascent import Ascent
from absentia.densities.em.streamed_rows import StreamedRows
from absentia.densities.training_rows import ScoredRows, TrainingRows, warn_not_converged
from absentia.parameters import (
    COUNT,
    FLAG,
    NOT_NEGATIVE,
    THREADS,
    FloatVector,
    Rule,
    number_between,
    words,
)
from absentia.tables import Learned, Table, TableLike
from absentia.tables.streams import Stream

__all__ = ["EM_RULES", "EMDensity", "training_rows"]


#: Rules for the parameters that all densities fitted by EM have.
EM_RULES: dict[str, Rule] = {
    "shrinkage": words("auto") | number_between(0, 1, expected="a number from 0 (none) to 1"),
    "reg_covar": number_between(
        0,
        1e100,
        expected="a number from 0 to 1e100, relative to the variance of each column, such as 1e-6",
    ),
    "tol": NOT_NEGATIVE,
    "max_iter": COUNT,
    "margins": words("normal-scores", None),
    "n_jobs": THREADS,
    "verbose": FLAG,
}


def training_rows(
    rows: Table | Stream, sample_weight: ArrayLike | None
) -> TrainingRows | StreamedRows:
    """Return validated rows in standard units, in memory or elsewhere."""
    if isinstance(rows, Stream):
        return StreamedRows.of(rows)
    return TrainingRows.of(rows, sample_weight)


class EMDensity(Density):
    """Base class of the densities that EM fits to incomplete rows."""

    shrinkage_: float
    log_likelihoods_: FloatVector
    n_iter_: int
    converged_: bool

    @abstractmethod
    def _n_parameters(self) -> int:
        """Return the number of free parameters."""

    def _learned_by_em(
        self,
        training: TrainingRows | StreamedRows,
        scored: ScoredRows,
        ascent: Ascent,
        shrinkage: float,
    ) -> Learned:
        """Return the fitted attributes that all have, and warn where EM stopped early."""
        if not ascent.converged:
            warn_not_converged(self, len(ascent.objectives), ascent.residual)
        return {
            "margins_": scored.margins_of(training.columns),
            "columns_": training.columns,
            "shrinkage_": shrinkage,
            "log_likelihoods_": ascent.objectives + training.log_jacobian + scored.log_jacobian,
            "n_iter_": len(ascent.objectives),
            "converged_": ascent.converged,
        }

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
