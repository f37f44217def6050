"""The density of a row before any of its values is observed: one Gaussian, or a mixture.

A category is a whole number from 0, and -1 where it is missing. For a row with a missing category,
each component of the belief has the component's probabilities; an observed category is certain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import csr_array

from absentia.engine.threads import bounded_slices, computed_once
from absentia.tables import FloatArray, IntArray
from absentia.tables.stored import Stored, assume_valid, frozen, require_array

if TYPE_CHECKING:
    from absentia.beliefs.low_rank_prior import LowRankPrior

#: Standard deviations from the mean: the square of that, times any inflation, is still a number.
FARTHEST = 1e130


@dataclass(frozen=True, eq=False)
class Prior(Stored):
    """The distribution of a row before any value is observed: a mixture of ``k`` Gaussians.

    ``p(x) = sum_c weights[c] N(x | means[c], covariances[c])``, Eq. (1) of [Williams2005]_;
    with one component the Gaussian ``F`` of [Smieja2018]_, Section 3.

    For each column of categories ``probabilities`` (n_components, n_categories) say how probable
    each category is in each component; given the component, columns of categories are independent
    of each other and of the numbers.
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    probabilities: tuple[FloatArray, ...] = ()

    def validate(self) -> None:
        """Raise ValueError unless the parameters are finite and of shapes that agree."""
        self._require_array("weights", np.float64, (None,))
        self._require_array("means", np.float64, (len(self.weights), None))
        k, d = self.means.shape
        self._require_array("covariances", np.float64, (k, d, d))
        for name in ("weights", "means", "covariances"):
            self._require_finite(name)
        if not k or (self.weights < 0).any():
            raise ValueError("Prior.weights must be one per component, and none negative.")
        self._require_type("probabilities", tuple)
        for table in self.probabilities:
            require_array("Prior.probabilities", table, np.float64, (k, None))
            if not (table.size and (table >= 0).all() and np.allclose(table.sum(axis=1), 1)):
                raise ValueError("Prior.probabilities must sum to one in each component.")

    @property
    def n_components(self) -> int:
        """The number of Gaussians."""
        return len(self.weights)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.means.shape[1])

    @property
    def low_rank(self) -> LowRankPrior | None:
        """The prior as factors and noise; None where covariances are any matrices."""
        return None

    @property
    def n_numbers(self) -> int:
        """The number of columns that are compared as numbers.

        A table of categories alone has one number, always zero and under N(0, 1) in every
        component, which says nothing: it has none.
        """
        nothing = self.n_features == 1 and not self.means.any() and (self.covariances == 1).all()
        return 0 if self.probabilities and nothing else self.n_features

    @property
    def n_categories(self) -> tuple[int, ...]:
        """Number of categories of each column of categories; empty for a table of numbers."""
        return tuple(table.shape[1] for table in self.probabilities)

    @computed_once
    def log_probabilities(self) -> FloatArray:
        """Logarithms of all probabilities side by side, (n_components, sum of n_categories)."""
        with np.errstate(divide="ignore"):
            return np.log(np.concatenate(self.probabilities, axis=1))

    def mean(self) -> FloatArray:
        """Return the overall mean, shape (n_features,)."""
        return self.weights @ self.means

    def covariance(self) -> FloatArray:
        """Return the overall covariance: within components plus between their means."""
        # With roots of the weights both factors are the same: symmetric to the last bit.
        centred = np.sqrt(self.weights)[:, None] * (self.means - self.mean())
        within = np.einsum("c,cij->ij", self.weights, self.covariances)
        return within + np.einsum("ci,cj->ij", centred, centred)

    @computed_once
    def log_weights(self) -> FloatArray:
        """Logarithms of the weights, minus infinity for a component of weight zero; read-only."""
        with np.errstate(divide="ignore"):
            return frozen(np.log(self.weights))

    @computed_once
    def variances(self) -> FloatArray:
        """The variance of each column in each component, (n_components, n_features); read-only."""
        return frozen(np.diagonal(self.covariances, axis1=1, axis2=2).copy())

    @computed_once
    def variance_range(self) -> tuple[float, float]:
        """The smallest and the largest variance of a column in any component."""
        return float(self.variances.min()), float(self.variances.max())

    @computed_once
    def reach(self) -> FloatArray:
        """Largest values within ``FARTHEST`` deviations of all means; read-only."""
        with np.errstate(over="ignore"):
            room = np.sqrt(self.variances) - np.abs(self.means) / FARTHEST
            return frozen((FARTHEST * room).min(axis=0))

    def out_of_reach(
        self, lower: FloatArray, upper: FloatArray | None = None
    ) -> tuple[int, int, float] | None:
        """Return row, column and value of a cell beyond ``FARTHEST`` deviations, or None.

        A cell is a value (``upper`` None) or an interval; NaN and infinite intervals are near.
        """
        with np.errstate(over="ignore"):
            for mean, deviation in zip(self.means, np.sqrt(self.variances), strict=True):
                nearest = lower if upper is None else np.clip(mean, lower, upper)
                far = np.abs(nearest / FARTHEST - mean / FARTHEST) > deviation
                if far.any():
                    row, column = np.argwhere(far)[0]
                    return int(row), int(column), float(nearest[row, column])
        return None

    @computed_once
    def precisions(self) -> FloatArray:
        """The inverse of each covariance, symmetric to the last bit."""
        return self._inverses[0]

    @computed_once
    def log_determinants(self) -> FloatArray:
        """The log determinant of each covariance, shape (n_components,)."""
        return self._inverses[1]

    @computed_once
    def inflation(self) -> float:
        """By how much, at most, a column's variance exceeds what the others leave of it.

        The largest ``S[j,j] inv(S)[j,j]`` of all columns and components, the variance inflation
        factor of regression; infinite where a covariance is not positive definite. Rounding in
        log-densities and in conditional means grows with it.
        """
        try:
            precisions = np.diagonal(self.precisions, axis1=1, axis2=2)
        except np.linalg.LinAlgError:
            return np.inf
        return float((precisions * self.variances).max())

    @property
    def well_conditioned(self) -> bool:
        """Whether no column is nearly determined by the others, in any component.

        True where each column keeps more than 1e-11 of its variance given all others. A
        log-density then has an error below about 1e-4, times its own size where that is more than
        one; beyond that a submatrix may fail to be positive definite by rounding.
        """
        return self.inflation < 1e11

    @computed_once
    def _inverses(self) -> tuple[FloatArray, FloatArray]:
        precisions = np.empty(self.covariances.shape)
        log_determinants = np.empty(self.n_components)
        for c, covariance in enumerate(self.covariances):
            precisions[c], log_determinants[c] = inverse_and_log_determinant(covariance)
        return precisions, log_determinants

    def transform(self, A: FloatArray, b: FloatArray) -> Prior:
        """Return the density of ``A x + b``."""
        moved = A @ self.covariances @ A.T
        covariances = (moved + moved.transpose(0, 2, 1)) / 2
        found = replace(self, means=self.means @ A.T + b, covariances=covariances)
        return assume_valid(found, self)

    def scaled(self, scales: FloatArray, centres: FloatArray) -> Prior:
        """Return the density of ``scales * x + centres``, a scale per column."""
        covariances = scales[:, None] * scales * self.covariances
        return replace(self, means=centres + scales * self.means, covariances=covariances)

    def in_units(self, units: FloatArray, origin: FloatArray | float = 0.0) -> Prior:
        """Return the density of ``(x - origin) / units``, a unit per column."""
        covariances = self.covariances / units / units[:, None]
        means = (self.means - origin) / units
        return assume_valid(replace(self, means=means, covariances=covariances), self)

    def kept_in_units(self, units: FloatArray, origin: FloatArray | float = 0.0) -> Prior:
        """Return :meth:`in_units`, that of the last call where the units are the same.

        New rows come one after the other; the inverses of their density are computed once.
        """
        key = units.tobytes(), np.asarray(origin).tobytes()
        kept: tuple[tuple[bytes, bytes], Prior] | None = vars(self).get("_in_units")
        if kept is None or kept[0] != key:
            kept = vars(self)["_in_units"] = key, self.in_units(units, origin)
        return kept[1]

    def equals(self, other: Prior) -> bool:
        """Return whether two priors have the same parameters, bit for bit."""
        return self is other or (
            np.array_equal(self.weights, other.weights)
            and np.array_equal(self.means, other.means)
            and np.array_equal(self.covariances, other.covariances)
            and len(self.probabilities) == len(other.probabilities)
            and all(map(np.array_equal, self.probabilities, other.probabilities))
        )


