"""From a prior and an incomplete table to beliefs, and to the likelihood of what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np

from absentia.beliefs.beliefs import Beliefs
from absentia.beliefs.conditioning.factor_rows import factor_joint
from absentia.beliefs.conditioning.grouping import group_rows
from absentia.beliefs.conditioning.rows_given import RowsGiven
from absentia.beliefs.priors.categories import category_log_likelihoods, check_codes
from absentia.beliefs.priors.covariances import ConditionalCovariances
from absentia.beliefs.priors.prior import FARTHEST, Prior
from absentia.engine.threads import one_blas_thread
from absentia.missingness import Patterns
from absentia.tables import FloatArray, IntArray
from absentia.tables.stored import assume_valid

__all__ = ["condition", "joint_log_densities", "log_normalised"]

_FEW_ROWS = 256


def condition(
    prior: Prior,
    X: FloatArray,
    names: Sequence[str] | None = None,
    patterns: Patterns | None = None,
    codes: IntArray | None = None,
) -> tuple[Beliefs, FloatArray]:
    """Condition a prior on what each row has, and score each row.

    For a row that has ``O`` and misses ``L``, component by component: the mean on ``L`` is
    ``m[L] + S[L,O] inv(S[O,O]) (x[O] - m[O])``, the log-weight is that of the component plus
    ``log N(x[O] | m[O], S[O,O])``, normalised over components: Eq. (2) of [Williams2005]_. Each
    pattern is factored once, on its smaller side; the rest is one product of matrices.

    Parameters
    ----------
    prior : Prior
    X : ndarray of shape (n_samples, n_features)
    names : sequence of str, optional
        What to call the columns where a value is refused.
    patterns : Patterns, optional
        The missing patterns of ``X``, where they are known.
    codes : ndarray of int, shape (n_samples, n_category_columns), optional
        The categories of the rows, -1 where missing. The log-weight of a component gains
        ``log p(category | component)`` of each category that was observed.

    Returns
    -------
    beliefs : Beliefs
    log_likelihoods : ndarray of shape (n_samples,)
        ``log p(x[O])`` of each row; zero for a row with nothing observed.
    """
    _check_reach(prior, X, names)
    patterns = _patterns_of(X, patterns)
    n, d = X.shape
    k = prior.n_components
    if patterns.masks.any():
        means = np.empty((n, k, d))
        log_joint = _joint(prior, X, patterns, means)
    else:  # nothing to complete: all components share one copy, which the caller cannot change
        means = np.broadcast_to(X.copy()[:, None, :], (n, k, d))
        log_joint = _joint(prior, X, patterns, None)
    if codes is None and prior.probabilities:  # rows of numbers: no category is known
        codes = np.full((n, len(prior.probabilities)), -1, dtype=np.intp)
    if codes is not None:
        check_codes(codes, n, prior.n_categories)
        log_joint += category_log_likelihoods(prior, codes)
    log_weights, log_likelihoods = log_normalised(log_joint)
    beliefs = Beliefs(
        log_weights=log_weights,
        means=means,
        covariances=ConditionalCovariances(prior, patterns.masks),
        group_of_row=patterns.pattern_of_row,
        patterns=patterns,
        prior=prior,
        codes=codes,
    )
    return assume_valid(beliefs, prior, patterns), log_likelihoods


def joint_log_densities(
    prior: Prior,
    X: FloatArray,
    names: Sequence[str] | None = None,
    patterns: Patterns | None = None,
    codes: IntArray | None = None,
) -> FloatArray:
    """Return ``log(weights[c]) + log p(x[O] | component c)``, shape (n_samples, n_components)."""
    _check_reach(prior, X, names)
    patterns = _patterns_of(X, patterns)
    log_joint = _joint(prior, X, patterns, None)
    if codes is not None:
        log_joint += category_log_likelihoods(prior, codes)
    return log_joint


def log_normalised(log_joint: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log-weights of the components of each row, and the log of their sum."""
    largest = log_joint.max(axis=1)
    if log_joint.shape[1] == 1:
        return np.zeros_like(log_joint), largest
    # Relative to the largest until the end: far from all components the logarithms are so large
    # that the sum of the weights would drown in their rounding.
    relative = log_joint - largest[:, None]
    log_sums = np.log(np.exp(relative).sum(axis=1))
    return relative - log_sums[:, None], largest + log_sums


def _patterns_of(X: FloatArray, patterns: Patterns | None) -> Patterns:
    """Return the patterns of rows, found or given: compiled code looks rows up by them."""
    if patterns is None:
        return Patterns.of_mask(np.isnan(X))
    patterns.ensure_valid()
    if (len(patterns), patterns.masks.shape[1]) != X.shape:
        raise ValueError(
            f"Patterns of {len(patterns)} rows in {patterns.masks.shape[1]} columns were given for "
            f"{X.shape[0]} rows in {X.shape[1]} columns."
        )
    return patterns


def _check_reach(prior: Prior, X: FloatArray, names: Sequence[str] | None) -> None:
    """Refuse a value so far from a component that its log-density would overflow."""
    if not isinstance(prior, Prior) or X.shape[1] != prior.n_features:
        found = f"{prior.n_features}" if isinstance(prior, Prior) else "no"
        raise ValueError(
            f"The density has {found} columns, but the rows have {X.shape[1]}: condition rows with "
            "the columns that it was fitted to."
        )
    prior.ensure_valid()
    largest = np.fmax.reduce(np.abs(X), axis=0, initial=0.0)
    if (largest < prior.reach).all():
        return
    deviations = np.sqrt(prior.variances)
    with np.errstate(over="ignore"):
        for mean, deviation in zip(prior.means, deviations, strict=True):
            far = np.abs(X / FARTHEST - mean / FARTHEST) > deviation
            if far.any():
                i, j = np.argwhere(far)[0]
                name = f"x{j}" if names is None else names[j]
                raise ValueError(
                    f"Row {i} has {X[i, j]:.3g} in column {name}, more than {FARTHEST:g} standard "
                    "deviations from a mean of the density, which is too far for double "
                    "precision. Correct the value, or leave it missing."
                )


def _joint(prior: Prior, X: FloatArray, patterns: Patterns, means: FloatArray | None) -> FloatArray:
    """Return the joint log-densities and, where asked, write the conditional means."""
    if prior.low_rank is not None:
        return factor_joint(prior.low_rank, X, patterns, means)
    log_joint = np.empty((len(X), prior.n_components))
    # Keeping BLAS to one thread takes as long as conditioning a few hundred rows.
    with one_blas_thread() if len(X) > _FEW_ROWS else nullcontext():
        for batch in group_rows(patterns):
            rows = X[batch.rows]
            for c in range(prior.n_components):
                given = RowsGiven.of(batch, rows, prior, c)
                if np.isnan(given.log_densities).any():
                    raise np.linalg.LinAlgError(
                        "A covariance of the density is not positive definite for the "
                        "observed columns; fit the density with a larger reg_covar or with "
                        "shrinkage."
                    )
                log_joint[batch.rows, c] = prior.log_weights[c] + given.log_densities
                if means is not None:
                    completed = given.vectors
                    if not batch.members_are_missing:
                        completed = completed @ prior.covariances[c]
                    completed = prior.means[c] + completed
                    means[batch.rows, c] = np.where(np.isnan(rows), completed, rows)
    return log_joint
