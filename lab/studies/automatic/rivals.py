"""Answers of programs that are no members: CatBoost, tuned LightGBM, and AutoGluon.

``python -m lab.studies.automatic.rivals --data FOLDER --store FOLDER --python PROGRAM`` runs
AutoGluon with the interpreter of an environment of its own, where ``autogluon.tabular`` is
installed with its boosters and without torch. It gets as many seconds of processor time as the
members in the store took, or a multiple.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.model_selection import ParameterSampler

from absentia.automatic.folds import make_splits
from absentia.automatic.member_tuning import FittedMember, LearningRows
from absentia.tables import FloatArray
from lab.experiments.suites.realholes import HOLED_TABLES
from lab.studies.automatic.answers import LEVELS, expected_members, path_of, read, write
from lab.studies.automatic.trials import SHIFT_TABLES, Trial, trial

#: Names in the store, and the times of the members that AutoGluon gets.
AUTOGLUON = {"autogluon": 1, "autogluon, four times": 4}
PROGRAMS = ("catboost", "lightgbm, tuned", *AUTOGLUON)
_TRIALS, _PATIENCE, _MOST_TREES = 30, 20, 500
_SPACE = {
    "num_leaves": randint(4, 64),
    "learning_rate": loguniform(0.01, 0.3),
    "min_data_in_leaf": randint(3, 40),
    "feature_fraction": uniform(0.4, 0.6),
    "bagging_fraction": uniform(0.5, 0.5),
    "lambda_l2": loguniform(1e-3, 30.0),
}


def compute_program(split: Trial, name: str, store: Path, python: str = "") -> str:
    """Fit a program to the training rows of a trial, keep its answers, and return a line on it."""
    path, started = path_of(store, split, name), time.process_time()
    if name in AUTOGLUON:
        members = [read(store, split, member) for member in expected_members(split)]
        seconds = AUTOGLUON[name] * sum(found.seconds for found in members if found is not None)
        out_of_fold, plain, taken = with_autogluon(split, seconds, python)
    else:
        make = _catboost if name == "catboost" else _tuned_lightgbm
        out_of_fold, plain = make(split)
        taken = time.process_time() - started
    levels = np.repeat(out_of_fold[None], 1 + len(LEVELS), axis=0)
    write(path, levels, plain, plain, taken)
    return f"{path.stem}: {taken:.1f} s"


def _catboost(split: Trial) -> tuple[FloatArray, list[FloatArray]]:
    """Fit CatBoost with its defaults; its errors out of fold only where numbers need them."""
    catboost, rows = import_module("catboost"), split.rows
    kind = catboost.CatBoostRegressor if rows.n_classes is None else catboost.CatBoostClassifier

    def fitted(some: LearningRows) -> FittedMember:
        model = kind(
            random_state=split.seed, verbose=False, allow_writing_files=False, thread_count=1
        ).fit(np.asarray(some.table), some.y)
        return FittedMember("catboost", model, True, rows.n_classes)

    out_of_fold = np.full((len(rows.y), rows.n_classes or 1), np.nan)
    if rows.n_classes is None:
        for train, test in make_splits(rows, 3, None, split.seed):
            out_of_fold[test] = fitted(rows[train]).answer(rows.table[test])
    member = fitted(rows)
    return out_of_fold, [member.answer(table) for table in split.tests]


def _tuned_lightgbm(split: Trial) -> tuple[FloatArray, list[FloatArray]]:
    """Choose LightGBM's settings by 30 random trials of five folds, and its trees by each."""
    lightgbm, rows = import_module("lightgbm"), split.rows
    fixed: dict[str, Any] = {"num_threads": 1, "verbosity": -1, "seed": split.seed}
    fixed["bagging_freq"] = 1
    if rows.n_classes is None:
        fixed |= {"objective": "regression", "metric": "l2"}
    elif rows.n_classes == 2:
        fixed |= {"objective": "binary", "metric": "binary_logloss"}
    else:
        fixed |= {"objective": "multiclass", "num_class": rows.n_classes}
    table = np.asarray(rows.table)
    folds = list(make_splits(rows, 5, None, split.seed))
    best: tuple[dict[str, Any], int] = ({}, 1)
    least = np.inf
    for drawn in ParameterSampler(_SPACE, _TRIALS, random_state=split.seed):
        data = lightgbm.Dataset(table, rows.y, params={"verbosity": -1})
        found = lightgbm.cv(
            fixed | drawn, data, _MOST_TREES, folds=folds,
            callbacks=[lightgbm.early_stopping(_PATIENCE, verbose=False)],
        )  # fmt: skip
        means = next(values for key, values in found.items() if key.endswith("-mean"))
        if means[-1] < least:
            best, least = (drawn, len(means)), means[-1]

    def answers(some: np.ndarray, wanted: list[FloatArray]) -> list[FloatArray]:
        data = lightgbm.Dataset(table[some], rows.y[some], params={"verbosity": -1})
        model = lightgbm.train(fixed | best[0], data, best[1])
        own = [np.asarray(model.predict(np.asarray(each))) for each in wanted]
        return [np.column_stack([1 - each, each]) if rows.n_classes == 2 else
                each.reshape(len(each), -1) for each in own]  # fmt: skip

    out_of_fold = np.full((len(rows.y), rows.n_classes or 1), np.nan)
    if rows.n_classes is None:
        for train, test in folds:
            out_of_fold[test] = answers(train, [table[test]])[0]
    return out_of_fold, answers(np.arange(len(rows.y)), list(split.tests))


def with_autogluon(
    split: Trial, seconds: float, python: str
) -> tuple[FloatArray, list[FloatArray], float]:
    """Run AutoGluon in its own interpreter, without what compiles or lends it threads."""
    program = Path(__file__).with_name("with_autogluon.py")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        np.savez(
            place / "rows.npz", table=np.asarray(split.rows.table), y=split.rows.y,
            first=split.tests[0], second=split.tests[1],
        )  # fmt: skip
        asked = {"seconds": seconds, "n_classes": split.rows.n_classes}
        (place / "asked.json").write_text(json.dumps(asked))
        one = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        subprocess.run([python, str(program), folder], check=True, capture_output=True, env=one)
        with np.load(place / "answers.npz") as found:
            return found["out_of_fold"], list(found["plain"]), float(found["seconds"])


def main() -> None:
    """Run what is missing of the store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder of the tables")
    parser.add_argument("--store", type=Path, required=True, help="folder of the answers")
    parser.add_argument("--repeats", type=int, nargs="*", default=[0])
    parser.add_argument("--programs", nargs="*", default=PROGRAMS)
    parser.add_argument("--python", default="", help="the interpreter that has AutoGluon")
    chosen = parser.parse_args()
    for repeat in chosen.repeats:
        for name in (*HOLED_TABLES, *SHIFT_TABLES):
            split = trial(name, repeat, chosen.data)
            for program in chosen.programs:
                if not path_of(chosen.store, split, program).exists():
                    print(compute_program(split, program, chosen.store, chosen.python), flush=True)


if __name__ == "__main__":
    main()
