"""Little's test of values missing completely at random.

If they are, the rows of every pattern are a random sample of all rows, and the means of what they
have differ from the overall means by chance alone. The test sums up these differences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, kurtosis
from sklearn.exceptions import ConvergenceWarning

from absentia.densities import GaussianDensity
from absentia.engine.threads import bounded_slices
from absentia.hidden_warnings import hidden_warnings
from absentia.missingness import Patterns
from absentia.tables import FloatArray, IntArray, TableLike, as_table

__all__ = ["LittleTest", "little_test"]

# Eigenvalues of the correlations below which a direction counts as fixed by redundant columns. The
# fit leaves them the regularisation, 1e-9, and what its tolerance does to the factor, squared.
_FIXED = 1e-6
#: The most tables with permuted patterns, and the number of patterns times the cube of the columns
#: up to which "auto" makes them.
_PERMUTATIONS, _LARGEST = 199, 20_000


@dataclass(frozen=True)
class LittleTest:
    """The outcome of Little's test of "missing completely at random".

    Attributes
    ----------
    statistic : float
        The distance of the means by pattern from the overall means; chi-square distributed when the
        values are missing completely at random and the rows are many.
    degrees_of_freedom : int
        The rank of the covariance of the observed columns, summed over the patterns, less the
        rank of all columns: the number of columns, where none is redundant.
    p_value : float
        The probability of a statistic at least as large by chance. Small values are evidence
        against "completely at random"; large ones do not prove it.
    n_patterns : int
        How many patterns were compared.
    converged : bool
        Whether the estimate of the overall mean and covariance converged.
    method : {"chi-square", "permutation"}
        What the p-value comes from.
    trusted : bool
        Whether the p-value can be relied on; False for chi-square where the rows are few or the
        tails heavy.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    n_patterns: int
    converged: bool
    method: str = "chi-square"
    trusted: bool = True


def little_test(
    X: TableLike, *, tol: float = 1e-5, p_value: str = "auto", random_state: int = 0
) -> LittleTest:
    """Test whether values are missing completely at random, after Little (1988).

    With ``n_p`` rows of pattern ``p``, ``m_p`` the mean of the columns ``O`` that they have, and
    ``mu``, ``S`` the maximum likelihood estimates of a Gaussian from all rows (``S`` times
    ``n / (n - 1)``), the statistic is::

        sum over patterns p of  n_p (m_p - mu[O])' inv(S[O,O]) (m_p - mu[O])

    and its distribution under the hypothesis tends to chi-square with ``sum |O| - d`` degrees of
    freedom. Where columns are redundant (proportions that sum to one, a total beside its parts)
    the inverses are pseudo-inverses, and the degrees of freedom ``sum rank S[O,O] - rank S``:
    directions that keep less than a millionth of the variance of a column count as fixed.

    ``p_value`` is "chi-square", "permutation" (the rows are completed by draws from the Gaussian,
    the patterns assigned to them at random, and the statistic compared with those of up to 199 such
    tables, until ten were as large) or "auto": permutations where chi-square cannot be trusted and
    the table is small enough. A row with excess kurtosis ``k`` adds ``k / n_p`` to the variance of
    the term of its pattern; chi-square is trusted where these are below a tenth of its variance,
    and there are ten rows per column. On 60 rows of a log-normal table it rejects twice as often as
    it should. ValueError is raised where there is nothing to compare.
    """
    table = _varying_columns(as_table(X))
    if not table.size:
        raise ValueError("Little's test compares means, but no column of the table varies.")
    table = table[~np.isnan(table).all(axis=1)]  # a row without a value says nothing either
    n, d = table.shape
    patterns = Patterns.of(table)
    n_patterns = len(patterns.masks)
    if n_patterns < 2:
        raise ValueError(
            "Little's test compares the rows of different patterns, but all rows miss the same "
            "columns; there is nothing to test."
        )
    if n <= d:
        raise ValueError(
            f"Little's test needs more rows than columns, found {n} rows with something "
            f"observed and {d} columns that vary; drop columns."
        )
    statistic, freedom, density = _statistic(table, patterns, tol)
    if freedom <= 0:
        raise ValueError(
            "Little's test compares rows of different patterns in the columns that they share, but "
            "no two patterns share one; there is nothing to test."
        )
    trusted = n >= 10 * d and _excess_variance(table, patterns) < 0.1 * 2 * freedom
    permute = p_value == "permutation"
    if p_value == "auto":
        permute = not trusted and n_patterns * d**3 <= _LARGEST
    chance = float(chi2.sf(statistic, freedom))
    if permute:
        chance = _permuted_chance(table, patterns, tol, statistic, density, random_state)
    return LittleTest(
        statistic=statistic,
        degrees_of_freedom=freedom,
        p_value=chance,
        n_patterns=n_patterns,
        converged=bool(density.converged_),
        method="permutation" if permute else "chi-square",
        trusted=trusted or permute,
    )