def inverse_and_log_determinant(covariance: FloatArray) -> tuple[FloatArray, float]:
    """Return the inverse of a covariance, symmetric to the last bit, and its log determinant.

    By Cholesky on the matrix with its columns brought to comparable scales, so that very different
    ones cost no accuracy.
    """
    variances = np.diagonal(covariance)
    if not (variances > 0).all():
        raise np.linalg.LinAlgError(SINGULAR)
    # Powers of two, because multiplying by them is exact, in whatever order.
    scale = np.exp2(np.round(np.log2(variances) / 2))
    root, failed = dpotrf((covariance / scale).T / scale, lower=1)
    if failed:
        raise np.linalg.LinAlgError(SINGULAR)
    # Not dpotri, whose last bits depend on how many threads BLAS has.
    lower = np.tril(dpotrs(root, np.eye(len(root)), lower=1)[0])
    inverse = lower + np.tril(lower, -1).T
    log_determinant = 2 * float(np.log(np.diagonal(root)).sum() + np.log(scale).sum())
    return (inverse / scale).T / scale, log_determinant


SINGULAR = (
    "A covariance of the density is not positive definite, so that rows cannot be conditioned on "
    "it. Fit the density with a larger reg_covar or with shrinkage."
)


def indicators(codes: IntArray, n_categories: tuple[int, ...]) -> Any:
    """Return a sparse matrix with a one for each observed category of each row.

    Of shape (n_samples, sum(n_categories)); those of one table column stand together.
    """
    check_codes(codes, len(codes), n_categories)  # SciPy follows them without asking
    observed = codes >= 0
    starts = np.cumsum((0, *n_categories))
    places = (codes + starts[:-1])[observed]
    ends = np.concatenate([[0], np.cumsum(observed.sum(axis=1))])
    return csr_array((np.ones(len(places)), places, ends), shape=(len(codes), int(starts[-1])))


