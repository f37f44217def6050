"""Construction of beliefs: from moments, joined, selected, and mapped; and their validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from absentia.beliefs.covariances import CovarianceTable
from absentia.beliefs.prior import Prior, check_codes, row_probabilities
from absentia.engine.threads import bounded_slices
from absentia.missingness import Patterns
from absentia.tables import FloatArray, IntArray, RowIndex
from absentia.tables.margins import Margins
from absentia.tables.stored import assume_valid, frozen

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs


def moments_by_row(
    means: ArrayLike,
    covariances: ArrayLike | None,
    variances: ArrayLike | None,
    prior: Prior | None,
) -> tuple[FloatArray, FloatArray, CovarianceTable, IntArray, Patterns, Prior]:
    """Return the parts of beliefs, in their order; see ``Beliefs.from_moments``."""
    centres = np.array(means, dtype=np.float64, ndmin=2)
    if centres.ndim != 2 or not centres.size or not np.isfinite(centres).all():
        raise ValueError(
            f"means must be a finite table of shape (n_samples, n_features), found shape "
            f"{centres.shape}{' with NaN or infinity' * (not np.isfinite(centres).all())}. "
            "Rows with missing values go through density.condition(X)."
        )
    values, group_of_row = covariances_by_group(covariances, variances, centres.shape)
    n, d = centres.shape
    if prior is None:
        centred = centres - centres.mean(axis=0)
        average = np.einsum("g,gij->ij", np.bincount(group_of_row) / n, values)
        prior = Prior(
            weights=np.ones(1),
            means=centres.mean(axis=0)[None],
            covariances=(centred.T @ centred / n + average)[None],
        )
    elif prior.n_features != d:
        raise ValueError(
            f"prior is about {prior.n_features} columns, but means have {d}; give the prior of "
            "rows in the same columns."
        )
    prior.ensure_valid()
    table = CovarianceTable.of_matrices(frozen(values[:, None]))
    patterns = Patterns.of_mask(np.zeros(centres.shape, dtype=bool))
    return np.zeros((n, 1)), centres[:, None, :], table, group_of_row, patterns, prior


def covariances_by_group(
    covariances: ArrayLike | None, variances: ArrayLike | None, shape: tuple[int, int]
) -> tuple[FloatArray, IntArray]:
    """Bring what ``Beliefs.from_moments`` accepts into (n_groups, d, d) and a group per row."""
    n, d = shape
    if (covariances is None) == (variances is None):
        raise ValueError("Give either covariances or variances, not both.")
    given = np.asarray(variances if covariances is None else covariances, dtype=np.float64)
    if not np.isfinite(given).all():
        raise ValueError("covariances and variances must be finite, found NaN or infinity.")
    if covariances is not None:
        if given.shape in ((n, d, d), (1, d, d)):
            matrices = given
        elif given.shape == (n, d) == (d, d) and d > 1 and given.any():
            raise ValueError(
                f"covariances of shape {given.shape} could be one matrix for all rows or one "
                f"variance per value, since there are as many rows as columns. Give "
                "covariances[None] for the first, variances=... for the second."
            )
        elif given.shape == (d, d):
            matrices = given[None]
        elif given.shape == (n, d):
            matrices = given[:, :, None] * np.eye(d)
        else:
            raise ValueError(
                f"covariances must have shape {(n, d, d)} (one matrix per row) or {(d, d)} (one "
                f"matrix for all), found {given.shape}. For independent errors give variances."
            )
    else:
        try:
            matrices = np.broadcast_to(given, (n, d))[:, :, None] * np.eye(d)
        except ValueError:
            raise ValueError(
                f"variances must broadcast to {(n, d)}, one per value of the table, found "
                f"shape {given.shape}."
            ) from None
        if given.shape not in ((n, d), (n, 1)):  # all rows alike
            matrices = matrices[:1]
    values = matrices.copy()
    group_of_row = np.arange(n) if len(values) == n else np.zeros(n, dtype=np.intp)
    if not np.allclose(values, values.transpose(0, 2, 1)):
        raise ValueError(
            "covariances must be symmetric: each matrix equal to its transpose. Try "
            "(C + C.transpose(0, 2, 1)) / 2 if the difference is rounding."
        )
    smallest = np.linalg.eigvalsh(values)[:, 0]
    largest = np.abs(values).max(axis=(1, 2))
    if (smallest < -1e-8 * largest).any():
        worst = int(np.argmin(smallest))
        raise ValueError(
            f"covariances must be positive semidefinite, but number {worst} has an eigenvalue of "
            f"{smallest[worst]:.3g}."
        )
    return (values + values.transpose(0, 2, 1)) / 2, group_of_row


def joined(parts: Sequence[Beliefs]) -> Beliefs:
    """Join beliefs about rows of the same table; see :meth:`Beliefs.concatenate`."""
    if not parts:
        raise ValueError("Nothing to concatenate: give at least one Beliefs.")
    first = parts[0]
    if not all(part.prior.equals(first.prior) for part in parts):
        raise ValueError(
            "Beliefs can be joined only when they were conditioned on the same density; "
            "condition all rows with one fitted density first."
        )
    means = np.concatenate([part.means for part in parts])
    log_weights = np.concatenate([part.log_weights for part in parts])
    patterns = Patterns.of_mask(np.concatenate([part.patterns.mask for part in parts]))
    if all(part.covariances.is_conditioned for part in parts):
        table = CovarianceTable.conditioned(first.prior, patterns.masks)
        group_of_row = patterns.pattern_of_row
    else:
        table = CovarianceTable.of_matrices(
            np.concatenate([part.covariances.dense() for part in parts])
        )
        starts = np.cumsum([0] + [part.covariances.n_groups for part in parts[:-1]])
        group_of_row = np.concatenate(
            [part.group_of_row + start for part, start in zip(parts, starts, strict=True)]
        )
    codes = None
    if first.codes is not None:
        codes = np.concatenate([part.codes for part in parts if part.codes is not None])
    whole = replace(
        first,
        log_weights=log_weights,
        means=means,
        covariances=table,
        group_of_row=group_of_row,
        patterns=patterns,
        codes=codes,
    )
    return assume_valid(whole, *parts)


def selected(beliefs: Beliefs, rows: RowIndex) -> Beliefs:
    """Return the beliefs about some rows, with covariances of the groups that they need."""
    if isinstance(rows, int | np.integer):
        if not -len(beliefs) <= rows < len(beliefs):
            raise IndexError(f"row {rows} of beliefs about {len(beliefs)} rows")
        rows = slice(int(rows), int(rows) + 1 or None)
    patterns = beliefs.patterns[rows]
    table, group_of_row = beliefs.covariances.of_rows(beliefs.group_of_row[rows], patterns)
    codes = None if beliefs.codes is None else beliefs.codes[rows]
    part = replace(
        beliefs,
        log_weights=beliefs.log_weights[rows],
        means=beliefs.means[rows],
        covariances=table,
        group_of_row=group_of_row,
        patterns=patterns,
        codes=codes,
    )
    return assume_valid(part, beliefs).labelled(beliefs.__dict__.get("_labels"))


def row_covariances(beliefs: Beliefs) -> FloatArray:
    """Return the covariance of each row; see :meth:`Beliefs.covariance`."""
    if beliefs.n_components == 1:
        return beliefs.covariances.dense()[beliefs.group_of_row, 0]
    weights = beliefs.weights()
    # With roots of the weights both factors are the same: symmetric to the last bit.
    offsets = np.sqrt(weights)[:, :, None] * (beliefs.means - beliefs.mean()[:, None])
    out = np.einsum("icj,icl->ijl", offsets, offsets)
    for part in bounded_slices(len(beliefs), beliefs.n_components * beliefs.n_features**2):
        dense = beliefs.covariances.dense(beliefs.group_of_row[part])
        out[part] += np.einsum("ic,icjl->ijl", weights[part], dense)
    return out


def category_probabilities(beliefs: Beliefs, column: int) -> FloatArray:
    """Return the probability of each category of a column; see :meth:`Beliefs.probabilities`."""
    n_columns = 0 if beliefs.codes is None else beliefs.codes.shape[1]
    if isinstance(column, bool) or not isinstance(column, int | np.integer):
        raise TypeError(
            f"column must be a number, 0 for the first of the {n_columns} columns of categories, "
            f"found {column!r}."
        )
    if beliefs.codes is None or not 0 <= column < n_columns:
        raise IndexError(f"category column {column} of beliefs that have {n_columns}")
    return row_probabilities(beliefs.prior, beliefs.codes, beliefs.weights(), column)


def rescaled(beliefs: Beliefs, units: FloatArray, origin: FloatArray | float) -> Beliefs:
    """Return the beliefs about ``(x - origin) / units``; a tile of the whole in those units."""
    prior = beliefs.prior.kept_in_units(units, origin)
    means, table = (beliefs.means - origin) / units, beliefs.covariances.in_units(units, prior)
    changed = replace(beliefs, means=means, covariances=table, prior=prior, margins=None)
    if beliefs.whole is not beliefs:
        changed.__dict__["_cut"] = beliefs.whole.in_units(units, origin), beliefs.rows_of_whole
    return assume_valid(changed, beliefs)


def mapped(beliefs: Beliefs, A: ArrayLike, b: ArrayLike) -> Beliefs:
    """Return the beliefs about ``A x + b``; see :meth:`Beliefs.transform`."""
    A = np.array(A, dtype=np.float64, ndmin=2)
    if A.shape[1] != beliefs.n_features:
        raise ValueError(
            f"A must have one column for each of the {beliefs.n_features} features, found shape "
            f"{A.shape}."
        )
    b = np.asarray(b, dtype=np.float64)
    if b.shape not in ((), (1,), (A.shape[0],)):
        raise ValueError(
            f"b must be one number, or one for each of the {A.shape[0]} rows of A, found shape "
            f"{b.shape}."
        )
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise ValueError("A and b must be finite, found NaN or infinity.")
    b = np.broadcast_to(b, (A.shape[0],))
    prior = beliefs.prior.transform(A, b)
    patterns, table = beliefs.patterns, beliefs.covariances
    diagonal = np.diagonal(A)
    if A.shape[0] == A.shape[1] and not np.count_nonzero(A - np.diag(diagonal)):
        means = beliefs.means * diagonal + b
    else:
        means = beliefs.means @ A.T + b
        patterns = Patterns.of_mask(np.zeros((len(beliefs), A.shape[0]), dtype=bool))
    if patterns is beliefs.patterns and table.is_conditioned and diagonal.all():
        # Scaled columns are conditioned as before: the covariances are those of the new prior.
        moved = CovarianceTable.conditioned(prior, patterns.masks)
    else:
        values = A @ table.dense() @ A.T
        moved = CovarianceTable.of_matrices(frozen((values + values.transpose(0, 1, 3, 2)) / 2))
    found = replace(
        beliefs, means=means, covariances=moved, patterns=patterns, prior=prior, margins=None
    )
    return assume_valid(found, beliefs)


def check_parts(beliefs: Beliefs) -> None:
    """Raise ValueError unless all parts are about the same rows, columns and components."""
    kinds = {"patterns": Patterns, "covariances": CovarianceTable, "prior": Prior}
    for name, kind in kinds.items():
        beliefs._require_type(name, kind)
        getattr(beliefs, name).ensure_valid()
    beliefs._require_array("means", np.float64, (len(beliefs.patterns), None, None))
    n, k, d = beliefs.means.shape
    beliefs._require_array("log_weights", np.float64, (n, k))
    beliefs._require_array("group_of_row", np.intp, (n,))
    table, masks = beliefs.covariances, beliefs.patterns.masks
    beliefs._require_indices("group_of_row", table.n_groups)
    beliefs._require_finite("means")
    if np.isnan(beliefs.log_weights).any() or (beliefs.log_weights == np.inf).any():
        raise ValueError("Beliefs.log_weights must be finite or minus infinity.")
    columns = (masks.shape[1], table.n_features, beliefs.prior.n_features)
    if columns != (d, d, d) or not k or table.n_components != k:
        raise ValueError(
            f"Beliefs about {d} columns with {k} components have patterns, covariances and a "
            f"prior about {columns} columns, and covariances of {table.n_components}."
        )
    # The prior has as many as its weights; arrays without rows may say any number.
    if k not in (1, beliefs.prior.n_components):
        raise ValueError(f"Beliefs with {k} components, {beliefs.prior.n_components} in the prior.")
    table.validate_groups(beliefs.patterns, beliefs.group_of_row)
    if beliefs.codes is not None or beliefs.prior.probabilities:
        check_codes(beliefs.codes, n, beliefs.prior.n_categories)
    if beliefs.margins is not None:
        beliefs._require_type("margins", Margins)
        beliefs.margins.ensure_valid()
        if len(beliefs.margins.curves) != d:
            raise ValueError(f"Beliefs about {d} columns have margins of other columns.")
