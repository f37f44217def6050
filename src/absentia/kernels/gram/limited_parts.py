"""Beliefs of which some rows have limits, cut into conditioned rows and the others.

The matrix of all rows is assembled from the matrices of the parts: conditioned rows among
themselves take the algorithms that work from precisions and masks, whatever other rows have.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from absentia.beliefs import Beliefs
from absentia.kernels.gram.small_gram import LogFactor
from absentia.kernels.gram.smoothing import Smoothing
from absentia.tables import FloatArray, IntArray

__all__ = ["LimitedParts", "gram_of_parts"]

#: Beliefs, which of the rows they are about, for the rows with and without limits.
LimitedParts = list[tuple[IntArray, Beliefs]]


def gram_of_parts(
    P: Beliefs,
    Q: Beliefs | None,
    smoothing: Smoothing,
    row_norms: FloatArray,
    column_norms: FloatArray,
    log_factor: LogFactor | None,
    gram: Callable[..., FloatArray],
) -> FloatArray | None:
    """Return the matrix assembled from those of the parts; None where nothing was cut.

    ``gram`` is called as :func:`absentia.kernels.gram.expected.expected_gram` is.
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


def _parts(beliefs: Beliefs) -> LimitedParts:
    """Return the conditioned rows and the others; of a tile as tiles of the parts of the whole."""
    whole = beliefs.whole
    kept: LimitedParts | None = vars(whole).get("_by_limits")
    if kept is None:
        explicit = whole.covariances.explicit_groups()[whole.group_of_row]
        if explicit.all() or not explicit.any():
            return [(np.arange(len(beliefs)), beliefs)]
        cut = [(rows, whole[rows]) for rows in map(np.flatnonzero, (~explicit, explicit))]
        kept = vars(whole).setdefault("_by_limits", cut)
    if whole is beliefs:
        return kept
    here = beliefs.rows_of_whole
    found: LimitedParts = []
    for rows, part in kept:
        start, stop = np.searchsorted(rows, [here.start, here.stop]).tolist()
        if start < stop:
            found.append((rows[start:stop] - here.start, part.tile(slice(start, stop))))
    return found
