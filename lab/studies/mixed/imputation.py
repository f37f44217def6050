"""Hidden cells of mixed tables filled in: error of numbers, share of right categories, seconds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from absentia import GaussianDensity, MixedDensity
from absentia.tables.column_plan import ColumnPlan
from lab.baselines import MissForestImputer
from lab.studies.mixed.tables import hidden, read

TABLES = (
    "titanic",
    "cylinder_bands",
    "chronic_kidney_disease",
    "hepatitis",
    "soybean",
    "horse_colic",
    "heart_four_sites",
    "mammographic",
    "australian",
    "hypothyroid",
)
ROWS = 250
SHARE = 0.1
REPETITIONS = 5


def _by_indicators(fill: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    def method(frame: pd.DataFrame, plan: ColumnPlan) -> np.ndarray:
        return fill(plan.read(frame).array)

    return method


def _by_density(**params: object) -> Callable[..., np.ndarray]:
    def method(frame: pd.DataFrame, plan: ColumnPlan) -> np.ndarray:
        density = MixedDensity(random_state=0, **params).fit(frame)  # type: ignore[arg-type]
        return plan.read(density.impute(frame)).array

    return method


def _by_forests(frame: pd.DataFrame, plan: ColumnPlan) -> np.ndarray:
    coded = ColumnPlan.of(frame, codes=True)
    rows = coded.read(frame)
    forests = MissForestImputer(
        n_estimators=50, categorical_features=rows.category_columns, random_state=0
    )
    return plan.read(coded.restored(forests.fit_transform(rows.array))).array


METHODS: dict[str, Callable[[pd.DataFrame, ColumnPlan], np.ndarray]] = {
    "MixedDensity": _by_density(),
    "MixedDensity, normal scores": _by_density(margins="normal-scores"),
    "GaussianDensity, indicators": _by_indicators(lambda X: GaussianDensity().fit(X).impute(X)),
    "IterativeImputer, indicators": _by_indicators(
        lambda X: IterativeImputer(random_state=0).fit_transform(X)
    ),
    "five nearest neighbours, indicators": _by_indicators(lambda X: KNNImputer().fit_transform(X)),
    "missForest (50 trees)": _by_forests,
}


def run(folder: Path, tables: Sequence[str] = TABLES) -> Iterator[dict[str, object]]:
    """Yield one line per table, repetition and method."""
    for name in tables:
        for seed in range(REPETITIONS):
            frame, _ = read(folder, name, ROWS, seed)
            seen, chosen = hidden(frame, SHARE, seed)
            plan = ColumnPlan.of(seen, codes=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                truth = plan.read(frame).array
                for label, method in METHODS.items():
                    start = time.process_time()
                    filled = method(seen, plan)
                    seconds = time.process_time() - start
                    error, right = _scores(plan, list(frame.columns), truth, filled, chosen)
                    yield {
                        "table": name,
                        "seed": seed,
                        "method": label,
                        "error": error,
                        "right": right,
                        "seconds": seconds,
                    }


def _scores(
    plan: ColumnPlan, columns: list[str], truth: np.ndarray, filled: np.ndarray, chosen: np.ndarray
) -> tuple[float, float]:
    """Return the root mean squared error of numbers in standard units, and the share of hits."""
    squares, hits = [], []
    for name, places, options in plan.groups():
        rows = chosen[:, columns.index(name)]
        if not places or not rows.any():
            continue
        expected, found = truth[rows][:, list(places)], filled[rows][:, list(places)]
        known = ~np.isnan(expected).any(axis=1)
        expected, found = expected[known], found[known]
        if options is None:
            squares.append((expected - found).ravel() ** 2)
        else:
            nearest = [
                ((values[:, None] - options) ** 2).sum(axis=2).argmin(axis=1)
                for values in (expected, found)
            ]
            hits.append(nearest[0] == nearest[1])
    error = float(np.sqrt(np.concatenate(squares).mean())) if squares else np.nan
    return error, float(np.concatenate(hits).mean()) if hits else np.nan
