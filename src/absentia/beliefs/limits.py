"""Beliefs about values that have limits or errors, or that are not missing at random.

Values within limits are truncated Gaussians, replaced by Gaussians of the same moments. If a value
is more likely to be missing the larger it is, the missing values of a row have the density of the
belief times ``exp(g'x)``, up to a factor: ``N(m, C)`` becomes ``N(m + C g, C)``, and the weight of
component ``c`` of a mixture changes by ``exp(g'm_c + g'C_c g / 2)``. A category that is more likely
to be missing has its odds multiplied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from absentia.beliefs.prior import FARTHEST
from absentia.beliefs.truncated_normal import propagated
from absentia.engine.threads import bounded_slices
from absentia.tables import FloatArray, IntArray
from absentia.tables.known_limits import broadcast_limits
from absentia.tables.stored import assume_valid, frozen

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs


def limited(beliefs: Beliefs, lower: ArrayLike, upper: ArrayLike) -> Beliefs:
    """Return the beliefs with missing numbers between limits; see :meth:`Beliefs.within`."""
    low, high = broadcast_limits(lower, upper, beliefs.shape)
    if not (low < high).all():
        row, column = np.argwhere(~(low < high))[0]
        raise ValueError(
            f"Every lower limit must be below its upper limit, but row {row} has "
            f"{low[row, column]:g} and {high[row, column]:g} in column {column}."
        )
    rows, low, high = limited_rows(beliefs, low, high)
    if not len(rows):
        return beliefs
    spread = beliefs.covariances.dense(beliefs.group_of_row[rows])
    return _renewed(beliefs, rows, *truncated_to(beliefs.means[rows], spread, low, high))


def measured(beliefs: Beliefs, values: FloatArray, errors: FloatArray) -> Beliefs:
    """Return the beliefs given measurements with errors, for values that they take as missing.

    With ``T = diag(1 / errors^2)``, zero for other columns, and ``A = I + sqrt(T) C sqrt(T)``,
    ``N(m, C)`` becomes a Gaussian with the covariance ``C - C sqrt(T) inv(A) sqrt(T) C`` and the
    mean ``m + C sqrt(T) inv(A) sqrt(T) (values - m)``, and the component gains the weight
    ``N(values | m, C + diag(errors^2))`` of the measured columns.
    """
    rows = np.flatnonzero(errors.any(axis=1))
    spread, means = beliefs.covariances.dense(beliefs.group_of_row[rows]), beliefs.means[rows]
    known = errors[rows] > 0
    roots = np.divide(1.0, errors[rows], out=np.zeros(known.shape), where=known)[:, None]
    offsets = np.where(known[:, None], values[rows][:, None] - means, 0.0) * roots
    scaled = spread * roots[..., None, :]  # C sqrt(T)
    A = np.eye(beliefs.n_features) + roots[..., :, None] * scaled
    sides = np.concatenate([offsets[..., None], scaled.swapaxes(-1, -2)], axis=-1)
    solved = np.linalg.solve(A, sides)
    log_masses = -0.5 * (
        np.linalg.slogdet(A)[1] + (offsets * solved[..., 0]).sum(axis=-1)
    )  # and a term that all components share
    narrowed = spread - scaled @ solved[..., 1:]
    moved = means + (scaled @ solved[..., :1])[..., 0]
    return _renewed(beliefs, rows, log_masses, moved, (narrowed + narrowed.swapaxes(-1, -2)) / 2)


def _renewed(
    beliefs: Beliefs,
    rows: IntArray,
    log_masses: FloatArray,
    moved: FloatArray,
    narrowed: FloatArray,
) -> Beliefs:
    """Return beliefs in which some rows have other weights, means, and covariances of their own."""
    log_weights, means = np.array(beliefs.log_weights), np.array(beliefs.means)
    groups = np.array(beliefs.group_of_row)
    log_joint = log_weights[rows] + log_masses
    log_weights[rows] = log_joint - logsumexp(log_joint, axis=1, keepdims=True)
    means[rows] = moved
    groups[rows] = beliefs.covariances.n_groups + np.arange(len(rows))
    table = beliefs.covariances
    table = replace(table, explicit=frozen(np.concatenate([table.explicit, narrowed])))
    found = replace(
        beliefs, log_weights=log_weights, means=means, covariances=table, group_of_row=groups
    )
    return assume_valid(found, beliefs).labelled(beliefs.__dict__.get("_labels"))


def limited_rows(
    beliefs: Beliefs, lower: FloatArray, upper: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return which rows miss a number that has a limit, and the limits of these rows."""
    has_limit = (np.isfinite(lower) | np.isfinite(upper)) & beliefs.mask
    rows = np.flatnonzero(has_limit.any(axis=1))
    lower, upper = np.where(has_limit, lower, -np.inf), np.where(has_limit, upper, np.inf)
    far = beliefs.prior.out_of_reach(lower, upper)
    if far is not None:
        row, column, limit = far
        raise_too_far(row, limit, beliefs.labels[column])
    return rows, lower[rows], upper[rows]


