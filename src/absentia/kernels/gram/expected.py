"""Gram matrices of the expected RBF: parts, components and regions, each by the path for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations_with_replacement, product

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.gram.products import reorder
from absentia.engine.principal import log_determinants_and_lengths, principal_log_determinants
from absentia.engine.small_patterns import log_determinants_one_by_one
from absentia.engine.threads import bounded_slices, n_threads
from absentia.kernels.gram.dispatch import Pairs, choose, has_factors, uses_precisions
from absentia.kernels.gram.factors import factor_log_self_similarities
from absentia.kernels.gram.frequent_patterns import LogFactor, small_gram
from absentia.kernels.gram.sides import Region, Side, Target, threads_that_pay
from absentia.kernels.gram.tiles import origin_of, symmetrised
from absentia.kernels.metric import Smoothing, cached
from absentia.tables import FloatArray, IntArray

#: Beliefs with the places of their rows, for the rows with and without limits.
_Parts = list[tuple[IntArray, Beliefs]]


def expected_gram(
    P: Beliefs,
    Q: Beliefs | None,
    smoothing: Smoothing,
    *,
    log_norms_P: FloatArray | None = None,
    log_norms_Q: FloatArray | None = None,
    scaled: bool = True,
    n_jobs: int | None = None,
    log_factor: LogFactor | None = None,
) -> FloatArray:
    """Return ``E exp(-gamma |x - y|_M^2) / exp(log_norms_P[i] + log_norms_Q[j])`` for all pairs.

    Eq. (3) of [Anderson2011]_ for Gaussians and the sum of it over component pairs, Eq. (4) of
    [Williams2005]_, for mixtures. Without ``Q`` the matrix is symmetric to the last bit. The norms
    enter before the exponential is taken, so that a normalised kernel is finite where the
    expected kernel itself underflows.

    ``log_factor(a, b, rows, columns)``, where given, returns logarithms of what the kernel of
    components ``a`` and ``b`` is multiplied by.
    The bits of an entry depend on :attr:`Beliefs.whole`, not on the tile of it that ``P`` is.
    """
    gram = partial(expected_gram, scaled=scaled, n_jobs=n_jobs)
    if Q is not None and _is_conditioned(P) and not _is_conditioned(Q):
        # The fast path takes the conditioned side as columns.
        factor = _transposed(log_factor)
        swapped = gram(
            Q, P, smoothing, log_norms_P=log_norms_Q, log_norms_Q=log_norms_P, log_factor=factor
        )
        return swapped.T
    P, Q, smoothing = in_kernel_units(P, Q, smoothing)
    row_norms = np.zeros(len(P)) if log_norms_P is None else log_norms_P
    if Q is None:
        column_norms = row_norms
    else:
        column_norms = np.zeros(len(Q)) if log_norms_Q is None else log_norms_Q
    ends = P, Q, smoothing, row_norms, column_norms
    found = small_gram(*ends, scaled=scaled, log_factor=log_factor)
    if found is None:
        found = _gram_of_parts(*ends, log_factor, gram)
    if found is not None:
        return found
    rows = columns = Side.of_components(P, row_norms)
    if Q is not None:
        columns = Side.of_components(Q, column_norms)
    return _sum_over_components(
        rows,
        columns,
        smoothing,
        symmetric=Q is None,
        scaled=scaled,
        threads=n_threads(n_jobs),
        log_factor=log_factor,
    )


def _transposed(log_factor: LogFactor | None) -> LogFactor | None:
    """Return the factor of a matrix whose rows are the columns of that of ``log_factor``."""
    if log_factor is None:
        return None
    return lambda a, b, rows, columns: log_factor(b, a, columns, rows).T


def _sum_over_components(
    rows: list[Side],
    columns: list[Side],
    smoothing: Smoothing,
    *,
    symmetric: bool,
    scaled: bool,
    threads: int,
    log_factor: LogFactor | None,
) -> FloatArray:
    """Return the matrix of all rows and columns, given what they are in each component."""
    row_ordering, column_ordering = rows[0].ordering, columns[0].ordering
    n, m = len(row_ordering.rows), len(column_ordering.rows)
    out = np.empty((n, m))
    # With a factor each pair of components has a matrix of its own, which is multiplied and added.
    total = None if log_factor is None else np.zeros_like(out)
    # Rows of one component first: what they have of another adds little then, and is left out.
    pairs = sorted(product(range(len(rows)), range(len(columns))), key=lambda ab: ab[0] != ab[1])
    for a, b in pairs:
        accumulate = total is None and (a, b) != pairs[0]
        target = Target(out, 0, symmetric, accumulate, scaled)
        _fill(rows[a], columns[b], smoothing, Region(target, 0, n, m, threads))
        if log_factor is not None and total is not None:
            logs = log_factor(a, b, row_ordering.rows, column_ordering.rows)
            total += (np.tril(out) if symmetric else out) * np.exp(logs)
    out = out if total is None else total
    if symmetric:
        symmetrised(out, threads_that_pay(threads, out.size // 16))
    if not (row_ordering.identity and column_ordering.identity):
        reorder(out, row_ordering.rows, column_ordering.rows)
    return out


def _fill(rows: Side, columns: Side, smoothing: Smoothing, whole: Region) -> None:
    """Fill a matrix for two components: frequent patterns among themselves, and the rest."""
    n_rows, n_columns = rows.ordering.n_frequent, columns.ordering.n_frequent
    regions = [(False, whole)]
    if n_rows:
        regions = [
            (True, replace(whole, last_row=n_rows, last_column=n_columns)),
            (False, replace(whole, first_row=n_rows)),
        ]
        if not whole.target.symmetric:  # otherwise these are mirrored
            right = whole.target._replace(first_column=n_columns)
            regions.append((False, replace(whole, target=right, last_row=n_rows)))
    for frequent, region in regions:
        if not region.is_empty:
            path = choose(Pairs(rows, columns, smoothing, frequent, whole.target.symmetric))
            path.fill(rows, columns, smoothing, region)


def _gram_of_parts(
    P: Beliefs,
    Q: Beliefs | None,
    smoothing: Smoothing,
    row_norms: FloatArray,
    column_norms: FloatArray,
    log_factor: LogFactor | None,
    gram: Callable[..., FloatArray],
) -> FloatArray | None:
    """Return the matrix assembled from those of conditioned rows and rows with limits.

    Conditioned rows among themselves take the paths that work from precisions and masks, whatever
    other rows have. None where there are not both. ``gram`` is called as :func:`expected_gram` is.
    """
    if all(side.whole.covariances.is_conditioned for side in (P, P if Q is None else Q)):
        return None
    row_parts = _parts(P)
    column_parts = row_parts if Q is None else _parts(Q)
    if row_parts[0][1] is P and (Q is None or column_parts[0][1] is Q):
        return None
    out = np.empty((len(P), len(P) if Q is None else len(Q)))
    for i, (rows, some) in enumerate(row_parts):
        for j, (columns, others) in enumerate(column_parts):
            if Q is None and j > i:
                break
            block = gram(
                some,
                None if Q is None and i == j else others,
                smoothing,
                log_norms_P=row_norms[rows],
                log_norms_Q=column_norms[columns],
                log_factor=_factor_of_parts(log_factor, rows, columns),
            )
            out[np.ix_(rows, columns)] = block
            if Q is None and i != j:
                out[np.ix_(columns, rows)] = block.T
    return out


def _factor_of_parts(
    log_factor: LogFactor | None, rows: IntArray, columns: IntArray
) -> LogFactor | None:
    if log_factor is None:
        return None
    return lambda a, b, own, others: log_factor(a, b, rows[own], columns[others])


def _parts(beliefs: Beliefs) -> _Parts:
    """Return the conditioned rows and the others; of a tile as tiles of the parts of the whole."""
    whole = beliefs.whole
    parts: _Parts | None = vars(whole).get("_by_limits")
    if parts is None:
        explicit = whole.covariances.explicit_groups()[whole.group_of_row]
        if explicit.all() or not explicit.any():
            return [(np.arange(len(beliefs)), beliefs)]
        cut = [(rows, whole[rows]) for rows in map(np.flatnonzero, (~explicit, explicit))]
        parts = vars(whole).setdefault("_by_limits", cut)
    if whole is beliefs:
        return parts
    here = beliefs.rows_of_whole
    found: _Parts = []
    for rows, part in parts:
        start, stop = np.searchsorted(rows, [here.start, here.stop]).tolist()
        if start < stop:
            found.append((rows[start:stop] - here.start, part.tile(slice(start, stop))))
    return found


def _is_conditioned(beliefs: Beliefs) -> bool:
    """Return whether all rows of the whole are: a tile may lack those that have limits."""
    return beliefs.whole.covariances.is_conditioned


def in_kernel_units(
    P: Beliefs,
    Q: Beliefs | None,
    smoothing: Smoothing,
    farthest: float = 1e140,
    *,
    of_differences: bool = True,
) -> tuple[Beliefs, Beliefs | None, Smoothing]:
    """Measure columns in units of the kernel's width, where their own are far from it.

    Units that are no powers of two round, so that columns are counted from :func:`origin_of`, for
    kernels ``of_differences`` of rows (that of inner products has its zero). Refuses what is
    farther than ``farthest`` widths from zero, or spreads as far; by default the square of that,
    summed over columns, is still a number.
    """
    units = smoothing.units
    if units is not None:
        others = P if Q is None else Q  # support vectors come back, in the same units
        means = others.whole.means[:, 0]
        origin = (
            cached(others, smoothing, "origin", lambda: origin_of(means))
            if smoothing.by_column and of_differences
            else 0.0
        )
        if Q is not None:
            what = "units", of_differences
            Q = cached(others, smoothing, what, lambda: others.in_units(units, origin))
        P, smoothing = P.in_units(units, origin), smoothing.in_units(units)
    for side in (P,) if Q is None else (P, Q):
        cached(side, smoothing, ("reach", farthest), partial(_check_reach, side, farthest))
    return P, Q, smoothing


def _check_reach(beliefs: Beliefs, farthest: float) -> None:
    means = beliefs.means
    if not (means.max(initial=0) < farthest and means.min(initial=0) > -farthest):
        row, _, column = np.unravel_index(np.argmax(np.abs(means)), means.shape)
        raise ValueError(
            f"Row {row} is more than {farthest:g} widths of the kernel from zero in column "
            f"{column}, which is too far for double precision. Use a smaller gamma, or correct "
            "the value."
        )
    if not np.sqrt(beliefs.prior.variance_range[1]) < farthest:
        column = np.argmax(beliefs.prior.variances.max(axis=0))
        raise ValueError(
            f"Column {column} has a standard deviation of more than {farthest:g} widths of the "
            "kernel, which is too much for double precision. Use a smaller gamma."
        )


def log_self_similarities(
    P: Beliefs,
    smoothing: Smoothing,
    *,
    scaled: bool = True,
    log_factor: Callable[[int, int], FloatArray] | None = None,
) -> FloatArray:
    """Return ``log E exp(-gamma |x - x'|_M^2)`` for two independent draws of each row.

    For one Gaussian ``-1/2 log det(I + 4 gamma M S)``, by pattern; for a mixture the sum over
    component pairs. ``log_factor(a, b)``, where given, returns for each row the logarithm of what
    the term of components ``a`` and ``b`` is multiplied by.
    """
    P, _, smoothing = in_kernel_units(P, None, smoothing)
    if log_factor is None and has_factors(P, smoothing):
        # For the whole, so that the bits are the same in every tile of it.
        whole, what = P.whole, ("self-similarities", scaled)
        all_rows = cached(
            whole, smoothing, what, lambda: _mixed_self_similarities(whole, smoothing, scaled, None)
        )
        return all_rows[P.rows_of_whole].copy()
    if P.n_components == 1 and scaled and _is_conditioned(P) and uses_precisions(P, smoothing):
        # det(I + 2 inv(C0) S) on the missing columns, where S = inv(G[L,L]).
        precision, of_whole = P.prior.precisions[0], P.whole.patterns.masks
        measure = principal_log_determinants.choose(of_whole.size * P.n_features)
        if len(of_whole) == 1:  # as of one new row
            measure = log_determinants_one_by_one
        # Copies of our own: compiled code is compiled once more for read-only arrays.
        masks = np.array(P.patterns.masks)
        ratios = measure(precision + 2 * smoothing.information, masks)
        ratios -= measure(precision.copy(), masks)
        of_rows = -0.5 * ratios[P.group_of_row]
        return of_rows if log_factor is None else of_rows + log_factor(0, 0)
    return _mixed_self_similarities(P, smoothing, scaled, log_factor)


def _mixed_self_similarities(
    P: Beliefs,
    smoothing: Smoothing,
    scaled: bool,
    log_factor: Callable[[int, int], FloatArray] | None,
) -> FloatArray:
    """Return the self-similarities as sums over pairs of components, a part of the rows at a time.

    In the factors of a density, where they may be used, else from covariances.
    """
    in_factors = log_factor is None and has_factors(P, smoothing)
    d, k, n_groups = P.n_features, P.n_components, P.whole.covariances.n_groups
    measure = log_determinants_and_lengths.choose((n_groups + len(P.whole)) * d**2)
    low_rank = P.prior.low_rank
    per_row = d + 12 * low_rank.n_factors**2 if in_factors and low_rank else 3 * k * d**2
    out = np.full(len(P), -np.inf)
    for part in bounded_slices(len(P), per_row):
        some = P[part]
        if not in_factors:
            groups, group_of_row = np.unique(P.group_of_row[part], return_inverse=True)
            dense = P.covariances.dense(groups, n_groups)
        for a, b in combinations_with_replacement(range(k), 2):
            if in_factors:
                log_ratios, lengths = factor_log_self_similarities(some, a, b, smoothing)
            else:
                log_ratios, lengths = measure(
                    smoothing.covariance + dense[:, a] + dense[:, b],
                    group_of_row,
                    np.ascontiguousarray(some.means[:, a] - some.means[:, b]),
                )
                log_ratios -= smoothing.log_determinant
            term = some.log_weights[:, a] + some.log_weights[:, b] - 0.5 * lengths
            term += np.log(2) * (a != b) - 0.5 * log_ratios * scaled
            if log_factor is not None:
                term += log_factor(a, b)[part]
            out[part] = np.logaddexp(out[part], term)
    return out
