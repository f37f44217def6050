"""Similarity of categories in closed form, and how it multiplies kernels of numbers.

For categories ``x`` and ``y`` with probabilities ``p`` and ``q``, ``E exp(-w [x != y])`` is
``exp(-w) + (1 - exp(-w)) p'q``, with ``p'Sq`` for categories that have similarities ``S``: positive
semidefinite wherever ``S`` is. Given a pair of components the columns are independent, so that a
mixture has the product over columns, component pair by component pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from absentia.beliefs import Beliefs, Prior
from absentia.kernels.base import Kernel, numbers_per_column, with_params
from absentia.kernels.gram.tiles import symmetrised
from absentia.parameters import CATEGORY_WEIGHT, SIMILARITIES, Rule, declared, numbers, shown, words
from absentia.tables import FloatArray, IntArray

#: For each column of categories a matrix; None where different categories are not alike at all.
Similarities = tuple[FloatArray | None, ...]

# A matrix whose entries are rounded to six digits is positive semidefinite up to about this much.
_ROUNDING = 1e-6

# Categories that differ are then as good as orthogonal, and logarithms stay finite.
_LARGEST_WEIGHT = 300.0


@dataclass(frozen=True, eq=False)
class CategoryFactor:
    """The similarity of the categories of two sets of rows, by pair of components."""

    #: For each column the probabilities of both sides, (n_components, n_categories).
    tables: tuple[tuple[FloatArray, FloatArray], ...]
    left: IntArray  # (n, n_columns) codes of categories, -1 where missing
    right: IntArray  # (m, n_columns)
    weights: FloatArray  # (n_columns,)
    similarities: Similarities
    derived: int = -1  # a column whose factor is replaced by minus its derivative

    @classmethod
    def of(
        cls, P: Beliefs, Q: Beliefs | None, weight: object, similarities: Similarities | None = None
    ) -> CategoryFactor | None:
        """Return the factor of two sets of beliefs; None where they have no categories."""
        other = P if Q is None else Q
        if P.codes is None or other.codes is None:
            return None
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), (P.codes.shape[1],))
        tables = zip(P.prior.probabilities, other.prior.probabilities, strict=True)
        return cls(
            tuple(tables),
            P.codes,
            other.codes,
            np.minimum(weights, _LARGEST_WEIGHT),
            similarities or (None,) * len(weights),
        )

    def __call__(
        self,
        a: int,
        b: int,
        rows: IntArray | slice = slice(None),
        columns: IntArray | slice = slice(None),
    ) -> FloatArray:
        """Return the logarithms for components ``a`` and ``b``, of some rows and columns.

        Each column has one table over what the rows hold (a category, or nothing), looked up.
        """
        left, right = self.left[rows], self.right[columns]
        logs = np.zeros((len(left), len(right)))
        for j, (codes, others) in enumerate(zip(left.T, right.T, strict=True)):
            ours, row_of = np.unique(codes, return_inverse=True)
            theirs, column_of = np.unique(others, return_inverse=True)
            table = self._logs(j, self._agreement(j, a, b, ours, theirs))
            logs += np.take(table[row_of], column_of, axis=1)
        return np.minimum(logs, 0.0) if self.derived < 0 else logs

    def diag(self, a: int, b: int) -> FloatArray:
        """Return the logarithms for two independent draws of each row of the left side."""
        total = np.zeros(len(self.left))
        for j, codes in enumerate(self.left.T):
            # A category that was observed is certain, and equal to itself.
            agree = np.where(codes < 0, self._expected(j, a, b), 1.0)
            total += self._logs(j, agree)
        return total

    def by_weight(self, column: int) -> CategoryFactor:
        """Return a factor whose values are minus the derivatives by ``log weight`` of a column."""
        return replace(self, derived=column)

    def _expected(self, j: int, a: int, b: int) -> float:
        """Return how alike two missing categories of a column are, of components a and b."""
        ours, theirs = self.tables[j]
        S = self.similarities[j]
        return float(ours[a] @ theirs[b] if S is None else ours[a] @ S @ theirs[b])

    def _agreement(self, j: int, a: int, b: int, codes: IntArray, others: IntArray) -> FloatArray:
        """Return how alike the categories of a column are, for all pairs of some codes."""
        ours, theirs = self.tables[j]
        S = self.similarities[j]
        if S is None:
            agree = (codes[:, None] == others).astype(np.float64)
            mine, other = ours[a], theirs[b]
        else:
            agree = S[codes[:, None], others]
            mine, other = ours[a] @ S, S @ theirs[b]
        agree[codes < 0] = mine[others]
        agree[:, others < 0] = other[codes][:, None]
        agree[np.ix_(codes < 0, others < 0)] = self._expected(j, a, b)
        return agree

    def _logs(self, j: int, agree: FloatArray) -> FloatArray:
        """Return ``log(exp(-w) + (1 - exp(-w)) agree)``, where the share of agreement is given."""
        different = np.exp(-self.weights[j])
        if j == self.derived:
            # Certain agreement does not change with the weight: a logarithm of -700 is zero.
            change = self.weights[j] * different * np.maximum(1 - agree, 0.0)
            return np.asarray(np.log(np.maximum(change, 1e-304)))
        return np.asarray(np.log(different + (1 - different) * agree))


@declared
class CategoryKernel(Kernel):
    """Similarity of two rows in their columns of categories.

    ``E exp(-sum_j weight_j [x_j != y_j])`` for independent ``x ~ P`` and ``y ~ Q``, in closed form:
    given components, ``prod_j (exp(-w_j) + (1 - exp(-w_j)) p_j'q_j)`` with ``p_j`` and ``q_j`` the
    probabilities of the categories, a one where a category was observed. Numbers are ignored;
    :class:`~absentia.GenRBF` and :class:`~absentia.ExpectedRBF` compare both kinds of columns
    together, component pair by component pair. It is positive definite.

    Parameters
    ----------
    weight : float, array-like of shape (n_category_columns,) or "scale", default="scale"
        Cost of a difference. ``"scale"`` gives all columns the weight with which two rows of
        the table differ, on average, by two: as ``gamma="scale"`` does for numbers.
    similarities : None, "ordered", list or dict, default=None
        How alike different categories are. None: not at all. ``"ordered"``: ``1 - |a - b| / (m -
        1)`` for the ranks ``a``, ``b`` of ``m`` categories. A list has an entry for each column of
        categories, and a dict entries by the number of the column among these: None,
        ``"ordered"``, or a matrix ``S`` of shape (n_categories, n_categories), positive
        semidefinite, with entries from 0 to 1 and ones on the diagonal, rows in the order of
        ``density.categories_``. A column then has the factor
        ``exp(-w) + (1 - exp(-w)) p'Sq``; for a large weight that is ``p'Sq``.

    Notes
    -----
    One look-up for each column of categories, pair of rows and pair of components.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import MixedDensity
    >>> from absentia.kernels import CategoryKernel
    >>> X = np.array([[0.0], [0.0], [1.0], [np.nan]])
    >>> P = MixedDensity(n_components=1, categories=[0]).fit(X).condition(X)
    >>> CategoryKernel(weight=np.log(2))(P).round(3)
    array([[1.   , 1.   , 0.5  , 0.833],
           [1.   , 1.   , 0.5  , 0.833],
           [0.5  , 0.5  , 1.   , 0.667],
           [0.833, 0.833, 0.667, 0.778]])

    Grades from 0 to 2, of which neighbours are half alike:

    >>> grades = np.array([[0.0], [1.0], [2.0], [np.nan]])
    >>> P = MixedDensity(n_components=1, categories=[0]).fit(grades).condition(grades)
    >>> CategoryKernel(weight=100, similarities="ordered")(P).round(3)
    array([[1.   , 0.5  , 0.   , 0.5  ],
           [0.5  , 1.   , 0.5  , 0.667],
           [0.   , 0.5  , 1.   , 0.5  ],
           [0.5  , 0.667, 0.5  , 0.556]])
    """

    takes_categories = True

    _rules: ClassVar[dict[str, Rule]] = {
        "similarities": SIMILARITIES,
        "weight": CATEGORY_WEIGHT | words("scale"),
    }

    weight: float | str | ArrayLike = field(default="scale", kw_only=False)
    similarities: Any = field(default=None, kw_only=False)

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel with its weights as numbers."""
        if not prior.probabilities:
            raise ValueError(
                "CategoryKernel compares columns of categories, and these beliefs have none. Use "
                "MixedDensity(categories=[...]) or a frame with columns of words."
            )
        similarities = resolve_similarities(self.similarities, prior)
        weight = resolve_category_weight(self.weight, prior, 0, similarities)
        return with_params(self, weight=weight, similarities=similarities)

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        factor = CategoryFactor.of(P, Q, self.weight, self.similarities)
        assert factor is not None  # resolve has refused beliefs without categories
        other = P if Q is None else Q
        K = np.zeros((len(P), len(other)))
        ours, theirs = P.weights(), other.weights()
        for a in range(P.n_components):
            for b in range(other.n_components):
                K += ours[:, a, None] * theirs[:, b] * np.exp(factor(a, b))
        if Q is None:
            K = symmetrised(K)
            np.fill_diagonal(K, self._diag(P))
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        factor = CategoryFactor.of(P, None, self.weight, self.similarities)
        assert factor is not None
        k, weights = P.n_components, P.log_weights
        terms = [
            weights[:, a] + weights[:, b] + factor.diag(a, b) for a in range(k) for b in range(k)
        ]
        return np.exp(logsumexp(terms, axis=0))


def scaled_for_categories(gamma: float, prior: Prior) -> float:
    """Return ``gamma="scale"`` of a table that has columns of categories beside the numbers."""
    d, n_columns = prior.n_numbers, len(prior.probabilities)
    return gamma * d / (d + n_columns) or 1.0


def resolve_category_weight(
    weight: object, prior: Prior, n_numbers: int, similarities: Similarities | None = None
) -> float | FloatArray:
    """Return the weights of columns of categories as numbers.

    ``"scale"`` is ``2 J / ((n_numbers + J) sum_j g_j)`` for ``J`` columns, where ``g_j`` is the
    probability that two rows differ in column ``j`` (with similarities ``1 - p'Sp``): columns of
    numbers and of categories then count alike, on average, where numbers are measured in standard
    units.
    """
    J = len(prior.probabilities)
    if isinstance(weight, str):
        differing = sum(shares_that_differ(prior, similarities))
        return 2.0 * J / ((n_numbers + J) * differing) if differing > 0 else 1.0
    name = "The weight of categories (category_weight, 'scale' by default)"
    return numbers_per_column(name, weight, J, "columns of categories")


def ordered_similarity(n_categories: int) -> FloatArray:
    """Return ``1 - |a - b| / (n_categories - 1)`` for categories ``a`` and ``b`` in their order.

    The triangular kernel of the ranks, which is positive definite; the identity for two categories.
    """
    ranks = np.arange(n_categories, dtype=np.float64)
    apart: FloatArray = np.abs(ranks[:, None] - ranks) / max(1, n_categories - 1)
    return 1.0 - apart


def resolve_similarities(given: object, prior: Prior) -> Similarities | None:
    """Return one matrix, or None, per column of categories; None where no column has one.

    ``given`` is the parameter ``similarities`` of :class:`CategoryKernel`.
    """
    counts = prior.n_categories
    if given is None or not counts:
        return None
    if isinstance(given, str):
        given = [given] * len(counts)
    if isinstance(given, Mapping):
        unknown = [key for key in given if key not in range(len(counts))]
        if unknown:
            raise ValueError(
                f"Similarities of categories were given for column {shown(unknown[0])}, but these "
                f"beliefs have columns of categories 0 to {len(counts) - 1}: count columns of "
                "categories only, as density.category_columns_ lists them."
            )
        given = [given.get(j) for j in range(len(counts))]
    if not isinstance(given, list | tuple) or len(given) != len(counts):
        raise ValueError(
            "Similarities of categories must be None, 'ordered', or a list with None, 'ordered' or "
            f"a matrix for each of the {len(counts)} columns of categories (or a dict of some of "
            f"them), found {shown(given)}."
        )
    pairs = enumerate(zip(given, counts, strict=True))
    found = tuple(_resolved(one, j, n_categories) for j, (one, n_categories) in pairs)
    return None if all(one is None for one in found) else found


def _resolved(given: object, column: int, n_categories: int) -> FloatArray | None:
    """Return the matrix of one column, checked."""
    if given is None:
        return None
    where = f"The similarities of column {column} of categories"
    if isinstance(given, str):
        if given != "ordered":
            raise ValueError(f"{where} must be None, 'ordered' or a matrix, found {shown(given)}.")
        return ordered_similarity(n_categories)
    S: FloatArray = numbers(where, given, "None, 'ordered' or a matrix of numbers")
    if S.shape != (n_categories, n_categories):
        raise ValueError(
            f"{where} must be a matrix of shape {(n_categories, n_categories)}, one row per "
            f"category in the order of density.categories_, found shape {S.shape}. A category that "
            "no training row has is not counted."
        )
    if not (np.isfinite(S).all() and (S >= 0).all() and (S <= 1).all()):
        wrong = S[~((S >= 0) & (S <= 1))]
        raise ValueError(f"{where} must be numbers from 0 to 1, found {wrong[0]:.6g}.")
    if not (np.diagonal(S) == 1).all() or not np.array_equal(S, S.T):
        raise ValueError(
            f"{where} must be symmetric, with ones on the diagonal: each category is like itself. "
            "Try (S + S.T) / 2, and division by the roots of its diagonal on both sides."
        )
    lowest = float(np.linalg.eigvalsh(S)[0])
    if lowest < -_ROUNDING * n_categories:
        raise ValueError(
            f"{where} must be positive semidefinite, but their lowest eigenvalue is {lowest:.3g}: "
            "two categories that are both like a third are too little alike. Lower the entries "
            "off the diagonal, or use 'ordered'."
        )
    return S


def shares_that_differ(prior: Prior, similarities: Similarities | None) -> list[float]:
    """Return, by column, ``1 - p'Sp`` for the frequencies ``p`` of the whole table.

    Where no similarities are given, that is the probability that two rows differ.
    """
    matrices = similarities or (None,) * len(prior.probabilities)
    found = []
    for table, S in zip(prior.probabilities, matrices, strict=True):
        share = prior.weights @ table
        found.append(1.0 - float(share @ share if S is None else share @ S @ share))
    return found
