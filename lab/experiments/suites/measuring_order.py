"""Acquisition: the loss of a model while the values of a row are measured one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.feature_selection import mutual_info_classif
from sklearn.frozen import FrozenEstimator

from absentia.decisions import column_worth, held_out_worth, measure_next
from absentia.hidden_warnings import hidden_warnings
from absentia.machines import LogisticRegressionCV
from absentia.predictions import MarginalClassifier
from absentia.tables import BoolArray, FloatArray
from absentia.tables.rows import is_constant
from lab.data.datasets import Dataset
from lab.experiments.running.cells import Cell, Context, Protocol, Score, derived_seed
from lab.experiments.suites.trial import Result, dataset, holes, outer_fold

_METHODS = ("random", "mutual-information", "permutation-importance", "measure-next")
#: What ours is made of: gains alone, one and two steps ahead, and the order of held-out worth
#: without gains. In the full size only, a small run has better use for its hour: more splits.
_PARTS = ("one-step", "two-steps", "held-out-worth")
_SETS = (
    "wine",
    "breast_cancer",
    "cube",
    "chronic_kidney_disease",
    "breast_cancer_wisconsin",
    "pima",
    "heart_statlog",
    "australian",
    "banknote",
    "hepatitis",
)
#: Tables of 24 columns and more: half as many rows are tested, of which each takes long.
_WIDE = ("breast_cancer", "chronic_kidney_disease")
_FOLDS = 3
_RATE = 0.45
#: Training rows, test rows and values measured per row.
_ROWS = {"smoke": (60, 10, 2), "small": (250, 60, 6), "full": (1000, 200, 15)}
#: Draws of what a row could be: for the probabilities, the same while columns are tried on training
#: rows, and for the gains of a row.
_DRAWS, _DRAWS_OF_TRIALS, _DRAWS_OF_GAINS = 64, 16, 512
#: From a table and its candidate cells to scores, the largest of which is measured.
Choose = Callable[[FloatArray, BoolArray], FloatArray]


def cube(n: int = 600, n_columns: int = 8, *, random_state: int = 0) -> Dataset:
    """Return rows whose class is the sign of a product: no single column is informative.

    Examples
    --------
    >>> data = cube(4)
    >>> bool(((data.X[:, 0] * data.X[:, 1] > 0) == data.y).all())
    True
    """
    X = np.random.RandomState(random_state).normal(size=(n, n_columns))
    names = tuple(f"x{j}" for j in range(n_columns))
    return Dataset("cube", "classification", X, (X[:, 0] * X[:, 1] > 0).astype(int), names)


def _bundled(load: Callable[..., Any], name: str) -> Dataset:
    bunch = load()
    return Dataset(
        name, "classification", bunch.data, bunch.target, tuple(map(str, bunch.feature_names))
    )


_MADE_HERE: dict[str, Callable[[], Dataset]] = {
    "wine": lambda: _bundled(load_wine, "wine"),
    "breast_cancer": lambda: _bundled(load_breast_cancer, "breast_cancer"),
    "cube": cube,
}


@dataclass(frozen=True, eq=False)
class _Trained:
    """A model, the rows that it learned from and those that are to be found out about."""

    model: MarginalClassifier
    quick: MarginalClassifier  # the same with fewer draws, to try columns on training rows
    X: FloatArray
    y: np.ndarray
    X_test: FloatArray
    y_test: np.ndarray
    _worth: dict[bytes, FloatArray] = field(default_factory=dict)

    def worth(self, costs: FloatArray, steps: int) -> FloatArray:
        """Return what columns are worth in folds of the training rows, computed once."""
        key = costs.tobytes()
        if key not in self._worth:
            with hidden_warnings():
                self._worth[key] = held_out_worth(
                    self.quick, self.X, self.y, costs=costs, max_columns=steps
                )
        return self._worth[key]

    def outcomes(self, X: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return the log loss of each test row, as far as it is known, and whether it is a hit."""
        chances = self.model.predict_proba(X)
        right = np.searchsorted(self.model.classes_, self.y_test)
        p = chances[np.arange(len(right)), right]
        return -np.log(np.maximum(p, 1e-12)), chances.argmax(axis=1) == right


