"""Kernel logistic regression and missing views: Section 3 of [Williams2005]_, and its Section 4.

The paper announces semi-supervised versions, by the Laplacian of the graph that has the completed
kernel matrix as weights, and gives no experiment. ``williams-semi-supervised`` is that: the
harmonic function of Zhu, Ghahramani and Lafferty (2003), whom the paper cites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from absentia.missingness.amputation import mcar, views
from absentia.tables import FloatArray, IntArray
from absentia.tables.rows import is_constant
from lab.data.datasets import Dataset
from lab.data.sources import FilledSource, GramSource, without_scaling
from lab.experiments.inner_search import (
    Grid,
    inner_splits,
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
_SEMI_SUPERVISED = "williams-semi-supervised"
_LABELLED = {"a quarter labelled": 0.25, "a tenth labelled": 0.1}
#: Below the weights of a kernel that matter, so that no row is cut off from all others.
_LEAST_WEIGHT = 1e-12
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
    train, test = _split(data, _TRAINING_SHARE, cell, context)
    if cell.method == "complete":
        X = complete
    seed = cell.method_seed(context.seed)
    source = _source(cell.method, seed)
    grid = _grid(context)
    if cell.variant == "unpenalised":
        grid = replace(grid, penalties=(_NO_PENALTY,))
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


def _split(data: Dataset, share: float, cell: Cell, context: Context) -> tuple[IntArray, IntArray]:
    train, test = train_test_split(
        np.arange(len(data.y)),
        train_size=share,
        stratify=data.y,
        random_state=cell.split_seed(context.seed),
    )
    return train, test


def _grid(context: Context) -> Grid:
    if context.size == "smoke":
        return Grid((1.0,), (2.0**-6, 2.0**-4), folds=2, metric="roc_auc")
    return Grid(powers_of_two(-3, 7, 2), powers_of_two(-9, 1, 2), folds=5, metric="roc_auc")


def _source(name: str, seed: int) -> GramSource:
    if name == "complete":
        return _COMPLETE
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


def _semi_supervised_cells(context: Context) -> list[Cell]:
    rates: Sequence[float] = (0.1, 0.3, 0.5, 0.7, 0.9)
    names: Sequence[str] = (
        "expected-rbf-mixture", "genrbf-mixture", "conditional-mean-mixture", "mean", "complete",
    )  # fmt: skip
    if context.size == "smoke":
        rates, names = (0.3,), ("expected-rbf", "mean", "complete")
    return [
        Cell(_SEMI_SUPERVISED, "ionosphere", name, "mcar", rate, trial, 0, f"{share}, {how}")
        for trial in range({"smoke": 1, "small": 4, "full": 40}[context.size])
        for rate in rates
        for share in _LABELLED
        for how in ("supervised", "semi-supervised")
        for name in names
    ]


def _run_semi_supervised(cell: Cell, context: Context) -> Result:
    data = dataset(cell, context)
    X = data.X[:, ~is_constant(data.X)]
    if cell.method != "complete":
        X = _without(X, cell, context)
    share, how = cell.variant.split(", ")
    labelled, rest = _split(data, _LABELLED[share], cell, context)
    seed, grid, y = cell.method_seed(context.seed), _grid(context), data.y[labelled]
    source = _source(cell.method, seed)
    if how == "supervised":
        trained = search_kernel(
            source, X[labelled], y, X[rest], data.task, grid, seed, kernel_logistic_regression
        )
        decision, facts = trained.decision, trained.facts
    else:
        # Scaling and density are those of all rows: what has no label is known too.
        at = source.fit(X, X[:1]).at
        splits = inner_splits(y, data.task, grid.folds, seed)
        truth = (data.y == np.unique(data.y)[1]).astype(float)

        def mean_score(gamma: float) -> float:
            ((K, _),) = at(gamma)({})
            return float(np.mean([
                roc_auc_score(
                    y[validation],
                    harmonic_function(K, labelled[train], truth)[labelled[validation]],
                )
                for train, validation in splits
            ]))  # fmt: skip

        inner = {gamma: mean_score(gamma) for gamma in grid.gammas}
        gamma = max(inner, key=lambda width: inner[width])
        ((K, _),) = at(gamma)({})
        decision = harmonic_function(K, labelled, truth)[rest]
        facts = {"gamma": gamma, "inner_score": inner[gamma]}
    return [Score("roc_auc", float(roc_auc_score(data.y[rest], decision)), cell.rate)], facts


def harmonic_function(W: FloatArray, labelled: IntArray, values: FloatArray) -> FloatArray:
    """Return the labelled values, and the mean of the neighbours, by weight, at all other rows.

    The harmonic function of Zhu, Ghahramani and Lafferty (2003), their Eq. (5): with ``D`` the row
    sums of the weights ``W``, ``f_u = (D_uu - W_uu)^-1 W_ul f_l``.

    Parameters
    ----------
    W : ndarray of shape (n, n)
        Weights; the diagonal makes no difference.
    labelled : ndarray of int
        The rows whose values are given.
    values : ndarray of shape (n,)
        Those of other rows are not looked at.
    """
    W = np.maximum(W, _LEAST_WEIGHT)
    rest = np.setdiff1d(np.arange(len(W)), labelled)
    laplacian = np.diag(W.sum(axis=1)) - W
    f = np.array(values, dtype=np.float64)
    f[rest] = np.linalg.solve(
        laplacian[np.ix_(rest, rest)], W[np.ix_(rest, labelled)] @ f[labelled]
    )
    return f


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

WILLIAMS_SEMI_SUPERVISED = Protocol(
    name=_SEMI_SUPERVISED,
    title="Semi-supervised learning on completed kernel matrices",
    source="Section 4 of Williams2005",
    description=(
        "Ionosphere, values of all rows removed completely at random, a quarter or a tenth of the "
        "rows with a label. 'supervised' is the logistic regression of the suite 'williams', "
        "trained on the rows with a label; 'semi-supervised' the harmonic function on the graph of "
        "all rows, whose weights are the kernel values. The AUC is that of the rows without a "
        "label; widths (and penalties) are chosen by five folds of the others."
    ),
    metric="roc_auc",
    cells=_semi_supervised_cells,
    run=_run_semi_supervised,
    blocks=("variant", "rate", "sample"),
)
