"""``measure_next`` on generators and tables of AFABench (arXiv 2508.14734), with rebuilt rivals.

``python -m lab.studies.acquisition_rivals DATA [TABLE ...]`` prints, per table and method, the mean
accuracy over the values that are measured one by one (a hard budget; nothing is known at first),
over repetitions with standard errors. All methods share one classifier: boosted trees on training
rows of which random shares were hidden. Rebuilt from the papers, on trees in place of networks:

- *permutation importance*: one order for all rows, the static baseline;
- *discriminative greedy*, after DIME (Gadgil and others 2024): a regression per column predicts
  from an incomplete row by how much the loss falls when the column is measured;
- *acquisition oracle*, after AACO (Valancius and others 2024): of random sets of further columns,
  the one that lowers the loss of the nearest training rows the most per column; its best column is
  measured.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from absentia import MarginalClassifier, MixtureDensity, measure_next
from absentia.decisions import column_worth, held_out_worth
from absentia.hidden_warnings import hidden_warnings
from absentia.tables import BoolArray, FloatArray, IntArray
from lab.data.datasets import Dataset, load

TABLES = ("cube", "cube-nm", "chronic_kidney_disease", "physionet2012_mean", "actg175")
TRAIN_ROWS, TEST_ROWS, BUDGET, REPEATS = 1200, 150, 8, 5
#: Copies of each training row, each with another share of its values hidden.
_COPIES, _DRAWS = 6, 512
_NEIGHBOURS, _SETS, _MOST_IN_SET = 5, 48, 5
_MOST_COMPONENTS = 24

Choose = Callable[[FloatArray, BoolArray], FloatArray]


def cube(n: int, rng: np.random.Generator, n_columns: int = 20) -> tuple[FloatArray, IntArray]:
    """Return rows of eight classes whose three bits lie in columns that depend on the class.

    Class ``k`` has its bits, with a deviation of 0.1, in columns ``k`` to ``k + 2``; all other
    values are noise about 0.5, with a deviation of 0.3.
    """
    y = rng.integers(8, size=n)
    X = rng.normal(0.5, 0.3, size=(n, n_columns))
    for bit in range(3):
        X[np.arange(n), y + bit] = (y >> bit & 1) + rng.normal(0.0, 0.1, size=n)
    return X, y


def cube_nm(n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Return three columns that say in which of three blocks of ten columns the cube is.

    They say nothing about the class by themselves, so that no method finds them that looks one
    value ahead.
    """
    context, noise = rng.integers(3, size=n), rng.normal(0.5, 0.3, size=(n, 3, 10))
    X, y = cube(n, rng, 10)
    noise[np.arange(n), context] = X
    told = np.eye(3)[context] + rng.normal(0.0, 0.1, size=(n, 3))
    return np.hstack([told, noise.reshape(n, 30)]), y


def actg175() -> Dataset:
    """Return the patients of trial 175 of the AIDS Clinical Trials Group (Hammer, 1996).

    The target is whether a patient had an event. The table is one of those of the package
    lifelines (``pip install --no-deps lifelines``); what was measured at the end is left out.
    """
    found = find_spec("lifelines")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("actg175 is a file of lifelines: pip install --no-deps lifelines")
    frame = pd.read_csv(Path(found.origin).with_name("datasets") / "ACTG175.csv", index_col=0)
    y, X = frame["cens"].to_numpy(), frame.drop(columns=["pidnum", "cens", "cd496", "r"])
    return Dataset("actg175", "classification", X.to_numpy(float), y, tuple(X))


def rows_of(name: str, folder: str, seed: int) -> tuple[FloatArray, np.ndarray]:
    """Return as many rows as are learned from and tested on, at most."""
    if name.startswith("cube"):
        make = cube if name == "cube" else cube_nm
        return make(TRAIN_ROWS + TEST_ROWS, np.random.default_rng(seed))
    data = actg175() if name == "actg175" else load(name, folder)
    data = data.sample(TRAIN_ROWS + TEST_ROWS, random_state=seed)
    X = data.X[:, ~np.isnan(data.X).all(axis=0)]
    return (X - np.nanmean(X, axis=0)) / np.maximum(np.nanstd(X, axis=0), 1e-9), data.y


def masked(X: FloatArray, copies: int, rng: np.random.Generator) -> FloatArray:
    """Return copies of the rows, each with another share of its values hidden."""
    X = np.tile(X, (copies, 1))
    return np.where(rng.random(X.shape) < rng.random((len(X), 1)), np.nan, X)


def losses_of(model: MarginalClassifier, X: FloatArray, y: np.ndarray) -> FloatArray:
    """Return the log loss of each row."""
    chances = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return -np.log(np.maximum(chances, 1e-12))


def discriminative_greedy(
    trees: HistGradientBoostingClassifier, X: FloatArray, y: np.ndarray, rng: np.random.Generator
) -> Choose:
    """Return the regressions of the drop of the loss, one per column."""
    states, targets, full = masked(X, 3, rng), np.tile(y, 3), np.tile(X, (3, 1))
    before, models = losses_of(trees, states, targets), []
    for j in range(X.shape[1]):
        new = np.isnan(states[:, j]) & ~np.isnan(full[:, j])
        known = states[new].copy()
        known[:, j] = full[new, j]
        drop = before[new] - losses_of(trees, known, targets[new])
        others = np.delete(states[new], j, axis=1)
        others[:, np.isnan(others).all(axis=0)] = 0.0  # boosting takes no column without values
        models.append(HistGradientBoostingRegressor(max_iter=60).fit(others, drop))
    return lambda table, _: np.column_stack(
        [model.predict(np.delete(table, j, axis=1)) for j, model in enumerate(models)]
    )


