"""Holes made on purpose in complete data: the tables of [Smieja2018]_ and [Struski2016]_.

The holes are made in the whole table before it is split, so that training and test rows have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lab.data.sources import in_unit_interval
from lab.experiments.inner_search import Grid, search_kernel
from lab.experiments.methods import METHODS, methods_for
from lab.experiments.running.cells import Cell, Context, Protocol, Score
from lab.experiments.scoring import score
from lab.experiments.suites.trial import (
    NOT_IN_SMALL,
    Result,
    dataset,
    holes,
    outer_fold,
    powers_of_two,
    train_and_score,
)

_FOLDS = 5
_CLASSIFICATION_SETS = (
    "australian",
    "banknote",
    "breast_cancer_wisconsin",
    "climate_crashes",
    "heart_statlog",
    "ionosphere",
    "bupa",
    "pima",
)
_REGRESSION_SETS = ("abalone", "airfoil", "concrete", "friedman", "laser", "mortgage", "stock")
#: "gamma" of Table 1 of [Struski2016]_: the variance of the smoothing, 1/(4 gamma) of an RBF.
_STRUSKI_SMOOTHING = {
    "abalone": 2.0**-4,
    "airfoil": 2.0**-5,
    "concrete": 2.0**-5,
    "friedman": 2.0**-4,
    "laser": 2.0**-6,
    "mortgage": 2.0**-4,
    "stock": 2.0**-4,
}
_SMOKE_METHODS = ("genrbf", "mean")
#: MAR with all anchor rows exempt, beside the setting of Table 2: fast methods of the paper.
WITH_EXEMPT_ANCHORS = ("genrbf", "genrbf-mahalanobis", "mean", "knn", "karma")
#: The reading under which the widths of Table 1 of [Struski2016]_ are the best on complete rows.
_UNIT_INTERVAL = "paper's gamma, columns in [0, 1], target scaled"
#: At the small size only where the paper gives their numbers.
_ONLY_IN_TABLE_2 = ("geom", "missforest")


#: Nothing is tuned there, and a mask kernel has a weight to tune; two have the paper's settings.
_NOT_IN_STRUSKI = ("genrbf-mask", "missforest", "knn", "svr-imputation")
_STRUSKI_SETTINGS = ("knn-10", "svr-imputation-0.001")
#: Mixtures are slow to fit, and none is in the paper.
_NOT_IN_SMALL_STRUSKI = (
    "icknni", "egk", "gmm", "expected-rbf-mixture", "genrbf-mixture", "conditional-mean-mixture",
)  # fmt: skip


def _classification_cells(context: Context) -> list[Cell]:
    rates: Sequence[float] = np.round(np.arange(1, 10) / 10, 1).tolist()
    samples = 10
    names = methods_for("classification")
    sets: Sequence[str] = _CLASSIFICATION_SETS
    if context.size == "small":
        rates, samples = (0.1, 0.3, 0.5, 0.7, 0.9), 3
        names = [name for name in names if name not in NOT_IN_SMALL]
    elif context.size == "smoke":
        rates, samples, names, sets = (0.3, 0.6), 1, list(_SMOKE_METHODS), ("heart_statlog",)
    cells = [
        Cell("smieja-classification", data, name, mechanism, rate, sample, fold)
        for sample in range(samples)
        for data in sets
        for mechanism in ("mcar", "mar", "mnar")
        for rate in rates
        for fold in range(_FOLDS if context.size != "smoke" else 2)
        for name in names
    ]
    if context.size == "small":
        cells = _what_table_2_shows_first(cells)
    exempt = [
        replace(cell, mechanism="mar-exempt")
        for cell in cells
        if (cell.mechanism, cell.rate) == ("mar", 0.3) and cell.method in WITH_EXEMPT_ANCHORS
    ]
    return cells + exempt


def _what_table_2_shows_first(cells: list[Cell]) -> list[Cell]:
    """Put MAR at 30 % first, with its slow methods last; of the rest one sample, one fold."""
    table = [cell for cell in cells if (cell.mechanism, cell.rate) == ("mar", 0.3)]
    table.sort(key=lambda cell: cell.sample)
    by_fold = {(c.dataset, c.fold): c for c in table if not c.sample and c.fold < 2}
    slow = [replace(c, method=name) for name in _ONLY_IN_TABLE_2 for c in by_fold.values()]
    rest = [c for c in cells if (c.mechanism, c.rate) != ("mar", 0.3)]
    return table + [c for c in rest if not c.sample and not c.fold] + slow


def _classification_grid(context: Context) -> Grid:
    if context.size == "smoke":
        return Grid((1.0, 32.0), (2.0**-7, 2.0**-4), folds=2)
    if context.size == "small":
        # Fewer penalties, widths around those that suit standardised columns, three inner folds.
        return Grid(powers_of_two(-1, 7, 4), powers_of_two(-8, 0, 2), folds=3)
    return Grid(powers_of_two(-5, 9, 2), powers_of_two(-5, 11, 2), folds=5)


def _run_classification(cell: Cell, context: Context) -> Result:
    data = dataset(cell, context, complete=True)
    # With the draws of "mar", the exempt rows are the only difference to it.
    drawn_as = replace(cell, mechanism="mar") if cell.mechanism == "mar-exempt" else cell
    X = holes(data.X, cell.mechanism, cell.rate, drawn_as.holes_seed(context.seed))
    train, test = outer_fold(data.y, data.task, _FOLDS, cell.fold, cell.split_seed(context.seed))
    grid = _classification_grid(context)
    return train_and_score(
        cell, context, X[train], data.y[train], X[test], data.y[test], data.task, grid
    )


def _regression_cells(context: Context) -> list[Cell]:
    samples, names = 10, methods_for("regression")
    sets: Sequence[str] = _REGRESSION_SETS
    if context.size == "small":
        samples = 1
        names = [name for name in names if name not in NOT_IN_SMALL]
    elif context.size == "smoke":
        samples, names, sets = 1, list(_SMOKE_METHODS), ("concrete",)
    cells = [
        Cell("smieja-regression", data, name, "mar", 0.3, sample, fold)
        for sample in range(samples)
        for data in sets
        for fold in range(_FOLDS if context.size != "smoke" else 2)
        for name in names
    ]
    if context.size == "small":  # slow, and last: Table 5 has it on all sets but Stock
        cells += [
            replace(c, method="missforest")
            for c in cells
            if c.method == "mean" and c.dataset != "stock"
        ]
    return cells


def _run_regression(cell: Cell, context: Context) -> Result:
    data = dataset(cell, context, max_rows=1000 if context.size == "small" else None)
    X = holes(data.X, cell.mechanism, cell.rate, cell.holes_seed(context.seed))
    train, test = outer_fold(data.y, data.task, _FOLDS, cell.fold, cell.split_seed(context.seed))
    if context.size == "smoke":
        grid = Grid((1.0, 16.0), (2.0**-6, 2.0**-3), folds=2, metric="r2")
    elif context.size == "small":
        grid = Grid(powers_of_two(0, 4, 2), powers_of_two(-9, -1, 2), folds=3, metric="r2")
    else:
        grid = Grid(powers_of_two(-5, 4), powers_of_two(-10, 1), folds=5, metric="r2")
    return train_and_score(
        cell, context, X[train], data.y[train], X[test], data.y[test], data.task, grid
    )


def _struski_cells(context: Context) -> list[Cell]:
    rates: Sequence[float] = np.round(np.arange(1, 9) / 10, 1).tolist()
    names = [
        name
        for name in (*methods_for("regression"), *_STRUSKI_SETTINGS)
        if METHODS[name].source("regression", 0) is not None and name not in _NOT_IN_STRUSKI
    ]
    sets: Sequence[str] = _REGRESSION_SETS
    variants = ("paper's gamma", "gamma=scale, target scaled", _UNIT_INTERVAL)
    if context.size == "small":
        rates = (0.1, 0.3, 0.4, 0.8)
        names = [name for name in names if name not in _NOT_IN_SMALL_STRUSKI]
    elif context.size == "smoke":
        rates, names, sets = (0.3,), ["expected-rbf", "mean"], ("laser",)
    return [
        Cell("struski-regression", data, name, mechanism, rate, 0, fold, variant)
        for data in sets
        for mechanism in ("mcar", "mar", "mar-distance")
        for rate in rates
        for variant in variants
        for fold in range(_FOLDS)
        for name in names
    ]


def _run_struski(cell: Cell, context: Context) -> Result:
    data = dataset(cell, context, max_rows=1000 if context.size == "small" else None)
    X = holes(data.X, cell.mechanism, cell.rate, cell.holes_seed(context.seed))
    train, test = outer_fold(data.y, data.task, _FOLDS, cell.fold, cell.split_seed(context.seed))
    y, y_test = data.y[train], data.y[test]
    seed = cell.method_seed(context.seed)
    source = METHODS[cell.method].source(data.task, seed)
    assert source is not None  # others are no cells of this suite
    gamma = 1 / data.X.shape[1]
    if cell.variant.startswith("paper"):
        gamma = 1 / (4 * _STRUSKI_SMOOTHING[cell.dataset])
    if cell.variant == _UNIT_INTERVAL:
        source = in_unit_interval(source)
    if cell.variant.endswith("target scaled"):
        mean, spread = y.mean(), y.std()
        y, y_test = (y - mean) / spread, (y_test - mean) / spread
    grid = Grid((1.0,), (gamma,), folds=0, metric="r2", widen=False)
    trained = search_kernel(source, X[train], y, X[test], data.task, grid, seed)
    scores, facts = score(trained, y, y_test, data.task)
    return [Score("r2", scores["r2"], cell.rate)], trained.facts | facts


SMIEJA_CLASSIFICATION = Protocol(
    name="smieja-classification",
    title="Classification with holes of three kinds",
    source="Figures 3 to 7 and Table 2 of Smieja2018",
    description=(
        "Values are removed from eight complete data sets completely at random (MCAR), near drawn "
        "rows (MAR, Eq. (26); at 30 % also with the drawn rows exempt, 'mar-exempt') and by half "
        "of the columns, which are then hidden (MNAR, Eq. (27)). "
        "Double cross-validation: five outer folds; penalty, kernel width and whatever else a "
        "method has are chosen by an inner cross-validation on the training rows. Columns are "
        "standardised on the training rows."
    ),
    metric="accuracy",
    cells=_classification_cells,
    run=_run_classification,
)

SMIEJA_REGRESSION = Protocol(
    name="smieja-regression",
    title="Regression with 30 % missing at random",
    source="Tables 4 and 5 of Smieja2018",
    description=(
        "30 % of the values are removed near drawn rows (MAR). Support vector regression with "
        "epsilon 0.1 on the target as it is; five outer folds, the grid of the paper inside."
    ),
    metric="r2",
    cells=_regression_cells,
    run=_run_regression,
    blocks=("dataset", "sample"),
)

STRUSKI_REGRESSION = Protocol(
    name="struski-regression",
    title="Regression with fixed parameters",
    source="Figures 3 to 5 of Struski2016",
    description=(
        "MCAR and MAR holes at 10 to 80 %, the latter with the squared distance ('mar', as in "
        "Smieja2018) and with the distance itself ('mar-distance', the paper's); support vector "
        "regression with C = 1 and epsilon = 0.1, five folds, nothing tuned. With the smoothing of "
        "the paper's Table 1, read as its Eq. (1) says (an RBF of 1/(4 gamma)), on standardised "
        "columns with the target as it is, and on columns in [0, 1] with a standardised target; "
        "and with gamma of one over the number of columns and a standardised target, which is what "
        "a user would have by default."
    ),
    metric="r2",
    cells=_struski_cells,
    run=_run_struski,
)
