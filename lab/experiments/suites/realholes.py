"""Data sets that were published with missing values."""

from __future__ import annotations

from collections.abc import Sequence

from absentia.tables.rows import is_constant
from lab.data.datasets import Dataset
from lab.experiments.inner_search import Grid
from lab.experiments.methods import methods_for
from lab.experiments.running.cells import Cell, Context, Protocol
from lab.experiments.suites.trial import (
    NOT_IN_SMALL,
    Result,
    dataset,
    outer_fold,
    powers_of_two,
    train_and_score,
)

_FOLDS = 5
_CLASSIFICATION = (
    "horse_colic",
    "hepatitis",
    "pima_missing",
    "mammographic",
    "chronic_kidney_disease",
    "heart_four_sites",
    "hypothyroid",
    "ozone_eighthr",
    "ozone_onehr",
    "soybean",
    "house_votes_84",
    "cylinder_bands",
    "echocardiogram",
    "heart_hungarian",
    "heart_va",
    "titanic",
    "breast_cancer_wisconsin",
    "heart_cleveland",
    "heart_switzerland",
    "physionet2012_mean",
    "physionet2012_wide",
    "arrhythmia",
    "aps_scania_9000",
    "secom",
    "diabetes_130_hospitals",
)
_REGRESSION = (
    "auto_mpg",
    "ozone_la",
    "airquality_ny",
    "echo_months",
    "air_quality_uci",
    "beijing_multisite_air",
)
#: All tables that were incomplete when they were published.
HOLED_TABLES = (*_CLASSIFICATION, *_REGRESSION)
#: A kernel of beliefs costs the cube of the missing columns: of wide tables fewer rows are taken.
_WIDE = 100
_WIDE_SETS = (
    "physionet2012_wide", "arrhythmia", "aps_scania_9000", "secom", "diabetes_130_hospitals",
)  # fmt: skip
#: Few factors are for many columns; other tables have the whole covariance.
_ONLY_WIDE = ("genrbf-low-rank",)
_ROWS = {"smoke": (90, 90), "small": (1000, 400), "full": (2000, 1000)}


def _cells(context: Context) -> list[Cell]:
    groups: list[tuple[Sequence[str], list[str]]] = [
        (_CLASSIFICATION, ["automatic", *methods_for("classification")]),
        (_WIDE_SETS, list(_ONLY_WIDE)),
        (_REGRESSION, ["automatic", *methods_for("regression")]),
    ]
    repeats = {"smoke": 1, "small": 1, "full": 5}[context.size]
    if context.size == "smoke":
        groups = [(("hepatitis",), ["genrbf", "mean"]), (("auto_mpg",), ["genrbf", "mean"])]
    elif context.size == "small":
        groups = [(sets, [n for n in names if n not in NOT_IN_SMALL]) for sets, names in groups]
    return [
        Cell("real-holes", data, name, "real", 0.0, repeat, fold)
        for repeat in range(repeats)
        for sets, names in groups
        for data in sets
        for fold in range(_FOLDS if context.size != "smoke" else 2)
        for name in names
    ]


def _grid(context: Context, data: Dataset) -> Grid:
    metric = "accuracy" if data.task == "classification" else "r2"
    if context.size == "smoke":
        return Grid((1.0, 32.0), (2.0**-7, 2.0**-4), folds=2, metric=metric)
    if context.size == "small":
        return Grid(powers_of_two(-1, 7, 4), _widths(data, -4, 0), folds=3, metric=metric)
    return Grid(powers_of_two(-3, 9, 3), _widths(data, -5, 1), folds=5, metric=metric)


def _widths(data: Dataset, first: int, last: int) -> tuple[float, ...]:
    """Return widths relative to the number of columns: tables have from 3 to several hundred."""
    return tuple(4.0**k / data.X.shape[1] for k in range(first, last + 1))


def _run(cell: Cell, context: Context) -> Result:
    data = dataset(cell, context)
    data = data.sample(_ROWS[context.size][data.X.shape[1] > _WIDE])
    train, test = outer_fold(data.y, data.task, _FOLDS, cell.fold, cell.split_seed(context.seed))
    y, y_test = data.y[train], data.y[test]
    if data.task == "regression":
        # In units of its own spread: penalties and epsilon then mean the same for every target.
        mean, spread = y.mean(), (0.0 if is_constant(y) else y.std()) or 1.0
        y, y_test = (y - mean) / spread, (y_test - mean) / spread
    grid = _grid(context, data)
    rows, new = data.table(train), data.table(test)
    return train_and_score(cell, context, rows, y, new, y_test, data.task, grid)


REAL_HOLES = Protocol(
    name="real-holes",
    title="Holes that came with the data",
    source="no paper; public data sets with missing values of their own",
    description=(
        "Repeated five-fold cross-validation on data that was incomplete when it was published; "
        "accuracy for classes and R² for quantities, and for both the quality of the "
        "probabilities: log loss, Brier score and calibration for classes, CRPS and the coverage "
        "of 90 % intervals for quantities. Of large tables a sample of the rows is used, at the "
        "small size 1000 of them (400 where there are more than 100 columns), at the full size "
        "twice as many or more. Tables with more than 100 columns have one method more, a "
        "density of few factors."
    ),
    metric="score",
    cells=_cells,
    run=_run,
    blocks=("dataset",),
)
