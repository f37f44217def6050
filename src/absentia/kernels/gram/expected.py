"""Gram matrices of the expected RBF: regimes chosen by the data, component by component."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.gram.dense_tiles import mirror_rows, reorder
from absentia.engine.principal import (
    log_determinants_and_lengths,
    principal_log_determinants,
)
from absentia.engine.small_patterns import log_determinant
from absentia.engine.threads import bounded_slices, n_threads, run_tiles, triangle_tiles
from absentia.kernels.gram.factor_gram import (
    factor_log_self_similarities,
    fill_factors,
    works_in_factors,
)
from absentia.kernels.gram.far_pairs import origin_of
from absentia.kernels.gram.few_rows_gram import are_few_rows, fill_few_rows
from absentia.kernels.gram.kept import kept_for
from absentia.kernels.gram.limited_parts import gram_of_parts
from absentia.kernels.gram.ordering import Ordering
from absentia.kernels.gram.overlap_gram import fill_overlaps, works_in_overlaps
from absentia.kernels.gram.popular_groups import fill_popular
from absentia.kernels.gram.region import Region
from absentia.kernels.gram.regions import fill_lanes, works_from_precisions
from absentia.kernels.gram.side import Side, SideValues
from absentia.kernels.gram.small_gram import LogFactor, small_gram
from absentia.kernels.gram.smoothing import Smoothing
from absentia.kernels.gram.symmetry import symmetrised
from absentia.tables import FloatArray

__all__ = ["expected_gram", "in_kernel_units", "log_self_similarities"]

#: Fills a region of a matrix.
_FillRegion = Callable[[FloatArray, Side, Side, Smoothing, Region], None]


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

    The bits of an entry depend on the whole that ``P`` is a tile of (:meth:`Beliefs.tile`), not on
    the tile: what is decided by counting is decided by :attr:`Beliefs.whole`, and no sum is grouped
    by the number of rows.
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
        found = gram_of_parts(*ends, log_factor, gram)
    if found is not None:
        return found
    ordering = Ordering.of(P)
    rows = columns = Side.of_components(P, ordering, row_norms)
    if Q is not None:
        columns = _kept_sides(Q, Ordering.of(Q), smoothing, log_norms_Q, column_norms)
    return _sum_over_components(
        rows,
        columns,
        smoothing,
        _way_of_the_rest(P, Q, smoothing),
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


def _way_of_the_rest(P: Beliefs, Q: Beliefs | None, smoothing: Smoothing) -> _FillRegion:
    """Return what fills the pairs of which one side at least is in no popular group."""
    columns_of = P if Q is None else Q
    if all(works_in_factors(side, smoothing) for side in (P, columns_of)):
        return fill_factors
    if are_few_rows(P, Q, smoothing):
        return fill_few_rows
    return fill_overlaps if works_in_overlaps(P, columns_of, smoothing) else fill_lanes


def _sum_over_components(
    rows: list[Side],
    columns: list[Side],
    smoothing: Smoothing,
    fill_rest: _FillRegion,
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
        whole = Region(
            0,
            n,
            0,
            m,
            symmetric=symmetric,
            accumulate=total is None and (a, b) != pairs[0],
            mirror=symmetric and total is None and (a, b) == pairs[-1],
            scaled=scaled,
            n_threads=threads,
        )
        _fill(out, rows[a], columns[b], smoothing, fill_rest, whole)
        if log_factor is not None and total is not None:
            logs = log_factor(a, b, row_ordering.rows, column_ordering.rows)
            total += (np.tril(out) if symmetric else out) * np.exp(logs)
    if total is not None:
        out = symmetrised(total) if symmetric else total
    elif symmetric and row_ordering.n_popular:
        tiles = triangle_tiles(0, row_ordering.n_popular, 4 * threads, 32)
        run_tiles(mirror_rows, tiles, threads, out)
    if not (row_ordering.identity and column_ordering.identity):
        reorder(out, row_ordering.rows, column_ordering.rows)
    return out


def _fill(
    out: FloatArray,
    rows: Side,
    columns: Side,
    smoothing: Smoothing,
    fill_rest: _FillRegion,
    whole: Region,
) -> None:
    """Fill ``out`` for one pair of components: popular groups among themselves, and the rest."""
    ends = out, rows, columns, smoothing
    n_popular, popular_columns = rows.ordering.n_popular, columns.ordering.n_popular
    if not n_popular:
        fill_rest(*ends, whole)
        return
    fill_popular(*ends, replace(whole, last_row=n_popular, n_columns=popular_columns))
    fill_rest(*ends, replace(whole, first_row=n_popular))
    if not whole.symmetric:
        # Popular rows still lack the columns that are not popular; else they are mirrored.
        fill_rest(*ends, replace(whole, last_row=n_popular, first_column=popular_columns))


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
            kept_for(others, smoothing, "origin", lambda: origin_of(means))
            if smoothing.by_column and of_differences
            else 0.0
        )
        if Q is not None:
            what = "units", of_differences
            Q = kept_for(others, smoothing, what, lambda: others.in_units(units, origin))
        P, smoothing = P.in_units(units, origin), smoothing.in_units(units)
    for side in (P,) if Q is None else (P, Q):
        kept_for(side, smoothing, ("reach", farthest), partial(_check_reach, side, farthest))
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


def _kept_sides(
    Q: Beliefs,
    ordering: Ordering,
    smoothing: Smoothing,
    given_norms: FloatArray | None,
    log_norms: FloatArray,
) -> list[Side]:
    """Return the components of the columns; those of an earlier call with the same norms."""

    def make() -> tuple[FloatArray | None, list[SideValues]]:
        sides = Side.of_components(Q, ordering, log_norms)
        return given_norms, [side.values for side in sides]

    norms, values = kept_for(Q, smoothing, "sides", make)
    if norms is not given_norms:
        values = make()[1]
    return [Side(Q, ordering, b, of_component) for b, of_component in enumerate(values)]


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
    if log_factor is None and works_in_factors(P, smoothing):
        # Of the whole, so that the bits are the same in every tile of it.
        whole = P.whole
        all_rows = kept_for(
            whole,
            smoothing,
            ("self-similarities", scaled),
            lambda: _log_self_similarities_in_factors(whole, smoothing, scaled),
        )
        return all_rows[P.rows_of_whole].copy()
    table = P.covariances
    if (
        P.n_components == 1
        and scaled
        and _is_conditioned(P)
        and works_from_precisions(P, smoothing)
    ):
        # det(I + 2 inv(C0) S) on the missing columns, where S = inv(G[L,L]).
        of_rows = -0.5 * _log_determinant_ratios(P, smoothing)[P.group_of_row]
        return of_rows if log_factor is None else of_rows + log_factor(0, 0)
    out = np.full(len(P), -np.inf)
    step = P.n_components * P.n_features**2
    n_groups = P.whole.covariances.n_groups
    measure = log_determinants_and_lengths.choose((n_groups + len(P.whole)) * P.n_features**2)
    for part in bounded_slices(len(P), 3 * step):
        groups, group_of_row = np.unique(P.group_of_row[part], return_inverse=True)
        dense = table.dense(groups, n_groups)
        means, log_weights = P.means[part], P.log_weights[part]
        for a in range(P.n_components):
            for b in range(a + 1):
                log_dets, lengths = measure(
                    smoothing.covariance + dense[:, a] + dense[:, b],
                    group_of_row,
                    np.ascontiguousarray(means[:, a] - means[:, b]),
                )
                term = log_weights[:, a] + log_weights[:, b] - 0.5 * lengths
                if scaled:
                    term -= 0.5 * (log_dets - smoothing.log_determinant)
                if a != b:
                    term += np.log(2)
                if log_factor is not None:
                    term += log_factor(a, b)[part]
                out[part] = np.logaddexp(out[part], term)
    return out


def _log_determinant_ratios(P: Beliefs, smoothing: Smoothing) -> FloatArray:
    """Return ``log det (G + 2 inv(C0))[L,L] - log det G[L,L]`` for what each pattern misses."""
    precision = P.prior.precisions[0]
    masks = P.patterns.masks
    log_determinants = principal_log_determinants.choose(P.whole.patterns.masks.size * P.n_features)
    if len(P.whole.patterns.masks) == 1 and log_determinants is principal_log_determinants.plain:
        # A single new row: its submatrices by themselves.
        missing = np.flatnonzero(masks[0])
        within = missing[:, None], missing
        certain = precision[within]
        return np.array(
            [
                log_determinant(certain + 2 * smoothing.information[within])
                - log_determinant(certain)
            ]
        )
    # Copies of our own: compiled code is compiled once more for read-only arrays.
    spread = log_determinants(precision + 2 * smoothing.information, np.array(masks))
    return np.asarray(spread - log_determinants(precision.copy(), np.array(masks)))


def _log_self_similarities_in_factors(P: Beliefs, smoothing: Smoothing, scaled: bool) -> FloatArray:
    """Return what :func:`log_self_similarities` returns, for a density of few factors."""
    out = np.full(len(P), -np.inf)
    n_factors = 0 if P.prior.low_rank is None else P.prior.low_rank.n_factors
    for part in bounded_slices(len(P), P.n_features + 12 * n_factors**2):
        some = P[part]
        for a in range(P.n_components):
            for b in range(a + 1):
                log_ratios, lengths = factor_log_self_similarities(some, a, b, smoothing)
                term = some.log_weights[:, a] + some.log_weights[:, b] - 0.5 * lengths
                if scaled:
                    term -= 0.5 * log_ratios
                if a != b:
                    term += np.log(2)
                out[part] = np.logaddexp(out[part], term)
    return out