def acquisition_oracle(
    trees: HistGradientBoostingClassifier, X: FloatArray, y: np.ndarray, rng: np.random.Generator
) -> Choose:
    """Return the choice by sets of columns that help the nearest training rows."""
    filled = np.nan_to_num(X)

    def choose(table: FloatArray, candidates: BoolArray) -> FloatArray:
        gains = np.zeros(table.shape)
        for i, row in enumerate(table):
            known, free = ~np.isnan(row), np.flatnonzero(candidates[i])
            distances = ((filled[:, known] - row[known]) ** 2).sum(axis=1)
            near = np.argsort(distances + 1e-9 * rng.random(len(X)))[:_NEIGHBOURS]
            sets = np.zeros((_SETS + len(free), len(row)), dtype=bool)
            sets[np.arange(len(free)) + _SETS, free] = True  # each column alone
            for some in sets[:_SETS]:
                size = rng.integers(1, min(_MOST_IN_SET, len(free)) + 1)
                some[rng.choice(free, size, replace=False)] = True
            seen = np.where((sets | known)[:, None], X[near], np.nan)
            loss = losses_of(trees, seen.reshape(-1, len(row)), np.tile(y[near], len(sets)))
            now = losses_of(trees, np.where(known, X[near], np.nan), y[near]).mean()
            drop = now - loss.reshape(len(sets), -1).mean(axis=1)
            best = sets[np.argmax(drop / sets.sum(axis=1))]
            alone = np.full(len(row), -np.inf)
            alone[free] = drop[_SETS:]
            gains[i] = np.where(best, alone + 1e3, alone)
        return gains

    return choose


def methods(
    trees: HistGradientBoostingClassifier, X: FloatArray, y: np.ndarray, seed: int
) -> dict[str, Choose]:
    """Return how each method scores the columns of rows."""
    rng = np.random.default_rng(seed)
    density = MixtureDensity("bic", max_components=_MOST_COMPONENTS, n_init=1, random_state=seed)
    model = MarginalClassifier(
        FrozenEstimator(trees), density=density, n_draws=16, random_state=seed
    ).fit(X)
    importance = column_worth(trees, masked(X, 1, rng), np.asarray(y))
    worth = held_out_worth(model, masked(X, 1, rng)[:400], y[:400], max_columns=BUDGET, cv=None)

    def ours(lookahead: object, worth: FloatArray | None) -> Choose:
        def choose(table: FloatArray, _: BoolArray) -> FloatArray:
            found = measure_next(
                model, table, lookahead=lookahead, worth=worth, n_draws=_DRAWS  # type: ignore[arg-type]
            )  # fmt: skip
            return np.nan_to_num(found.gain_per_cost, nan=-np.inf)

        return choose

    return {
        "random": lambda table, _: rng.random(table.shape),
        "permutation importance": lambda table, _: np.broadcast_to(importance, table.shape),
        "discriminative greedy": discriminative_greedy(trees, X, y, rng),
        "acquisition oracle": acquisition_oracle(trees, X, y, rng),
        "gains, one step": ours(1, None),
        "measure_next": ours("auto", worth),
    }


def accuracies(
    trees: HistGradientBoostingClassifier, choose: Choose, truth: FloatArray, y: np.ndarray
) -> list[float]:
    """Return the accuracy after each value."""
    table, found = np.full_like(truth, np.nan), []
    for _ in range(BUDGET):
        candidates = np.isnan(table) & ~np.isnan(truth)
        rows = np.flatnonzero(candidates.any(axis=1))
        score = np.where(candidates[rows], choose(table[rows], candidates[rows]), -np.inf)
        best = np.where(np.isinf(score.max(axis=1)), candidates[rows].argmax(axis=1),
                        score.argmax(axis=1))  # fmt: skip
        table[rows, best] = truth[rows, best]
        found.append(float((trees.predict(table) == y).mean()))
    return found


def trial(name: str, folder: str, seed: int) -> pd.DataFrame:
    """Return the accuracies of one split, a line per method and number of values."""
    X, y = rows_of(name, folder, seed)
    train, test = train_test_split(
        np.arange(len(y)), test_size=min(TEST_ROWS, len(y) // 4), stratify=y, random_state=seed
    )
    learned = masked(X[train], _COPIES, np.random.default_rng(seed))
    trees = HistGradientBoostingClassifier(max_iter=100, max_leaf_nodes=15, random_state=seed)
    trees.fit(np.vstack([X[train], learned]), np.tile(y[train], 1 + _COPIES))
    lines = []
    for method, choose in methods(trees, X[train], y[train], seed).items():
        started = time.process_time()
        found = accuracies(trees, choose, X[test], y[test])
        seconds = time.process_time() - started
        lines += [(name, seed, method, k + 1, value, seconds) for k, value in enumerate(found)]
    return pd.DataFrame(lines, columns=["table", "seed", "method", "values", "accuracy", "seconds"])


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return mean accuracy over the budget, its error over repetitions, and that of each step."""
    split = frame.groupby(["table", "method", "seed"])["accuracy"].mean()
    found = split.groupby(["table", "method"], sort=False).agg(["mean", "sem"])
    for k in (1, 3, 5, BUDGET):
        part = frame[frame["values"] == k].groupby(["table", "method"])["accuracy"].mean()
        found[f"{k} values"] = part
    found["seconds"] = frame.groupby(["table", "method"])["seconds"].mean()
    return found.round(3)


if __name__ == "__main__":
    for table_name in sys.argv[2:] or TABLES:
        with hidden_warnings():
            trials = [trial(table_name, sys.argv[1], seed) for seed in range(REPEATS)]
        print(summary(pd.concat(trials)).to_string(), flush=True)