def _cells(context: Context) -> list[Cell]:
    folds, samples, sets, methods = {
        "smoke": (1, 1, ("heart_statlog",), ("random", "measure-next")),
        "small": (_FOLDS, 7, _SETS, _METHODS),
        "full": (_FOLDS, 5, _SETS, _METHODS),
    }[context.size]
    settings = [(data, "nothing known") for data in sets]
    if context.size != "smoke":
        settings.append(("heart_statlog", "unequal costs"))
    if context.size != "smoke":
        some = sets if context.size == "full" else ("wine", "pima")
        settings += [(data, "70 % missing") for data in some]
    return [
        Cell("acquisition", data, method, "mcar", _RATE, sample, fold, variant)
        for sample in range(samples)
        for fold in range(folds)  # all tables have as many splits, wherever a run is stopped
        for data, variant in settings
        for method in (*methods, *(_PARTS if context.size == "full" else ()))
    ]


def _run(cell: Cell, context: Context) -> Result:
    """Measure the values of test rows in the order of the method; record loss against cost."""
    made = _MADE_HERE.get(cell.dataset)
    data = dataset(cell, context) if made is None else made()
    trained = _train(_Key(cell, context, data))
    truth = trained.X_test
    d = truth.shape[1]
    start = np.full_like(truth, np.nan)
    if cell.variant == "70 % missing":
        start = holes(truth, "mcar", 0.7, derived_seed(cell.holes_seed(context.seed), cell.fold))
    costs = np.ones(d)
    if cell.variant == "unequal costs":
        rng = np.random.RandomState(derived_seed(context.seed, "costs", cell.dataset))
        costs = rng.choice([1.0, 2.0, 5.0, 10.0], size=d)
    n_steps = min(_ROWS[context.size][2], d)
    budget = n_steps * float(costs.mean())
    choose = _chooser(cell, context, trained, costs)
    losses, spent, hits, columns = _measured_one_by_one(trained, choose, start, costs, budget)
    scores = [
        Score("log_loss_area", area_under_loss(losses, spent, budget), cell.rate),
        Score("accuracy", float(hits[-1].mean()), cell.rate),
    ]
    facts: dict[str, object] = {
        "columns": columns,
        "budget": round(budget, 3),
        "log_loss": [round(float(part.mean()), 5) for part in losses],
        "accuracy": [round(float(part.mean()), 5) for part in hits],
        "spent": [round(float(part.mean()), 3) for part in spent],
    }
    return scores, facts


