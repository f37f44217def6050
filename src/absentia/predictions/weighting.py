"""Calibration rows completed by draws, and weighted by how likely they miss what a test row misses.

A row ``(x, y)`` from the law of all rows stands for the rows that miss ``m`` with the weight
``P(M = m | x)``: ``E[g | M = m] = E[g P(M = m | x)] / P(M = m)``. With calibration rows that are
completed by draws, masked by ``m`` and weighted like this, weighted conformal prediction
(Tibshirani et al. 2019) covers for every pattern, however values came to be missing (Fan, Park, Vo
and Brunel 2025, arXiv 2512.14221), as far as the law of the rows and the weights are known. Draws
of a row that misses ``M`` have the shares ``P(M | x)`` among themselves, so that they follow the
law of such rows; for values missing at random all shares are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_expit, logit
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from absentia.densities.fit_density import DensityLike
from absentia.densities.gaussian import GaussianDensity
from absentia.densities.imputation import density_to_impute
from absentia.densities.mixture import MixedDensity
from absentia.engine.threads import computed_once
from absentia.missingness import Patterns
from absentia.predictions.hiding_table import HidingTable
from absentia.tables import BoolArray, FloatArray, IntArray, Table
from absentia.tables.reading import has_columns_of_words

_TARGET = "conformal target"
#: Rows per column from which on correlations need no shrinkage.
_ROWS_PER_COLUMN = 10
#: From complete rows, as the user has them, and a mask to the probability of the mask for each.
MaskProbability = Callable[[Any, BoolArray], Any]


def fit_joint_density(
    density: DensityLike, table: HidingTable, y: FloatArray, classifies: bool
) -> Any:
    """Return a density of the columns and the target together, fitted to rows."""
    if isinstance(density, FrozenEstimator):
        return density.estimator
    rows = _joined(table, y)
    if density != "auto":
        return density_to_impute(density).fit(rows)
    # Shrunken correlations would make the target less certain than it is given all columns.
    enough = len(table) >= _ROWS_PER_COLUMN * (table.n_features + 1)
    settings: Any = {"margins": "auto", "shrinkage": 0.0 if enough else "auto"}
    if classifies or (hasattr(rows, "iloc") and has_columns_of_words(rows)):
        label: list[Any] = [_TARGET if hasattr(rows, "iloc") else table.n_features]
        return MixedDensity(categories=label * classifies, random_state=0, **settings).fit(rows)
    return GaussianDensity(**settings).fit(rows)


def _joined(table: HidingTable, y: FloatArray | None) -> Any:
    """Return rows with their target as the last column, missing where it is not known."""
    target = np.full(len(table), np.nan) if y is None else y.astype(np.float64)
    if hasattr(table.values, "iloc"):
        return table.values.assign(**{_TARGET: target})
    array = np.column_stack([table.values, target])
    if table.lower is None or table.upper is None:
        return array
    ends = [
        np.column_stack([limits, np.full(len(table), none)])
        for limits, none in ((table.lower, -np.inf), (table.upper, np.inf))
    ]
    return Table(array, lower=ends[0], upper=ends[1])


class CompletedRows(NamedTuple):
    """Completed rows, the row that each is a draw of, and their numbers and indicators."""

    table: HidingTable
    row: IntArray
    inputs: FloatArray


def complete(
    density: Any, table: HidingTable, y: FloatArray | None, n_draws: int, seed: int
) -> CompletedRows:
    """Return ``n_draws`` draws of each row that misses a value, and all others as they are."""
    given, target = _joined(table, y), table.n_features
    rows = density._open_in_memory(given)
    draws = density._drawn(rows, n_draws, np.random.RandomState(seed))
    holes = rows.mask[:, : rows.n_features - 1].any(axis=1)
    whole, drawn = np.flatnonzero(~holes), np.flatnonzero(holes)
    row = np.concatenate([whole, np.tile(drawn, n_draws)])
    draw = np.concatenate([np.zeros(len(whole), np.intp), np.repeat(range(n_draws), len(drawn))])
    filled, columns = draws[draw, row], density.columns_
    inputs, coded = [], {}
    if hasattr(density, "categories_"):
        coded = dict(zip(density.category_columns_, density.categories_, strict=True))
    for at, j in enumerate(columns):
        if j < rows.n_features - 1:
            own = filled[:, at, None]
            inputs.append(own if j not in coded else (own == coded[j]).astype(np.float64))
    if hasattr(table.values, "iloc"):
        import pandas as pd

        frames = density._in_units(draws, given)
        parts = [frames[0].iloc[whole], *(frame.iloc[drawn] for frame in frames)]
        values = pd.concat(parts, ignore_index=True).reindex(columns=list(table.values.columns))
        mask = values.isna().to_numpy()
    else:
        values = np.full((len(row), target), np.nan)
        values[:, columns[columns < target]] = filled[:, columns < target]
        mask = np.isnan(values)
    found = replace(table, values=values, mask=mask, lower=None, upper=None)
    return CompletedRows(found, row, np.hstack(inputs))


def fit_mechanism(rows: CompletedRows, masks: BoolArray) -> FloatArray:
    """Return coefficients of the probability that columns are missing, given a complete row.

    By the chain rule ``P(M | x) = prod_j P(M_j | x, M_1 ... M_(j - 1))``, each factor a logistic
    regression: (n_columns, 1 + n_inputs + n_columns) of intercepts, inputs and earlier columns.
    """
    missing, inputs = masks[rows.row], rows.inputs
    n, (_, d), p = len(masks), masks.shape, inputs.shape[1]
    weights = 1.0 / np.bincount(rows.row, minlength=n)[rows.row]
    centre, scale = inputs.mean(axis=0), inputs.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    found = np.zeros((d, 1 + p + d))
    for j in range(d):
        count = masks[:, j].sum()
        if count in (0, n):
            found[j, 0] = logit((count + 0.5) / (n + 1))
            continue
        features = np.hstack([(inputs - centre) / scale, missing[:, :j]])
        model = LogisticRegression(max_iter=1000).fit(features, missing[:, j], weights)
        found[j, 1 : 1 + p], found[j, 1 + p : 1 + p + j] = np.split(model.coef_[0], [p])
        found[j, 1 : 1 + p] /= scale
        found[j, 0] = model.intercept_[0] - centre @ found[j, 1 : 1 + p]
    return found


@dataclass(frozen=True, eq=False)
class Weighting:
    """Completed calibration and test rows, and the probability of a mask for each of them."""

    known: CompletedRows
    new: CompletedRows
    masks: BoolArray
    mechanism: FloatArray | MaskProbability

    def of_mask(self, mask: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights of all calibration draws and of all test rows for a mask."""
        own = self._log_probability(self.known, mask)
        new, row = self._log_probability(self.new, mask), self.new.row
        largest = max(own.max(), new.max(), -1e300)
        test = np.bincount(row, np.exp(new - largest)) / np.bincount(row)
        return np.exp(own - largest) * self.shares, test

    @computed_once
    def shares(self) -> FloatArray:
        """The shares of the draws of each calibration row, which sum to one."""
        patterns, row = Patterns.of_mask(self.masks), self.known.row
        logs = np.empty(len(row))
        for at, mask in enumerate(patterns.masks):
            some = patterns.pattern_of_row[row] == at
            logs[some] = self._log_probability(self.known, mask)[some]
        largest = np.full(len(self.masks), -1e300)
        np.maximum.at(largest, row, logs)
        likelihoods = np.exp(logs - largest[row])
        total = np.bincount(row, likelihoods, len(self.masks))
        return likelihoods / np.maximum(total, np.finfo(float).tiny)[row]

    def _log_probability(self, rows: CompletedRows, mask: BoolArray) -> FloatArray:
        if callable(self.mechanism):
            everything = np.arange(len(rows.row))
            found = np.asarray(self.mechanism(rows.table.take(everything), mask), dtype=np.float64)
            if found.shape != everything.shape or not ((found >= 0) & (found <= 1)).all():
                raise ValueError(
                    "mechanism must return the probability of the mask for each of the "
                    f"{len(rows.row)} rows, numbers from 0 to 1, found shape {found.shape}."
                )
            with np.errstate(divide="ignore"):
                return np.log(found)
        p = rows.inputs.shape[1]
        before = self.mechanism[:, 1 + p :] @ mask
        logits = self.mechanism[:, 0] + before + rows.inputs @ self.mechanism[:, 1 : 1 + p].T
        return np.asarray(log_expit(np.where(mask, logits, -logits)).sum(axis=1))
