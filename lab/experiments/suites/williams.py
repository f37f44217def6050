"""Kernel logistic regression and missing views: Section 3 of [Williams2005]_."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from absentia.missingness.amputation import mcar, views
from absentia.tables import FloatArray
from absentia.tables.rows import is_constant
from lab.data.sources import FilledSource, GramSource, without_scaling
from lab.experiments.inner_search import (
    Grid,
    kernel_logistic_regression,
    search_kernel,
)
from lab.experiments.methods import METHODS
from lab.experiments.running.cells import Cell, Context, Protocol, Score
from lab.experiments.scoring import score
from lab.experiments.suites.trial import Result, dataset, powers_of_two

_TRAINING_SHARE = 0.25
_N_VIEWS = 4
#: Stands for no penalty, as in the paper: without any, a separable sample has no solution.
_NO_PENALTY = 1e8
#: The machine without holes: a bound for all the others.
_COMPLETE = FilledSource((StandardScaler(),))
_METHODS = (
    "expected-rbf-mixture",
    "expected-rbf",
    "genrbf-mixture",
    "genrbf",
    "genrbf-mahalanobis",
    "conditional-mean-mixture",
    "conditional-mean",
    "mean",
    "complete",
)


def _cells(context: Context) -> list[Cell]:
    rates: Sequence[float] = np.round(np.arange(1, 10) / 10, 1).tolist()
    names: Sequence[str] = _METHODS
    # As many as the paper has in its Figure 1 (single values) and in its Figure 2 (views).
    singles, of_views = {"smoke": (1, 1), "small": (4, 4), "full": (40, 10)}[context.size]
    if context.size == "smoke":
        rates, names = (0.3,), ("expected-rbf", "mean", "complete")
    elif context.size == "small":
        rates = (0.1, 0.3, 0.5, 0.7, 0.9)
    blocks = [
        Cell("williams", "heart_four_sites", name, "real", 0.0, trial, 0, variant)
        for trial in range({"smoke": 1, "small": 4, "full": 100}[context.size])
        for variant in ("penalised", "unpenalised")
        for name in names
        if name != "complete"
    ]
    return blocks + [
        Cell("williams", "ionosphere", name, mechanism, rate, trial, 0)
        for trial in range(max(singles, of_views))
        for mechanism in ("mcar", "views")
        if trial < (singles if mechanism == "mcar" else of_views)
        # One of four views must remain, so no more than three quarters can go.
        for rate in (rates if mechanism == "mcar" else [r for r in rates if r <= 0.7])
        for name in names
    ]


def _run(cell: Cell, context: Context) -> Result:
    data = dataset(cell, context)
    if cell.mechanism == "real":
        # The hospital says which columns are missing, and is not a measurement.
        measured = [not name.startswith("site=") for name in data.feature_names]
        complete, X = data.X[:, measured], data.X[:, measured]
    else:
        complete = data.X[:, ~is_constant(data.X)]
        X = _without(complete, cell, context)
    train, test = train_test_split(
        np.arange(len(data.y)),
        train_size=_TRAINING_SHARE,
        stratify=data.y,
        random_state=cell.split_seed(context.seed),
    )
    if cell.method == "complete":
        X = complete
    seed = cell.method_seed(context.seed)
    source = _COMPLETE if cell.method == "complete" else _source(cell.method, seed)
    penalties = (1.0,) if context.size == "smoke" else powers_of_two(-3, 7, 2)
    if cell.variant == "unpenalised":
        penalties = (_NO_PENALTY,)
    gammas = (2.0**-6, 2.0**-4) if context.size == "smoke" else powers_of_two(-9, 1, 2)
    grid = Grid(penalties, gammas, folds=2 if context.size == "smoke" else 5, metric="roc_auc")
    y, y_test = data.y[train], data.y[test]
    trained = search_kernel(
        source, X[train], y, X[test], data.task, grid, seed, kernel_logistic_regression
    )
    scores, facts = score(trained, y, y_test, data.task)
    found = [Score(metric, value, cell.rate) for metric, value in scores.items()]
    if cell.mechanism == "real":
        return found, trained.facts | facts
    # How far the matrix is from that of the complete rows, at a width that is the same for all.
    gamma = 1.0 / complete.shape[1]
    distance = _distance_to_truth(source, X[train], complete[train], gamma)
    return [*found, Score("matrix_distance", distance, cell.rate)], trained.facts | facts


def _source(name: str, seed: int) -> GramSource:
    source = METHODS[name].source("classification", seed)
    assert source is not None
    return source


def _without(X: FloatArray, cell: Cell, context: Context) -> FloatArray:
    seed = cell.holes_seed(context.seed)
    if cell.mechanism == "mcar":
        removed: FloatArray = mcar(X, cell.rate, random_state=seed)
        return removed
    groups = [part.tolist() for part in np.array_split(np.arange(X.shape[1]), _N_VIEWS)]
    kept: FloatArray = views(X, cell.rate, groups, keep_one=True, random_state=seed)
    return kept


def _distance_to_truth(
    source: GramSource, X: FloatArray, complete: FloatArray, gamma: float
) -> float:
    """Return |K - K_true| / |K_true| (Frobenius), both in the units of the complete rows."""
    scaler = StandardScaler().fit(complete)
    rows, truth = scaler.transform(X), scaler.transform(complete)
    pairs = without_scaling(source).fit(rows, rows[:1]).at(gamma)(dict(source.extras[0]))
    K = np.mean([K for K, _ in pairs], axis=0)
    K_true = rbf_kernel(truth, gamma=gamma)
    return float(np.linalg.norm(K - K_true) / np.linalg.norm(K_true))


WILLIAMS = Protocol(
    name="williams",
    title="Kernel logistic regression with missing values and missing views",
    source="Table 2 and Figures 1 and 2 of Williams2005",
    description=(
        "Ionosphere, a quarter of the rows for training, values removed completely at random, or "
        "whole views: the columns cut into four groups, of which each row keeps at least one. "
        "Logistic regression on the rows of the kernel matrix; only the matrix differs between "
        "methods. Besides the AUC, the distance of the matrix to that of the complete rows. "
        "'complete' is the same machine on rows without holes. For Table 2, heart disease at four "
        "hospitals, whose columns are missing by hospital, with and without a penalty."
    ),
    metric="roc_auc",
    cells=_cells,
    run=_run,
    blocks=("mechanism", "variant", "rate", "sample"),
)