@dataclass(frozen=True)
class _Key:
    """Key of a trained model; equal for all methods, so that it is trained once."""

    cell: Cell
    context: Context
    data: Dataset

    def _identity(self) -> tuple[Any, ...]:
        cell, context = self.cell, self.context
        return (
            cell.dataset, cell.sample, cell.fold, context.size, context.seed, context.folder,
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash(self._identity())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._identity() == other._identity()


@lru_cache(maxsize=64)
def _train(key: _Key) -> _Trained:
    cell, context, data = key.cell, key.context, key.data
    n_train, n_test, _ = _ROWS[context.size]
    data = data.sample(int(n_train * _FOLDS / (_FOLDS - 1)))
    train, test = outer_fold(
        data.y, "classification", _FOLDS, cell.fold, cell.split_seed(context.seed)
    )
    tested = data.rows(test).sample(n_test // 2 if cell.dataset in _WIDE else n_test)
    X, X_test = data.X[train], tested.X
    seen = ~np.isnan(X).all(axis=0)
    X, X_test = X[:, seen], X_test[:, seen]
    centre, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    spread[is_constant(X) | (spread == 0)] = 1.0
    X, X_test = (X - centre) / spread, (X_test - centre) / spread
    rng = np.random.RandomState(derived_seed(cell.holes_seed(context.seed), cell.fold))
    # Rows that miss little and rows that miss nearly all: of the latter kind are those of the test.
    rates = rng.uniform(0.0, 2 * _RATE, size=(len(X), 1))
    X = np.where(rng.uniform(size=X.shape) < rates, np.nan, X)
    penalties = (1.0,) if context.size == "smoke" else (0.1, 1.0, 10.0, 100.0)
    machine = LogisticRegressionCV(
        kernel="expected-rbf", Cs=penalties, cv=3, scoring="neg_log_loss"
    )
    with hidden_warnings():
        machine.fit(X, data.y[train])
        # The machine answers the log-odds of an average row; gains need the average probability.
        quick = MarginalClassifier(
            FrozenEstimator(machine), density="mixture", n_draws=_DRAWS_OF_TRIALS, random_state=0
        ).fit(X)
        model = (
            clone(quick).set_params(n_draws=_DRAWS, density=FrozenEstimator(quick.density_)).fit(X)
        )
    return _Trained(model, quick, X, data.y[train], X_test, tested.y)


def _chooser(cell: Cell, context: Context, trained: _Trained, costs: FloatArray) -> Choose:
    rng = np.random.RandomState(cell.method_seed(context.seed))
    if cell.method == "random":
        return lambda table, candidates: rng.uniform(size=table.shape)
    steps = _ROWS[context.size][2]
    if cell.method in ("measure-next", "one-step", "two-steps"):
        worth = trained.worth(costs, steps) if cell.method == "measure-next" else None

        def ours(table: FloatArray, candidates: BoolArray) -> FloatArray:
            found = measure_next(
                trained.model,
                table,
                costs=costs,
                lookahead=1 if cell.method == "one-step" else "auto",
                worth=worth,
                n_draws=_DRAWS_OF_GAINS,
            )
            best: FloatArray = np.nan_to_num(found.gain_per_cost, nan=-np.inf)
            return best

        return ours
    if cell.method == "held-out-worth":
        importance = trained.worth(costs, steps)
    elif cell.method == "mutual-information":
        importance = _mutual_information(trained.X, trained.y)
    else:
        importance = column_worth(trained.model, trained.X, trained.y, random_state=rng)
    return lambda table, candidates: np.broadcast_to(importance / costs, table.shape)


def _mutual_information(X: FloatArray, y: np.ndarray) -> FloatArray:
    """Return the mutual information of each column with the class, where it was observed."""
    found = np.zeros(X.shape[1])
    for j, column in enumerate(X.T):
        rows = ~np.isnan(column)
        if rows.sum() > 4:
            found[j] = mutual_info_classif(column[rows, None], y[rows], random_state=0)[0]
    return found


def _measured_one_by_one(
    trained: _Trained, choose: Choose, start: FloatArray, costs: FloatArray, budget: float
) -> tuple[list[FloatArray], list[FloatArray], list[BoolArray], list[int]]:
    """Return losses, costs so far and hits of each row, at the start and after each value.

    And the column that most rows measured in each step.
    """
    table, truth = start.copy(), trained.X_test
    spent = [np.zeros(len(truth))]
    loss, hit = trained.outcomes(table)
    losses, hits = [loss], [hit]
    usual: list[int] = []
    while True:
        candidates = np.isnan(table) & ~np.isnan(truth) & (spent[-1][:, None] + costs <= budget)
        rows = np.flatnonzero(candidates.any(axis=1))
        if not len(rows):
            return losses, spent, hits, usual
        score = np.where(candidates[rows], choose(table[rows], candidates[rows]), -np.inf)
        columns = score.argmax(axis=1)
        # Where all are worth nothing, the first that can be had at all.
        columns = np.where(np.isinf(score.max(axis=1)), candidates[rows].argmax(axis=1), columns)
        usual.append(int(np.bincount(columns).argmax()))
        table[rows, columns] = truth[rows, columns]
        cost = np.zeros(len(truth))
        cost[rows] = costs[columns]
        spent.append(spent[-1] + cost)
        loss, hit = trained.outcomes(table)
        losses.append(loss)
        hits.append(hit)


def area_under_loss(losses: list[FloatArray], spent: list[FloatArray], budget: float) -> float:
    """Return the mean loss while a budget is spent: the area under loss against cost, per cost.

    Examples
    --------
    >>> import numpy as np
    >>> area_under_loss([np.array([3.0]), np.array([1.0])], [np.array([0.0]), np.array([1.0])], 4.0)
    1.5
    """
    ends = [*spent[1:], np.full_like(spent[0], budget)]
    parts = [loss * (end - begin) for loss, begin, end in zip(losses, spent, ends, strict=True)]
    return float(np.sum(parts, axis=0).mean() / budget)


ACQUISITION = Protocol(
    name="acquisition",
    title="Which value to measure next",
    source="no paper; design of this library",
    description=(
        "Kernel logistic regression (expected RBF, tuned by log loss) learns from rows of which 0 "
        "to 90 % of the values were removed, beside holes of their own. Its probabilities are "
        "averaged over what a row could be (64 draws of a mixture of two Gaussians), for all "
        "methods alike. Of test rows nothing is "
        "known at first (or 70 % is missing); values come one at a time in the order of each "
        "method, and the score is the mean log loss while the budget is spent. measure_next takes "
        "half of its gains from what columns were worth in folds of the training rows. Orders that "
        "are the same for all rows (mutual information, permutation importance) are divided by the "
        "costs."
    ),
    metric="log_loss_area",
    cells=_cells,
    run=_run,
    lower_is_better=True,
)
