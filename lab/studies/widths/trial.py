"""Test R² of Gaussian processes by the deviation of the prior on log-widths, on tables with holes.

The columns are brought to standard units by the training rows. Every repetition draws its training
rows anew; all priors see the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

from absentia import GaussianProcessRegressor
from absentia.tables import FloatArray

TABLES = (
    "ozone_la",
    "auto_mpg",
    "echo_months",
    "air_quality_uci",
    "airquality_ny",
    "beijing_multisite_air",
)
PRIORS: tuple[float | str, ...] = (0.0, 0.3, 1.0, 3.0, "cv")
_TRAINING_ROWS = 200
_TEST_ROWS = 1000


@dataclass(frozen=True)
class Cell:
    """One fit: what it was fitted to, how well it predicts, how long it took."""

    table: str
    repetition: int
    n_train: int
    n_columns: int
    prior: str
    chosen: float
    r2: float
    seconds: float


def cells(data: Path, table: str, repetition: int) -> Iterator[Cell]:
    """Yield the fits of all priors to one draw of training rows."""
    X, y = _read(data, table)
    rng = np.random.default_rng(repetition)
    order = rng.permutation(len(y))
    n_train = min(_TRAINING_ROWS, int(0.6 * len(y)))
    train, test = order[:n_train], order[n_train : n_train + _TEST_ROWS]
    seen = ~np.isnan(X[train]).all(axis=0) & (np.nanstd(X[train], axis=0) > 0)
    X = X[:, seen]
    X = (X - np.nanmean(X[train], axis=0)) / np.nanstd(X[train], axis=0)
    for prior in PRIORS:
        begin = time.perf_counter()
        machine = GaussianProcessRegressor(gamma="ard", width_prior=prior)
        machine.fit(X[train], y[train])
        yield Cell(
            table,
            repetition,
            n_train,
            X.shape[1],
            str(prior),
            machine.width_prior_,
            r2_score(y[test], machine.predict(X[test])),
            time.perf_counter() - begin,
        )


def _read(data: Path, table: str) -> tuple[FloatArray, FloatArray]:
    path = next(p for p in (data / f"{table}.csv", data / f"{table}.csv.gz") if p.exists())
    frame = pd.read_csv(path)
    y = frame.pop("target").to_numpy(dtype=np.float64)
    words = list(frame.select_dtypes(exclude="number"))
    for name in words:
        indicators = pd.get_dummies(frame[name], prefix=name, dtype=float)
        indicators[frame[name].isna()] = np.nan
        frame = frame.drop(columns=name).join(indicators)
    return frame.to_numpy(dtype=np.float64), y
