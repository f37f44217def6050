"""Kernel logistic regression and Gaussian processes: mixed density against indicator columns.

``run`` takes the machines with their default parameters, ``run_searched`` with width, penalty and
weight of categories chosen by cross-validation (by the evidence in Gaussian processes), on the
same splits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.base import is_regressor
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import train_test_split

from absentia import (
    GaussianProcessRegressor,
    LogisticRegression,
    LogisticRegressionCV,
    MixedDensity,
)
from lab.studies.mixed.tables import MIXED, read

ROWS = 500
REPETITIONS = 5
REGRESSION = ("abalone", "forest_fires", "auto_mpg", "echo_months", "beijing_multisite_air")
DENSITIES = {
    "indicators": "gaussian",
    "mixed": MixedDensity(n_init=2, max_components=4, random_state=0),
}
PENALTIES = (0.5, 4.0, 32.0, 256.0)


def run(folder: Path, tables: Sequence[str] = MIXED) -> Iterator[dict[str, object]]:
    """Yield one line per table, repetition and density: a random half of the rows is the test."""
    return _run(folder, tables, searched=False)


def run_searched(folder: Path, tables: Sequence[str] = MIXED) -> Iterator[dict[str, object]]:
    """Yield the same for machines that choose their hyperparameters on the training half."""
    return _run(folder, tables, searched=True)


def _run(folder: Path, tables: Sequence[str], searched: bool) -> Iterator[dict[str, object]]:
    for seed in range(REPETITIONS):
        for name in tables:
            frame, target = read(folder, name, ROWS, seed)
            y = np.log1p(target) if name == "forest_fires" else target
            labels = None if name in REGRESSION else y
            if labels is not None:
                frequent = y.map(y.value_counts()) >= 4
                frame, y = frame[frequent], y[frequent]
                labels = y
            train, test, y_train, y_test = train_test_split(
                frame, y.to_numpy(), test_size=0.5, random_state=seed, stratify=labels
            )
            for label, density in DENSITIES.items():
                start = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    score, loss = _scores(
                        _machine(density, name, searched), train, y_train, test, y_test
                    )
                yield {
                    "table": name,
                    "seed": seed,
                    "density": label,
                    "score": score,
                    "loss": loss,
                    "seconds": time.process_time() - start,
                }


def _machine(density: Any, name: str, searched: bool) -> Any:
    if name in REGRESSION:
        weight = "optimize" if searched else "scale"
        return GaussianProcessRegressor(density=density, category_weight=weight)
    if not searched:
        return LogisticRegression(density=density)
    return LogisticRegressionCV(density=density, Cs=PENALTIES, gammas=3, category_weights=3, cv=3)


def _scores(
    machine: Any, train: pd.DataFrame, y_train: Any, test: pd.DataFrame, y_test: Any
) -> tuple[float, float]:
    """Return accuracy and log loss, or R2 and the continuous ranked probability score."""
    machine.fit(train, y_train)
    if is_regressor(machine):
        mean, std = machine.predict(test, return_std=True)
        z = (y_test - mean) / std
        crps = std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
        return float(r2_score(y_test, mean)), float(crps.mean())
    probabilities = machine.predict_proba(test)
    found = machine.classes_[probabilities.argmax(axis=1)]
    return (
        float(accuracy_score(y_test, found)),
        float(log_loss(y_test, probabilities, labels=machine.classes_)),
    )
