"""A kernel machine on rows of which one or two values are known, as it is and averaged."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from absentia import LogisticRegression, MarginalClassifier

_PENGUINS = "datasets/tests/data/openml/id_42585/data-v1-dl-21854866.arff.gz"
_COLUMNS = ["species", "island", "bill length", "bill depth", "flipper", "mass", "sex"]
_MOST_ROWS = 200


def rows() -> Iterator[tuple[str, dict[str, float]]]:
    """Yield what was trained on and what is known, and the log loss of each way to answer."""
    for name, (X, y) in {"penguins": _penguins(), "wine": load_wine(return_X_y=True)}.items():
        found: dict[str, dict[str, list[float]]] = {}
        splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
        for fold, (train, test) in enumerate(splits):
            scaler = StandardScaler().fit(X[train])
            rng = np.random.default_rng(fold)
            some = train[rng.permutation(len(train))[:_MOST_ROWS]]
            Z, T = scaler.transform(X[some]), scaler.transform(X[test])
            gone = rng.random(Z.shape) < rng.uniform(0, 0.9, (len(Z), 1))
            for trained, table in (("complete", Z), ("0 to 90 %", np.where(gone, np.nan, Z))):
                machine = LogisticRegression(C=10.0).fit(table, y[some])
                ways = {"machine": machine} | {
                    density: MarginalClassifier(
                        FrozenEstimator(machine), density=density, n_draws=32, random_state=0
                    ).fit(table)
                    for density in ("gaussian", "mixture")
                }
                for n_known in (1, 2):
                    order = np.random.default_rng(fold + 10).random(T.shape)
                    rank = order.argsort(axis=1).argsort(axis=1)
                    known = np.where(rank < n_known, T, np.nan)
                    line = found.setdefault(f"{name}, {trained}, {n_known} known", {})
                    for way, model in ways.items():
                        line.setdefault(way, []).append(_log_loss(model, known, y[test]))
        for title, line in found.items():
            yield title, {way: float(np.mean(losses)) for way, losses in line.items()}


def _penguins() -> tuple[np.ndarray, np.ndarray]:
    """Return the birds that scikit-learn ships for its tests, four numbers each."""
    path = str(files("sklearn") / _PENGUINS)
    birds = pd.read_csv(path, skiprows=88, names=_COLUMNS, na_values=["?", "_"])
    numbers = birds[["bill length", "bill depth", "flipper", "mass"]]
    whole = numbers.notna().all(axis=1)
    return numbers[whole].to_numpy(), birds["species"][whole].to_numpy()


def _log_loss(
    model: LogisticRegression | MarginalClassifier, X: np.ndarray, y: np.ndarray
) -> float:
    places = np.searchsorted(model.classes_, y)
    chances = model.predict_proba(X)[np.arange(len(y)), places]
    return float(-np.log(np.maximum(chances, 1e-12)).mean())
