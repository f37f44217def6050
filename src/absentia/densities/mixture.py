"""Mixtures for incomplete tables: of Gaussians, and of numbers and categories."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

import absentia.parameters as rules
from absentia.beliefs import Prior
from absentia.beliefs.conditioning import log_normalised
from absentia.densities.base import open_table_or_stream
from absentia.densities.em.ascent import Ascent
from absentia.densities.em.streamed_rows import StreamedRows
from absentia.densities.gaussian import EMDensity
from absentia.densities.mixture_search import MixtureSearch
from absentia.densities.training_rows import LOG_ROOT_2_PI, Categories, TrainingRows
from absentia.missingness import Patterns
from absentia.parameters import (
    FloatMatrix,
    FloatStack,
    FloatVector,
    IntVector,
    RandomState,
    declared,
)
from absentia.tables import FloatArray, IntArray, Learned, Table, TableLike
from absentia.tables.streams import Stream
from absentia.tables.table import codes_of_values, find_columns


@declared
class MixtureDensity(EMDensity):
    """A mixture of Gaussians, learned from incomplete rows.

    ``p(x) = sum_c weights[c] N(x | means[c], covariances[c])``, Eq. (1) of [Williams2005]_, fitted
    by EM to what was observed. Use it on its own to cluster and to score incomplete rows, or
    as the density of a machine where one Gaussian is too simple.

    Each covariance is regularised by a conjugate penalty, so that the objective never falls and
    no component can collapse onto a few rows: a component of total weight ``N`` and scatter ``C``
    has the covariance ``(N C + Q) / (N + q)`` with

        Q = v (n lam / (1 - lam) / k I + pooling S) + reg_covar n / k I

    in units of the columns' standard deviations, where ``S`` is the covariance of one Gaussian
    for all rows, ``v = k^(-2/d)`` gives each component its share of the volume, and
    ``q = n lam / (1 - lam) / k + pooling``. A mixture of one is :class:`GaussianDensity`. With
    ``shrinkage=0, pooling=0, reg_covar=0`` it is plain maximum likelihood, whose likelihood is
    unbounded.

    Parameters
    ----------
    n_components : int or "bic", default=2
        "bic" tries 1, 2, ... up to ``max_components`` and keeps the lowest :meth:`bic`; it stops
        early when two consecutive additions have not lowered it.
    max_components : int, default=10
        Used with ``n_components="bic"`` only.
    shrinkage : "auto" or float from 0 to 1, default="auto"
        ``lam``, as in :class:`GaussianDensity`.
    pooling : "auto" or float, default="auto"
        How many rows the covariance of all rows together counts as in each component; "auto" is
        ``d + 2``.
    reg_covar : float, default=1e-6
        Added to each variance, relative to that of the column.
    n_init : int, default=5
        The number of starts. Each is given some steps of EM, and the best of them goes on.
    init : "kmeans" or Prior, default="kmeans"
        "kmeans" starts from clusters of rows completed by one Gaussian; a ``Prior`` in the table's
        units is the start itself.
    tol : float, default=1e-5
        Stop when a step changes no root of a weight, no mean and no entry of a covariance's
        Cholesky factor by more than this, in units of the columns' standard deviations, nor by
        more than a hundred times this in units of what a covariance leaves of a column.
    margins : "auto", "normal-scores" or None, default=None
        As in :class:`GaussianDensity`; then ``init`` is in scores, too.
    random_state : int, RandomState instance or None, default=None
    max_iter, accelerate, n_jobs, verbose
        As in :class:`GaussianDensity`.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components_,)
        In falling order, unless ``init`` is a Prior.
    means_ : ndarray of shape (n_components_, len(columns_))
    covariances_ : ndarray of shape (n_components_, len(columns_), len(columns_))
    prior_ : Prior
        All three, as the value that beliefs and kernels work with. In scores, where there are
        margins.
    n_components_ : int
    bics_ : ndarray
        The criterion for each number of components tried.
    log_likelihoods_ : ndarray of shape (n_iter_,)
        The objective (log-likelihood less penalty, in the table's units) after each step of the
        start that was kept; it never falls, and its rounding error is that of
        :class:`GaussianDensity`.
    margins_, columns_, shrinkage_, n_iter_, converged_, n_features_in_, feature_names_in_
        As in :class:`GaussianDensity`.

    Notes
    -----
    A step costs O(k d^2) per row and O(k min(missing, observed)^3) per pattern.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import MixtureDensity
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(6, 1, (200, 2))])
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> density = MixtureDensity(n_components="bic", random_state=0).fit(X)
    >>> density.n_components_
    2
    >>> same = density.predict([[0.0, np.nan], [np.nan, 0.0], [np.nan, 6.0]])
    >>> bool(same[0] == same[1] != same[2])
    True
    """

    weights_: FloatVector = field(init=False)
    means_: FloatMatrix = field(init=False)
    covariances_: FloatStack = field(init=False)
    name = "mixture"
    _rules: ClassVar[dict[str, rules.Rule]] = {
        "n_components": rules.COUNT | rules.words("bic"),
        "max_components": rules.COUNT,
        "n_init": rules.COUNT,
        "pooling": rules.words("auto")
        | rules.number_between(0, 1e100, expected="a number of rows from 0 to 1e100"),
        "init": rules.words("kmeans")
        | rules.Rule(("a Prior",), lambda init: isinstance(init, Prior)),
    }

    n_components_: int = field(init=False)
    bics_: FloatVector = field(init=False)

    n_components: int | Literal["bic"] = field(default=2, kw_only=False)
    max_components: int = 10
    pooling: float | Literal["auto"] = "auto"
    n_init: int = 5
    init: Literal["kmeans"] | Prior = "kmeans"
    random_state: RandomState = None
    n_jobs: int | None = None

    def _climb(self, training: TrainingRows | StreamedRows) -> tuple[Learned, Ascent, float]:
        if isinstance(self.init, Prior):
            rules.require(
                self.init.n_components == self.n_components,
                f"init has {self.init.n_components} components, but n_components is "
                f"{self.n_components!r}.",
            )
        search = MixtureSearch(training, self)
        if self.n_components == "bic":
            best, bics = search.best_by_bic(self.max_components)
        else:
            best = search.fit(int(self.n_components))
            bics = np.array([best.bic])
        prior = training.scaling.backward(best.prior)
        learned = {
            "prior_": prior,
            "weights_": prior.weights,
            "means_": prior.means,
            "covariances_": prior.covariances,
            "n_components_": prior.n_components,
            "bics_": bics,
        }
        return learned, best.ascent, search.shrinkage

    def fit_predict(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> IntArray:
        """Fit the mixture and return the likeliest component of each row."""
        rows = open_table_or_stream(X)
        return self.fit(rows, sample_weight=sample_weight).predict(rows)

    def predict(self, X: TableLike) -> IntArray:
        """Return the likeliest component of each row, given what was observed of it."""
        return self._log_joint(X).argmax(axis=1)

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return the probabilities of the components, shape (n_samples, n_components_).

        Given what was observed of a row; one with nothing observed has ``weights_``.
        """
        return np.exp(log_normalised(self._log_joint(X))[0])


