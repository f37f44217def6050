"""Typed errors in ten tables: who finds the wrong cells, and who the wrong rows.

``python -m lab.studies.typed_errors`` prints the table of the guide page on suspicious cells. One
cell in a hundred is wrong: two digits are swapped, the decimal point is shifted, or the unit is
changed (a factor of 2.54). A swap changes some cells little, so that no method can find all.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline

from absentia import MixtureDensity, OutlierDetector, amputation
from absentia.densities.suspicious_cells import suspicious_cells
from absentia.hidden_warnings import hidden_warnings
from absentia.tables import FloatArray
from lab.data.datasets import load

TABLES = (
    "abalone", "airfoil", "auto_mpg", "banknote", "breast_cancer_wisconsin", "bupa", "concrete",
    "ionosphere", "pima", "stock",
)  # fmt: skip
SHARE_WRONG, SHARE_MISSING, MOST_ROWS = 0.01, 0.3, 500


def with_swapped_digits(value: float) -> float:
    """Return a number with its first two digits swapped."""
    text = f"{abs(value):.6g}"
    digits = [at for at, sign in enumerate(text) if sign.isdigit()][:2]
    if len(digits) < 2:
        return value
    letters = list(text)
    letters[digits[0]], letters[digits[1]] = letters[digits[1]], letters[digits[0]]
    return float(np.copysign(float("".join(letters)), value))


def with_errors(X: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, np.ndarray]:
    """Return a table with typed errors, and which cells differ."""
    wrong, out = rng.random(X.shape) < SHARE_WRONG, X.copy()
    kinds = rng.integers(3, size=X.shape)
    for i, j in np.argwhere(wrong & ~np.isnan(X)):
        changed = (
            with_swapped_digits(X[i, j]),
            X[i, j] * 10.0 ** rng.choice([-1, 1]),
            X[i, j] * 2.54,
        )
        out[i, j] = changed[kinds[i, j]]
    return out, (out != X) & ~np.isnan(X)


def cell_scores(X: FloatArray) -> dict[str, FloatArray]:
    """Return how suspicious each method finds each cell."""
    centre = np.nanmedian(X, axis=0)
    spread = np.nanmedian(np.abs(X - centre), axis=0)
    spread = np.where(spread > 0, spread, np.nanstd(X, axis=0) + 1e-12)
    imputer = IterativeImputer(random_state=0, max_iter=5)
    residuals = np.full(X.shape, np.nan)
    filled = imputer.fit_transform(X)
    for j in range(X.shape[1]):
        others = np.delete(filled, j, axis=1)
        design = np.column_stack([np.ones(len(X)), others])
        seen = ~np.isnan(X[:, j])
        coefficients = np.linalg.lstsq(design[seen], X[seen, j], rcond=None)[0]
        residuals[:, j] = np.abs(X[:, j] - design @ coefficients)
        residuals[:, j] /= np.nanstd(residuals[:, j]) + 1e-12
    mixture = MixtureDensity(4, n_init=1, random_state=0)
    return {
        "beliefs, Gaussian": -np.log(suspicious_cells("gaussian", X).all_p_values + 1e-300),
        "beliefs, mixture of 4": -np.log(suspicious_cells(mixture, X).all_p_values + 1e-300),
        "regression residuals": residuals,
        "median and MAD": np.abs(X - centre) / spread,
    }


def row_scores(X: FloatArray) -> dict[str, FloatArray]:
    """Return how suspicious each method finds each row."""
    found = {"OutlierDetector": -OutlierDetector().fit(X).score_samples(X)}
    forest = make_pipeline(SimpleImputer(), IsolationForest(random_state=0)).fit(X)
    found["isolation forest, means"] = -forest.score_samples(X)
    iterative = IterativeImputer(random_state=0, max_iter=5)
    forest = make_pipeline(iterative, IsolationForest(random_state=0)).fit(X)
    found["isolation forest, IterativeImputer"] = -forest.score_samples(X)
    try:
        from pyod.models.ecod import ECOD
    except ImportError:
        return found
    found["ECOD, means"] = ECOD().fit(SimpleImputer().fit_transform(X)).decision_scores_
    return found


def main(names: tuple[str, ...]) -> None:
    """Print average precision by table: of cells, then of rows."""
    results: dict[str, dict[str, dict[str, float]]] = {"cells": {}, "rows": {}}
    for name in names:
        data = load(name)
        rng = np.random.default_rng(0)
        X = np.asarray(data.X, dtype=float)
        X = X[rng.permutation(len(X))[:MOST_ROWS]]
        X = X[:, np.nanstd(X, axis=0) > 0]
        X = amputation.mcar(X, SHARE_MISSING, random_state=0)
        X, wrong = with_errors(X, rng)
        with hidden_warnings():
            results["cells"][name] = {
                method: average_precision_score(wrong[~np.isnan(X)], scores[~np.isnan(X)])
                for method, scores in cell_scores(X).items()
            }
            results["rows"][name] = {
                method: average_precision_score(wrong.any(axis=1), scores)
                for method, scores in row_scores(X).items()
            }
    for unit, by_table in results.items():
        methods = list(next(iter(by_table.values())))
        print(f"\n| {unit} | {' | '.join(methods)} |\n|---|{'---|' * len(methods)}")
        for name, scores in by_table.items():
            print(f"| {name} | " + " | ".join(f"{scores[m]:.2f}" for m in methods) + " |")
        means = [np.mean([scores[m] for scores in by_table.values()]) for m in methods]
        print("| **mean** | " + " | ".join(f"**{mean:.2f}**" for mean in means) + " |")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or TABLES)
