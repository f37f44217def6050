"""Factor analysis for an incomplete table: a density for many columns and few rows."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from absentia.beliefs import LowRankPrior
from absentia.densities.em.ascent import Ascent
from absentia.densities.em.streamed_rows import StreamedRows
from absentia.densities.em_density import EMDensity
from absentia.densities.factor_search import FactorSearch
from absentia.densities.training_rows import TrainingRows
from absentia.parameters import (
    COUNT,
    FloatMatrix,
    FloatStack,
    FloatVector,
    IntVector,
    RandomState,
    Rule,
    declared,
    number_between,
    words,
)
from absentia.tables import Learned, Table, TableLike
from absentia.tables.streams import Stream


@declared
class LowRankDensity(EMDensity):
    """A few factors and independent noise, learned from incomplete rows.

    ``x = m + W z + e`` with ``q`` factors ``z ~ N(0, I)`` and noise ``e ~ N(0, diag(p))``: a
    Gaussian with covariance ``W W' + diag(p)`` (factor analysis), or a mixture of such. It has
    ``q + 2`` parameters per column where :class:`GaussianDensity` has ``(d + 3) / 2``, so that it
    can be learned from fewer rows than columns, and everything is computed with matrices of
    ``q x q``: EM, conditioning, and the Gram matrices of :class:`ExpectedRBF` and
    :class:`GenRBF`. The density to use on tables with a hundred columns and more.

    The objective is that of :class:`GaussianDensity`, maximised over such covariances by EM. Of
    values with limits (see :func:`absentia.bounded`) intervals count as their middle and the
    others as missing.

    Parameters
    ----------
    n_factors : int or "auto", default="auto"
        "auto" tries 1, 2, 3, 4, 6, 8, 11, 16, ... and keeps the number under which rows that were
        left out are likeliest, the least likely tenth of them aside: three folds, or one third of
        a table of more than 262 144 values. It stops when two consecutive numbers were no better.
        There are never more factors than columns.
    max_factors : int, default=32
        Used with ``n_factors="auto"`` only.
    n_components : int, default=1
        Components of a mixture, each with a mean, factors and noise of its own.
    shrinkage : "auto" or float from 0 to 1, default="auto"
        How far to shrink correlations, as in :class:`GaussianDensity`.
    pooling : "auto" or float, default="auto"
        For mixtures: how many rows with the covariance of all rows together count towards each
        component; "auto" is the number of factors and two.
    reg_covar : float, default=1e-6
        Added to each variance, relative to it, and the least share of a column that is noise.
    max_iter : int, default=200
        The largest number of steps of EM.
    tol : float, default=1e-3
        Stop when a step changes no mean, no loading and no root of a noise by more than this, in
        units of the columns' standard deviations, nor by more than a hundred times this in units
        of the noise of the column.
    random_state : int, RandomState instance or None, default=None
        Draws the folds of ``n_factors="auto"`` and the starts of a mixture. One component with a
        given number of factors needs none.
    accelerate, margins, verbose
        As in :class:`GaussianDensity`.

    Attributes
    ----------
    means_ : ndarray of shape (n_components, len(columns_))
    loadings_ : ndarray of shape (n_components, len(columns_), n_factors_)
        ``W``, determined up to a rotation of the factors.
    noises_ : ndarray of shape (n_components, len(columns_))
        ``p``.
    weights_ : ndarray of shape (n_components,)
    prior_ : LowRankPrior
        All of them, as the value that beliefs and kernels work with. In scores, where there are
        margins.
    n_factors_ : int
    tried_factors_ : ndarray of int
        The numbers of factors that were tried.
    held_out_ : ndarray
        For each of these, the mean log-likelihood of the rows that were left out, without the
        lowest tenth, in standard units; empty where ``n_factors`` is given.
    log_likelihoods_ : ndarray of shape (n_iter_,)
        The objective after each step, in the table's units; it never falls.
    margins_, columns_, shrinkage_, n_iter_, converged_, n_features_in_, feature_names_in_
        As in :class:`GaussianDensity`.

    Notes
    -----
    A step costs O(q^2) per row and column and O(q^3) per pattern: at 1500 rows, 600 columns and 20
    factors about a tenth of a second. The covariance is kept as a dense matrix beside the factors,
    for what needs it, so memory is O(d^2).

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LowRankDensity
    >>> rng = np.random.default_rng(0)
    >>> loadings = rng.normal(size=(100, 3))
    >>> X = rng.normal(size=(60, 3)) @ loadings.T + rng.normal(size=(60, 100))
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> density = LowRankDensity(random_state=0).fit(X)
    >>> density.n_factors_
    3
    """

    name = "low-rank"
    _rules: ClassVar[dict[str, Rule]] = {
        "n_factors": COUNT | words("auto"),
        "max_factors": COUNT,
        "n_components": COUNT,
        "pooling": words("auto") | number_between(0, expected="a non-negative number of rows"),
    }

    means_: FloatMatrix = field(init=False)
    loadings_: FloatStack = field(init=False)
    noises_: FloatMatrix = field(init=False)
    weights_: FloatVector = field(init=False)
    n_factors_: int = field(init=False)
    tried_factors_: IntVector = field(init=False)
    held_out_: FloatVector = field(init=False)

    n_factors: int | Literal["auto"] = field(default="auto", kw_only=False)
    max_factors: int = 32
    n_components: int = 1
    pooling: float | Literal["auto"] = "auto"
    max_iter: int = 200
    tol: float = 1e-3
    random_state: RandomState = None

    def _climb(self, training: TrainingRows | StreamedRows) -> tuple[Learned, Ascent, float]:
        search = FactorSearch(training, self)
        tried, held_out = np.empty(0, dtype=np.intp), np.empty(0)
        if self.n_factors == "auto":
            number, tried, held_out = search.best_number(self.max_factors)
        else:
            number = min(int(self.n_factors), max(1, len(training.columns)))
        fitted, ascent = search.fit(number)
        prior = fitted.scaled(training.scaling.scales, training.scaling.centres)
        learned = {
            "prior_": prior,
            "weights_": prior.weights,
            "means_": prior.means,
            "loadings_": prior.loadings,
            "noises_": prior.noises,
            "n_factors_": prior.n_factors,
            "tried_factors_": tried,
            "held_out_": held_out,
        }
        return learned, ascent, search.shrinkage

    def _training_table(self, X: TableLike, sample_weight: ArrayLike | None) -> Table | Stream:
        rows = super()._training_table(X, sample_weight)
        if not isinstance(rows, Table) or rows.lower is None:
            return rows
        warnings.warn(
            "LowRankDensity does not learn from limits: values with one limit, such as '<0.5', "
            "count as missing, and intervals as their midpoints. To use the limits, set "
            "density='gaussian'.",
            stacklevel=4,
        )
        return rows.without_limits()

    def _open(self, X: TableLike) -> Table | Stream:
        rows = super()._open(X)
        return rows.without_limits() if isinstance(rows, Table) else rows

    def _n_parameters(self) -> int:
        prior = self.prior_
        assert isinstance(prior, LowRankPrior)
        k, d, q = prior.loadings.shape
        rotations = min(q, d) * (min(q, d) - 1) // 2
        return k - 1 + k * (2 * d + d * min(q, d) - rotations)