def _are_columns(value: Any) -> bool:
    columns = list(value) if np.iterable(value) and not isinstance(value, str) else [-1]
    return all(isinstance(column, str) or rules.COUNT_OR_ZERO.admits(column) for column in columns)


@declared
class MixedDensity(MixtureDensity):
    """A mixture for tables of numbers and categories, learned from incomplete rows.

    Each component is a Gaussian on the numbers and, independently, a distribution on each column
    of categories (a latent class model):

        p(x, z) = sum_c weights[c] N(x | means[c], covariances[c]) prod_j probabilities[j][c, z_j]

    fitted by EM to the observed values of either kind. Of missing values nothing is filled in: a
    missing category has, in each component, the probabilities of the component. Dependence between
    columns of categories, and between categories and numbers, is what the components are for; with
    one component there is none.

    The Gaussians are regularised as in :class:`MixtureDensity`, which this is for a table without
    categories. Probabilities have a Dirichlet penalty: a component of total weight ``N``, in which
    a category has weight ``N_z``, gives it ``(N_z + smoothing f_z) / (N + smoothing)`` with ``f_z``
    its frequency in the whole table, so that no category is impossible anywhere.

    Parameters
    ----------
    n_components : int or "bic", default="bic"
        "bic" tries 1, 2, ... up to ``max_components`` and keeps the lowest :meth:`bic`; it stops
        early when two more components in a row have brought nothing.
    categories : "auto" or list of int or str, default="auto"
        Which columns hold categories; their different values are the categories. "auto" are the
        columns of words of a frame; in arrays of numbers there are none. A list adds to these.
        Ordered categories of a frame, and counts of few values, are numbers by default, which
        keeps their order and needs few parameters; name them here to have them as categories.
    smoothing : float, default=1.0
        For how many rows the frequencies of the whole table count in each component.
    max_components, shrinkage, pooling, reg_covar, n_init, init, max_iter, tol, accelerate, \
margins, random_state, n_jobs, verbose
        As in :class:`MixtureDensity`.

    Attributes
    ----------
    prior_ : Prior
        Weights, means, covariances and probabilities of the components.
    probabilities_ : list of ndarray of shape (n_components_, n_categories)
        One per column of categories.
    categories_ : list of ndarray
        The categories of these columns: their values in the table.
    number_columns_, category_columns_ : ndarray of int
        Which columns of the table are numbers and which are categories.
    columns_ : ndarray of int
        Both together, in the order of the table.
    weights_, means_, covariances_, n_components_, shrinkage_, bics_, log_likelihoods_, n_iter_, \
converged_, n_features_in_, feature_names_in_
        As in :class:`MixtureDensity`.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import MixedDensity
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(2, size=400)
    >>> X = np.column_stack([rng.normal(6.0 * kind), kind])
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> density = MixedDensity(categories=[1], random_state=0).fit(X)
    >>> density.n_components_
    2
    >>> beliefs = density.condition([[6.0, np.nan], [np.nan, 0.0]])
    >>> beliefs.probabilities(0).round(2)
    array([[0., 1.],
           [1., 0.]])
    >>> bool(abs(beliefs.mean()[1, 0]) < 0.5)
    True
    """

    name = "mixed"
    _rules: ClassVar[dict[str, rules.Rule]] = {
        "categories": rules.words("auto")
        | rules.Rule(("a list of names and numbers of columns",), _are_columns),
        "smoothing": rules.number_between(1e-6, expected="a number of rows of at least 1e-6"),
    }

    categories_: list[np.ndarray] = field(init=False)
    number_columns_: IntVector = field(init=False)
    category_columns_: IntVector = field(init=False)

    #: Takes tables whose columns of words are codes of categories.
    takes_categories = True

    n_components: int | Literal["bic"] = field(default="bic", kw_only=False)
    categories: Any = "auto"
    smoothing: float = 1.0

    def _training_table(self, X: TableLike, sample_weight: ArrayLike | None) -> Table | Stream:
        return open_table_or_stream(X, sample_weight, words="codes")

    def _categories(self, rows: Table | Stream, sample_weight: ArrayLike | None) -> Categories:
        return Categories.of(rows, find_columns(self.categories, rows), sample_weight)

    @property
    def probabilities_(self) -> list[FloatArray]:
        """One array of shape (n_components_, n_categories) per column of categories."""
        return list(self.prior_.probabilities)

    def _in_order(self, numbers: FloatArray, codes: IntArray | None) -> FloatArray:
        if codes is None:
            return numbers
        out = np.full((*numbers.shape[:-1], len(self.columns_)), np.nan)
        places = np.searchsorted(self.columns_, self.number_columns_)
        out[..., places] = numbers[..., : len(places)]
        for at, place in enumerate(np.searchsorted(self.columns_, self.category_columns_)):
            out[..., place] = self.categories_[at][codes[..., at]]
        return out

    def _known_columns(self, rows: Table) -> tuple[FloatArray, Patterns, IntArray | None]:
        codes = None
        if len(self.category_columns_):
            codes = codes_of_values(rows.array[:, self.category_columns_], self.categories_)
        if not len(self.number_columns_):
            nothing = np.zeros((len(rows), 1))
            return nothing, Patterns.of_mask(np.isnan(nothing)), codes
        return (
            rows.array[:, self.number_columns_],
            Patterns.of(rows).of_columns(self.number_columns_),
            codes,
        )

    def _number_columns(self) -> IntArray:
        return self.number_columns_

    def _log_joint(self, X: TableLike) -> FloatArray:
        # Without numbers one that is always zero stands for them, see TrainingRows.
        return super()._log_joint(X) + (0.0 if len(self.number_columns_) else LOG_ROOT_2_PI)
