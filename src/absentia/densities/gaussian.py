"""Densities fitted by EM: their base class, and one Gaussian for an incomplete table."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

import absentia.parameters as rules
from absentia.beliefs import Prior
from absentia.densities.base import Density, open_table_or_stream
from absentia.densities.em.ascent import (
    Ascent,
    MixtureCoordinates,
    Penalty,
    Steps,
    climb_or_refuse,
    n_parameters,
)
from absentia.densities.em.streamed_rows import StreamedRows
from absentia.densities.training_rows import (
    Categories,
    TrainingRows,
    scored_rows,
    warn_not_converged,
)
from absentia.engine.threads import one_blas_thread
from absentia.parameters import FloatMatrix, FloatVector, Rule, check_parameters, declared
from absentia.progress import shows_progress
from absentia.tables import Learned, Table, TableLike, set_fitted
from absentia.tables.streams import Stream


@declared
class EMDensity(Density):
    """Base class of the densities that EM fits to incomplete rows."""

    _rules: ClassVar[dict[str, Rule]] = {
        "shrinkage": rules.words("auto")
        | rules.number_between(0, 1, expected="a number from 0 (none) to 1"),
        "reg_covar": rules.number_between(
            0,
            1e100,
            expected="a number from 0 to 1e100, relative to the variance of each column, such as "
            "1e-6",
        ),
        "tol": rules.NOT_NEGATIVE,
        "margins": rules.words("auto", "normal-scores", None),
        "verbose": rules.FLAG,
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

        ``2 p - 2 log-likelihood`` with ``p`` the number of free parameters.
        """
        check_is_fitted(self)
        return 2 * self._n_parameters() - 2 * float(self.score_samples(X).sum())