def raise_too_far(row: int, limit: float, name: str) -> NoReturn:
    """Say which limit is too far from everything else."""
    raise ValueError(
        f"Row {row} has a limit of {limit:.3g} in column {name}, more than {FARTHEST:g} standard "
        "deviations from what is known of it, which is too far for double precision. Correct the "
        "limit, or leave it out."
    )


def log_masses(beliefs: Beliefs, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the log-probability that each component of each row keeps to the limits, (n, k)."""
    rows, low, high = limited_rows(beliefs, lower, upper)
    out = np.zeros(beliefs.log_weights.shape)
    for part in bounded_slices(len(rows), beliefs.n_components * beliefs.n_features**2):
        some = rows[part]
        spread = beliefs.covariances.dense(beliefs.group_of_row[some])
        out[some] = truncated_to(beliefs.means[some], spread, low[part], high[part])[0]
    return out


def truncated_to(
    means: FloatArray, covariances: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the moments of Gaussians of which some columns lie within limits.

    One limited column is exact: it gets the moments of the truncated normal, and the others follow
    by regression on it. Several are approximated by expectation propagation (Minka, 2001;
    Cunningham, Hennig and Lacoste-Julien, 2011): each limit is replaced by a Gaussian factor of its
    column, chosen so that the column has the moments of the truncated normal given the factors of
    the others.

    From means (n, k, d), covariances (n, k, d, d) and limits (n, d), at least one per row, to
    log-probabilities of the limits (n, k), means and covariances.
    """
    # A column without any variance left cannot move.
    uncertain = (np.diagonal(covariances, axis1=2, axis2=3) > 0).all(axis=1)
    lower, upper = np.where(uncertain, lower, -np.inf), np.where(uncertain, upper, np.inf)
    # The limited columns of each row, gathered; rows with fewer are filled up with columns that
    # have nothing to do with the others.
    has_limit = np.isfinite(lower) | np.isfinite(upper)
    q = max(1, int(has_limit.sum(axis=1).max()))
    columns = np.argsort(~has_limit, axis=1, kind="stable")[:, :q]
    filled = ~np.take_along_axis(has_limit, columns, axis=1)[:, None]
    cross = np.take_along_axis(covariances, columns[:, None, None, :], axis=3)
    cross[np.broadcast_to(filled[:, :, None], cross.shape)] = 0.0
    S = np.take_along_axis(cross, columns[:, None, :, None], axis=2)
    S[np.broadcast_to(filled[..., None], S.shape)] = 0.0
    S += filled[..., None] * np.eye(q)
    # In standard deviations from the mean, so that columns far from zero lose no digits, and those
    # of any unit are alike.
    deviations = np.sqrt(np.diagonal(S, axis1=2, axis2=3))
    cross /= deviations[:, :, None]
    R = S / (deviations[..., :, None] * deviations[..., None, :])
    centres = np.take_along_axis(means, columns[:, None, :], axis=2)
    low = (np.take_along_axis(lower, columns, axis=1)[:, None] - centres) / deviations
    high = (np.take_along_axis(upper, columns, axis=1)[:, None] - centres) / deviations
    factored = propagated(R, low, high)
    shifts = (cross @ factored.pulls[..., None])[..., 0]
    narrowed = covariances - cross @ factored.losses @ cross.swapaxes(-1, -2)
    # The remaining variance of the limited columns can be far smaller than the reduction.
    at = np.broadcast_to(columns[:, None], filled.shape[:1] + shifts.shape[1:2] + (q,))
    left = cross @ factored.gains.swapaxes(-1, -2) * deviations[:, :, None]
    left = np.where(filled[:, :, None], np.take_along_axis(narrowed, at[:, :, None], 3), left)
    np.put_along_axis(narrowed, at[:, :, None], left, axis=3)
    np.put_along_axis(narrowed, at[..., None], left.swapaxes(-1, -2), axis=2)
    here = np.where(filled, np.take_along_axis(shifts, at, axis=2), factored.means * deviations)
    np.put_along_axis(shifts, at, here, axis=2)
    lost = np.diagonal(narrowed, axis1=2, axis2=3) < 0
    if lost.any():  # an interval so narrow that nothing but rounding is left of its variance
        narrowed[lost[..., :, None] | lost[..., None, :]] = 0.0
    moved = np.clip(means + shifts, lower[:, None], upper[:, None])
    return factored.log_masses, moved, (narrowed + narrowed.swapaxes(-1, -2)) / 2


#: Shifts in deviations: beyond this, squares of the means may overflow.
_LARGEST = 1e50


def tilted(
    beliefs: Beliefs, shift: ArrayLike, log_odds: Mapping[int, ArrayLike] | None = None
) -> Beliefs:
    """Return tilted beliefs; see :meth:`Beliefs.tilted`."""
    try:
        deltas = np.broadcast_to(np.asarray(shift, dtype=np.float64), beliefs.shape)
    except ValueError:
        raise ValueError(
            f"shift must be one number, one for each of the {beliefs.n_features} columns, or one "
            f"per row and column, found shape {np.shape(shift)}."
        ) from None
    if not (np.abs(deltas) <= _LARGEST).all():
        raise ValueError(f"shift must be finite and at most {_LARGEST:g} deviations.")
    spread, centre = beliefs.spread(), beliefs.mean()
    slopes = np.divide(deltas, spread, out=np.zeros(beliefs.shape), where=spread > 0)
    means, log_weights = beliefs.means.copy(), beliefs.log_weights.copy()
    for part in bounded_slices(len(beliefs), beliefs.n_components * beliefs.n_features**2):
        dense = beliefs.covariances.dense(beliefs.group_of_row[part])
        moved = np.einsum("icjl,il->icj", dense, slopes[part])
        # About the mean of the row: observed values cancel, and so does what all weights share.
        offsets = means[part] - centre[part][:, None] + 0.5 * moved
        log_weights[part] += np.einsum("icj,ij->ic", offsets, slopes[part])
        means[part] += moved
    prior = beliefs.prior
    for column, given in (log_odds or {}).items():
        tables = list(prior.probabilities)
        if beliefs.codes is None or not 0 <= column < len(tables):
            raise ValueError(f"log_odds: there is no column {column} of categories.")
        odds = np.asarray(given, dtype=np.float64)
        if odds.shape != tables[column].shape[1:] or not np.isfinite(odds).all():
            raise ValueError(
                f"log_odds of column {column} must be {tables[column].shape[1]} finite numbers, "
                f"found {given!r}."
            )
        with np.errstate(divide="ignore"):
            logs = np.log(tables[column]) + odds
        total = logsumexp(logs, axis=1)
        log_weights += np.where(beliefs.codes[:, column, None] < 0, total, 0.0)
        tables[column] = np.exp(logs - total[:, None])
        prior = assume_valid(replace(prior, probabilities=tuple(tables)), prior)
    log_weights -= logsumexp(log_weights, axis=1, keepdims=True)
    found = replace(beliefs, means=means, log_weights=log_weights, prior=prior)
    return assume_valid(found.labelled(beliefs.labels), beliefs)
