"""Kernel logistic regression and Gaussian processes: mixed density against indicator columns."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import norm
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import train_test_split

from absentia import GaussianProcessRegressor, LogisticRegression, MixedDensity
from benchmarks.mixed.tables import MIXED, read

__all__ = ["run"]

ROWS = 500
REPETITIONS = 5
REGRESSION = ("abalone", "forest_fires")
DENSITIES = {
    "indicators": "gaussian",
    "mixed": MixedDensity(n_init=2, max_components=4, random_state=0),
}


def run(folder: Path) -> Iterator[dict[str, object]]:
    """Yield one line per table, repetition and density: a random half of the rows is the test."""
    for seed in range(REPETITIONS):
        for name in MIXED:
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
                    score, loss = _scores(density, name, train, y_train, test, y_test)
                yield {
                    "table": name,
                    "seed": seed,
                    "density": label,
                    "score": score,
                    "loss": loss,
                    "seconds": time.process_time() - start,
                }


def _scores(density, name, train, y_train, test, y_test) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    """Return accuracy and log loss, or R2 and the continuous ranked probability score."""
    if name in REGRESSION:
        machine = GaussianProcessRegressor(density=density).fit(train, y_train)
        mean, std = machine.predict(test, return_std=True)
        z = (y_test - mean) / std
        crps = std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
        return float(r2_score(y_test, mean)), float(crps.mean())
    machine = LogisticRegression(density=density).fit(train, y_train)
    probabilities = machine.predict_proba(test)
    found = machine.classes_[probabilities.argmax(axis=1)]
    return (
        float(accuracy_score(y_test, found)),
        float(log_loss(y_test, probabilities, labels=machine.classes_)),
    )