@declared
class GaussianDensity(EMDensity):
    """A multivariate Gaussian, learned from incomplete rows.

    Mean ``m`` and covariance ``S`` maximise the penalised log-likelihood of what was observed,

        sum_i log N(x_i[O_i] | m[O_i], S[O_i,O_i])
          - n/2 (lam / (1 - lam) (log det S + tr(inv(S))) + reg_covar tr(inv(S)))

    written for columns in units of their own standard deviation, in which all is computed. It is
    maximised by EM, accelerated so that it takes far fewer steps. Each M-step is
    ``(1 - lam) (C + reg_covar I) + lam I`` with ``C`` the expected covariance of the completed
    rows: correlations are shrunk, and constant or collinear columns keep a little variance, all
    relative to the data's own scale. With ``shrinkage=0`` and ``reg_covar=0`` it is plain
    maximum likelihood. This is the density ``F`` of [Smieja2018]_, Section 3.

    Parameters
    ----------
    shrinkage : "auto" or float from 0 to 1, default="auto"
        ``lam``: how far to shrink the covariance towards that of independent columns. "auto"
        chooses what is expected to have the least squared error in the correlations, from how
        often each pair of columns was seen together; it vanishes as rows are added, and matters
        when rows are few for the number of columns.
    reg_covar : float, default=1e-6
        Added to each variance, relative to it.
    max_iter : int, default=500
        The largest number of steps of EM.
    tol : float, default=1e-5
        Stop when a step changes no mean and no entry of the Cholesky factor of the covariance by
        more than this, in units of the columns' standard deviations, nor by more than a hundred
        times this in units of what the covariance leaves of a column given the others.
    accelerate : bool, default=True
        Whether to extrapolate the steps of EM. The optimum is the same.
    margins : "auto", "normal-scores" or None, default=None
        "auto" fits the density to scores that respect the support of each column: normal scores of
        the logarithms of positive, skewed columns and of the logits of shares, levels for 0/1 and
        whole numbers of fewer than ten values, the numbers themselves otherwise. Values come back
        inside the support in :meth:`impute`, :meth:`draw`, :meth:`quantiles` and :meth:`sample`:
        positive numbers positive, whole numbers whole. ``margins_.kinds`` names the choice by
        column. "normal-scores" takes normal scores of all columns, by their ranks, as
        :class:`NormalScores` makes them: a Gaussian copula, for skewed columns and heavy tails;
        columns with fewer than ten different values are brought to mean zero and deviation one.
        Beliefs, and hence kernels, compare scores.
    n_jobs : int, optional
        Threads; by default as many as BLAS would use. Pays for tables of many patterns.
    verbose : bool, default=False
        Whether to print every tenth step of EM, and how it ended.

    Attributes
    ----------
    mean_ : ndarray of shape (len(columns_),)
    covariance_ : ndarray of shape (len(columns_), len(columns_))
    prior_ : Prior
        Both, as the value that beliefs and kernels work with. In scores, where there are margins.
    margins_ : Margins or None
        The curves from values to scores, one per column of ``columns_``.
    columns_ : ndarray of int
        The columns that were observed at least once, which the density describes.
    shrinkage_ : float
        The shrinkage used.
    log_likelihoods_ : ndarray of shape (n_iter_,)
        The objective above after each step (in the table's units). It never falls; its rounding
        error is about ``1e-15 prior_.inflation`` per row.
    n_iter_ : int
    converged_ : bool
        Whether steps became as small as ``tol`` asks, or so small that rounding hides the gain.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the table had names

    Notes
    -----
    A step costs O(d^3) per pattern with many rows, whatever their number, and O(d^2) per
    remaining row. A column without any observed value is left out, with a warning; a constant
    column gets a variance that is small beside its value.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianDensity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=1000)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> density = GaussianDensity().fit(X)
    >>> density.covariance_.round(1)
    array([[1. , 0.8],
           [0.8, 1. ]])
    >>> density.impute([[1.0, np.nan]]).round(1)
    array([[1. , 0.8]])

    Skewed columns: the conditional mean and interval of a value that is usually small.

    >>> skewed = GaussianDensity(margins="normal-scores").fit(np.exp(2 * X))
    >>> skewed.impute([[1.0, np.nan]]).round(1)
    array([[1. , 1.9]])
    >>> skewed.quantiles([[1.0, np.nan]], [0.1, 0.9])[:, 0, 1].round(1)
    array([0.2, 4.7])
    """

    name = "gaussian"

    mean_: FloatVector = field(init=False)
    covariance_: FloatMatrix = field(init=False)

    n_jobs: int | None = None

    def _climb(self, training: TrainingRows | StreamedRows) -> tuple[Learned, Ascent, float]:
        prior, ascent, shrinkage = fit_gaussian(
            training, self.shrinkage, float(self.reg_covar), self._steps, self.n_jobs
        )
        prior = training.scaling.backward(prior)
        learned = {"prior_": prior, "mean_": prior.means[0], "covariance_": prior.covariances[0]}
        return learned, ascent, shrinkage


def fit_gaussian(
    training: TrainingRows | StreamedRows,
    shrinkage: float | Literal["auto"],
    reg_covar: float,
    steps: Steps,
    n_jobs: int | None,
) -> tuple[Prior, Ascent, float]:
    """Fit one Gaussian in standard units; return it, its convergence, and the shrinkage used."""
    d = training.n_columns
    amount = training.automatic_shrinkage() if shrinkage == "auto" else float(shrinkage)
    start = Prior(np.ones(1), np.zeros((1, d)), np.eye(d)[None])
    expectation = training.expectation(sum_patterns=True, n_jobs=n_jobs)
    penalty = Penalty(
        strength=shrinkage_in_rows(amount, training.total_weight),
        target=np.eye(d),
        ridge=reg_covar * training.total_weight,
    )
    return *climb_or_refuse(expectation, penalty, MixtureCoordinates(d), start, steps), amount


def shrinkage_in_rows(amount: float, total_weight: float) -> float:
    """Return how many rows of independent columns a shrinkage stands for; 1 for infinitely many."""
    return np.inf if amount == 1 else total_weight * amount / (1 - amount)
