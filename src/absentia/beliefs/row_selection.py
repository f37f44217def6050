"""Beliefs about other rows: some of them, or those of several parts joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from absentia.beliefs.priors.covariances import (
    ConditionalCovariances,
    CovarianceTable,
    ExplicitCovariances,
)
from absentia.missingness import Patterns
from absentia.tables import RowIndex
from absentia.tables.stored import assume_valid

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs

__all__ = ["joined", "selected"]


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
        table: CovarianceTable = ConditionalCovariances(first.prior, patterns.masks)
        group_of_row = patterns.pattern_of_row
    else:
        table = ExplicitCovariances(np.concatenate([part.covariances.dense() for part in parts]))
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