def _statistic(
    table: FloatArray, patterns: Patterns, tol: float
) -> tuple[float, int, GaussianDensity]:
    """Return the statistic, its degrees of freedom, and the fitted Gaussian."""
    # The outcome reports it, where it is read.
    with hidden_warnings(category=ConvergenceWarning):
        # Maximum likelihood; the trace of regularisation is for collinear columns.
        density = GaussianDensity(shrinkage=0.0, reg_covar=1e-9, tol=tol, max_iter=1000)
        density.fit(table)
    distances, ranks, rank = _squared_distances(density, table, patterns)
    n = len(table)
    return float(patterns.counts @ distances) * (n - 1) / n, int(ranks.sum()) - rank, density


def _excess_variance(table: FloatArray, patterns: Patterns) -> float:
    """Return what the kurtosis of the columns adds to the variance of the statistic."""
    excess = np.maximum(kurtosis(table, axis=0, nan_policy="omit"), 0.0)
    return float(((~patterns.masks).sum(axis=1) / patterns.counts).sum() * excess.mean())


def _permuted_chance(
    table: FloatArray,
    patterns: Patterns,
    tol: float,
    statistic: float,
    density: GaussianDensity,
    random_state: int,
) -> float:
    """Return the share of tables with permuted patterns whose statistic is at least as large.

    Sequential (Besag and Clifford 1991): after ten of them, as many as there were tries is enough.
    """
    rng, mask = np.random.default_rng(random_state), np.isnan(table)
    beliefs, larger = density.condition(table), 0
    for tried in range(1, _PERMUTATIONS + 1):
        complete = beliefs.sample(1, random_state=int(rng.integers(2**31)))[0]
        again = np.where(mask, np.nan, complete[rng.permutation(len(table))])
        larger += _statistic(again, patterns, tol)[0] >= statistic
        if larger == 10:
            return larger / tried
    return (larger + 1) / (_PERMUTATIONS + 1)


def _varying_columns(table: FloatArray) -> FloatArray:
    """Leave out uninformative columns: missing in every row, or constant."""
    seen = ~np.isnan(table).all(axis=0)
    table = table[:, seen]
    varying = np.nanmax(table, axis=0) > np.nanmin(table, axis=0) if table.size else []
    return table[:, np.asarray(varying, dtype=bool)]


def _squared_distances(
    density: GaussianDensity, table: FloatArray, patterns: Patterns
) -> tuple[FloatArray, IntArray, int]:
    """Return how far the mean of each pattern is from the overall mean, and the ranks.

    By pattern ``o' pinv(S[O,O]) o`` for the offset ``o`` and the rank of ``S[O,O]``, each of shape
    (n_patterns,), and the rank of ``S``.
    """
    scales = np.sqrt(np.diagonal(density.covariance_))
    correlations = density.covariance_ / scales / scales[:, None]
    eigenvalues = np.linalg.eigvalsh(correlations)
    rank = int((eigenvalues > _FIXED).sum())
    means = _means_by_pattern(table, patterns)
    if rank == len(scales):  # then no principal submatrix has a smaller eigenvalue
        # Twice the loss of log-likelihood from the overall mean to the pattern's mean: the
        # normalising constants drop out, and the density's own fast code does the work.
        distances = np.empty(len(means))
        for part in bounded_slices(len(means), len(scales)):
            centre = np.where(patterns.masks[part], np.nan, density.mean_)
            loss = density.score_samples(centre) - density.score_samples(means[part])
            distances[part] = 2 * np.maximum(loss, 0.0)
        return distances, len(scales) - patterns.n_missing, rank
    offsets = (means - density.mean_) / scales
    distances, ranks = np.empty(len(means)), np.empty(len(means), dtype=np.intp)
    for p, observed in enumerate(~patterns.masks):
        values, vectors = np.linalg.eigh(correlations[np.ix_(observed, observed)])
        free = values > _FIXED
        projections = offsets[p, observed] @ vectors[:, free]
        distances[p], ranks[p] = (projections**2 / values[free]).sum(), free.sum()
    return distances, ranks, rank


def _means_by_pattern(table: FloatArray, patterns: Patterns) -> FloatArray:
    sums = np.empty(patterns.masks.shape)
    for j, column in enumerate(table.T):
        sums[:, j] = np.bincount(patterns.pattern_of_row, weights=column)
    return sums / patterns.counts[:, None]