def split_categories(values: FloatArray, n_categories: tuple[int, ...]) -> tuple[FloatArray, ...]:
    """Cut an array with one column per category into one array per table column."""
    return tuple(np.split(values, np.cumsum(n_categories)[:-1], axis=-1))


def category_log_likelihoods(prior: Prior, codes: IntArray) -> FloatArray:
    """Return ``sum_j log p(category j | component)`` over observed categories, (n, k)."""
    return indicators(codes, prior.n_categories) @ prior.log_probabilities.T


def row_probabilities(
    prior: Prior, codes: IntArray, weights: FloatArray, column: int
) -> FloatArray:
    """Return how probable each category of a column is in each row, (n, n_categories).

    ``sum_c weight[c] p(category | c)`` where it is missing; one for the category observed.
    """
    found: FloatArray = weights @ prior.probabilities[column]
    seen = np.flatnonzero(codes[:, column] >= 0)
    found[seen] = 0.0
    found[seen, codes[seen, column]] = 1.0
    return found


def draw_codes(
    prior: Prior,
    codes: IntArray,
    component: IntArray,
    uniform: Callable[[int, tuple[int, int]], FloatArray],
) -> IntArray:
    """Draw a category wherever one is missing, given the component drawn for each row.

    From codes (n_samples, n_columns) and components (n_draws, n_samples) to codes (n_draws,
    n_samples, n_columns). ``uniform`` returns uniform numbers for a column, of a shape.
    """
    drawn = np.repeat(codes[None], len(component), axis=0)
    for j, table in enumerate(prior.probabilities):
        missing = np.flatnonzero(codes[:, j] < 0)
        chosen = component[:, missing]
        uniforms = uniform(j, chosen.shape)
        found = np.empty(chosen.shape, dtype=np.intp)
        for c, cumulative in enumerate(np.cumsum(table, axis=1)):
            own = chosen == c
            found[own] = np.searchsorted(cumulative[:-1], uniforms[own] * cumulative[-1])
        drawn[:, missing, j] = found
    return drawn


def likeliest_codes(prior: Prior, codes: IntArray, weights: FloatArray) -> IntArray:
    """Return the category of each row, (n, n_columns): the likeliest one where it is missing."""
    likeliest = codes.copy()
    for j, table in enumerate(prior.probabilities):
        missing = np.flatnonzero(codes[:, j] < 0)
        for part in bounded_slices(len(missing), table.shape[1]):
            rows = missing[part]
            likeliest[rows, j] = (weights[rows] @ table).argmax(axis=1)
    return likeliest


def check_codes(codes: Any, n_samples: int, n_categories: tuple[int, ...]) -> None:
    """Raise ValueError unless codes are those of so many rows and categories."""
    fits = isinstance(codes, np.ndarray) and codes.dtype == np.intp
    if not fits or codes.shape != (n_samples, len(n_categories)):
        raise ValueError(
            f"Beliefs.codes must be integers of shape {(n_samples, len(n_categories))}, found "
            f"{getattr(codes, 'shape', type(codes).__name__)}."
        )
    if not ((codes >= -1) & (codes < np.array(n_categories))).all():
        raise ValueError("Beliefs.codes must be categories of the prior, or -1 where missing.")
