"""Tables with hundreds of columns: the low-rank density against others.

``python -m lab.studies.wide_tables DATA`` prints one line per table, share of further missing
values and method: area under the ROC curve and accuracy on held-out rows, and the processor
seconds of fits and predictions together. Nothing is tuned.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as PlainSVC

from absentia import SVC, LowRankDensity
from absentia.tables import FloatArray

TABLES = ("arrhythmia.csv", "secom.csv.gz")
FOLDS = 3
#: Shares of the cells that are removed at random, beside those that are missing.
RATES = (0.0, 0.3)


def read(path: Path) -> tuple[FloatArray, np.ndarray]:
    """Return the columns that vary, and whether a row is in the most frequent class."""
    frame = pd.read_csv(path)
    target = frame.pop("target")
    X = frame.to_numpy(dtype=np.float64)
    return X[:, np.nanstd(X, axis=0) > 0], (target == target.mode()[0]).to_numpy()


def methods() -> dict[str, Any]:
    """Return the methods by name, unfitted."""
    balanced: Any = "balanced"
    scores = LowRankDensity(margins="normal-scores", random_state=0)
    machines = {
        "genRBF, low rank": SVC(density="low-rank", class_weight=balanced),
        "genRBF, low rank of normal scores": SVC(density=scores, class_weight=balanced),
        "genRBF, one Gaussian": SVC(class_weight=balanced),
        "column means, RBF": make_pipeline(SimpleImputer(), PlainSVC(class_weight=balanced)),
        "boosted trees": HistGradientBoostingClassifier(random_state=0, class_weight=balanced),
    }
    return {name: make_pipeline(StandardScaler(), each) for name, each in machines.items()}


def answers(model: Any, X: FloatArray) -> FloatArray:
    """Return how much a model believes in the second class."""
    if hasattr(model, "decision_function"):
        scores: FloatArray = model.decision_function(X)
        return scores
    return model.predict_proba(X)[:, 1] - 0.5


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    folder = parser.parse_args().data
    warnings.simplefilter("ignore")
    for name in TABLES:
        X, y = read(folder / name)
        for rate in RATES:
            holes = np.random.default_rng(0).random(X.shape) < rate
            Z = np.where(holes, np.nan, X)
            for label, model in methods().items():
                if label == "genRBF, one Gaussian" and rate and X.shape[1] > 300:
                    continue  # hours
                start, outcomes = time.process_time(), []
                folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
                for train, test in folds.split(Z, y):
                    kept = (~np.isnan(Z[train])).any(axis=0)
                    model.fit(Z[train][:, kept], y[train])
                    scores = answers(model, Z[test][:, kept])
                    accuracy = np.mean((scores > 0) == y[test])
                    outcomes.append((roc_auc_score(y[test], scores), accuracy))
                seconds = time.process_time() - start
                auc, accuracy = np.mean(outcomes, axis=0)
                print(
                    f"{name:<16}{rate:>5.0%}  {label:<36}{auc:.3f}  {accuracy:.3f}  {seconds:7.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
