"""Values missing only after training: sensors that fail once the model is in use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab.experiments.inner_search import Grid, Trained
from lab.experiments.methods import METHODS, methods_for
from lab.experiments.running.cells import Cell, Context, Protocol, Score, derived_seed
from lab.experiments.scoring import score
from lab.experiments.suites.trial import (
    Result,
    dataset,
    holes,
    outer_fold,
    powers_of_two,
)

_FOLDS = 5
COMPLETE_TABLES = (
    "australian",
    "banknote",
    "breast_cancer_wisconsin",
    "heart_statlog",
    "ionosphere",
    "pima",
    "iris",
)
#: What cannot be trained on complete rows, or is the same there as another.
_LEFT_OUT = ("genrbf-mask", "mean-indicator", "zero")
_SLOW = (
    "svr-imputation", "missforest", "kmeans", "geom", "catboost", "xgboost",
    "expected-rbf-mixture", "conditional-mean-mixture",
)  # fmt: skip


def _cells(context: Context) -> list[Cell]:
    names = [name for name in methods_for("classification") if name not in _LEFT_OUT]
    sets: Sequence[str] = COMPLETE_TABLES
    samples = {"smoke": 1, "small": 1, "full": 10}[context.size]
    if context.size == "smoke":
        names, sets = ["genrbf", "hist-gradient-boosting"], ("heart_statlog",)
    elif context.size == "small":
        names = [name for name in names if name not in _SLOW]
    else:
        names = ["automatic", *names]
    return [
        Cell("shift", data, name, "mcar", 0.0, sample, fold)
        for sample in range(samples)
        for data in sets
        for fold in range(_FOLDS if context.size != "smoke" else 2)
        for name in names
    ]


def _run(cell: Cell, context: Context) -> Result:
    """Train once on complete rows, and test the same model at every rate."""
    data = dataset(cell, context, complete=True)
    train, test = outer_fold(data.y, data.task, _FOLDS, cell.fold, cell.split_seed(context.seed))
    y, y_test = data.y[train], data.y[test]
    rates = (0.0, 0.4, 0.8) if context.size == "smoke" else tuple(np.arange(9) / 10)
    seed = cell.holes_seed(context.seed)
    # All rates go through as one table: the rows are predicted one by one, whatever stands by.
    tested = np.vstack(
        [holes(data.X[test], "mcar", rate, derived_seed(seed, cell.fold, rate)) for rate in rates]
    )
    if context.size == "smoke":
        grid = Grid((1.0, 32.0), (2.0**-7, 2.0**-4), folds=2)
    else:
        folds = 3 if context.size == "small" else 5
        grid = Grid(powers_of_two(-3, 9, 4), powers_of_two(-8, 0, 2), folds=folds)
    method_seed = cell.method_seed(context.seed)
    trained = METHODS[cell.method].train(data.X[train], y, tested, data.task, grid, method_seed)
    found: list[Score] = []
    n = len(test)
    for k, rate in enumerate(rates):
        rows = slice(k * n, (k + 1) * n)
        part = Trained(
            trained.prediction[rows],
            None if trained.decision is None else trained.decision[rows],
            trained.out_of_fold,
            None if trained.probabilities is None else trained.probabilities[rows],
            trained.classes,
        )
        scores, _ = score(part, y, y_test, data.task)
        found += [Score(metric, value, float(rate)) for metric, value in scores.items()]
    return found, trained.facts


SHIFT = Protocol(
    name="shift",
    title="Holes only after training",
    source="no paper; design of this library",
    description=(
        "Every method is tuned and trained on complete rows, then tested on rows from which 0 to "
        "80 % of the values were removed completely at random. Training rows gave no hint of it."
    ),
    metric="accuracy",
    cells=_cells,
    run=_run,
)
