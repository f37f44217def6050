"""Which rows a fitted model was trained on, where it keeps them."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from absentia.machines.base import KernelMachine
from absentia.tables import BoolArray, FloatArray

__all__ = ["rows_learned_from"]

#: Where scikit-learn's neighbours, kernel ridge and Gaussian processes keep their training rows.
_KEPT_BY_SCIKIT_LEARN = ("_fit_X", "X_fit_", "X_train_")


def rows_learned_from(model: BaseEstimator, table: FloatArray) -> BoolArray:
    """Return which rows of a table (NaN where missing) are among the training rows of a model.

    Only models that keep their training rows can be checked; for others no row is found. Rows of
    which nothing is observed are all alike, and do not count.
    """
    known = _training_rows(model)
    if known is None or known.shape[1:] != table.shape[1:]:
        return np.zeros(len(table), dtype=bool)
    seen = {_key(row) for row in known}
    alike = np.array([_key(row) in seen for row in table], dtype=np.bool_)
    return alike & ~np.isnan(table).all(axis=1)


def _training_rows(model: BaseEstimator) -> FloatArray | None:
    if isinstance(model, KernelMachine):
        beliefs = model.beliefs_
        return np.where(beliefs.patterns.mask, np.nan, beliefs.means[:, 0])
    for name in _KEPT_BY_SCIKIT_LEARN:
        rows = getattr(model, name, None)
        if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind == "f":
            return rows
    return None


def _key(row: FloatArray) -> bytes:
    # One bit pattern for every NaN, and for both zeros.
    return np.where(np.isnan(row), np.nan, row + 0.0).tobytes()
