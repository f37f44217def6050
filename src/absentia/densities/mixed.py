"""A mixture for tables of numbers and categories: latent classes with a Gaussian in each."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from absentia.densities.base import open_table_or_stream
from absentia.densities.mixture import MixtureDensity
from absentia.densities.training_rows import LOG_ROOT_2_PI, Categories
from absentia.missingness import Patterns
from absentia.parameters import IntVector, Rule, declared, number_between
from absentia.tables import FloatArray, IntArray, Table, TableLike
from absentia.tables.category_columns import codes_of_values, find_columns
from absentia.tables.streams import Stream


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
    _rules: ClassVar[dict[str, Rule]] = {
        "smoothing": number_between(1e-6, expected="a number of rows of at least 1e-6"),
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
        out = np.empty((*numbers.shape[:-1], len(self.columns_)))
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
