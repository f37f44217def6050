"""Hidden cells of mixed tables filled in: error, right categories, coverage, loss, seconds.

``python -m lab.studies.imputers DATA OUT.csv [TABLE ...]`` writes one line per table, mechanism and
method; ``python -m lab.studies.imputers report OUT.csv`` prints the tables of the results page. R's
mice is left out where R or its package is not installed, miceforest where it cannot be imported,
and HyperImpute unless ``HYPERIMPUTE_PYTHON`` names the interpreter of an environment that has it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from subprocess import run
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from absentia import DensityImputer, MixtureDensity, amputation
from absentia import multiple_imputations as several
from absentia.hidden_warnings import hidden_warnings
from absentia.tables.column_plan import ColumnPlan
from lab.baselines import MissForestImputer
from lab.studies.mixed.tables import read

TABLES = (
    "titanic", "mammographic", "heart_four_sites", "australian", "cylinder_bands", "hepatitis",
    "chronic_kidney_disease", "horse_colic", "abalone", "forest_fires",
)  # fmt: skip
ROWS, SHARE, DRAWS, LEVEL, TREES = 200, 0.2, 20, 0.9, 100
LEVELS = [0.5 - LEVEL / 2, 0.5 + LEVEL / 2]
MECHANISMS = {
    "MCAR": amputation.mcar, "MAR": amputation.mar, "MNAR": amputation.self_censoring,
}  # fmt: skip

#: The completed table, draws where the method has any, and the middle ``LEVEL`` of numbers.
Completed = tuple[pd.DataFrame, list[pd.DataFrame], dict[str, np.ndarray]]
_R = """
library(mice); a <- commandArgs(trailingOnly = TRUE)
table <- read.csv(a[1], stringsAsFactors = TRUE, na.strings = "")
drawn <- mice(table, m = as.integer(a[2]), seed = 0, printFlag = FALSE)
for (k in seq_len(drawn$m)) write.csv(complete(drawn, k), paste0(a[1], k), row.names = FALSE)
"""
_HYPERIMPUTE = """
import sys, pandas
from hyperimpute.plugins.imputers import Imputers
table = pandas.read_csv(sys.argv[1])
Imputers().get("hyperimpute", random_state=0).fit_transform(table).to_csv(sys.argv[1], index=False)
"""


def by_density(density: object) -> Callable[[pd.DataFrame], Completed]:
    """Return a method that fits a density, with proper draws of as many components."""

    def method(frame: pd.DataFrame) -> Completed:
        imputer = DensityImputer(density, random_state=0).fit(frame)
        again = clone(imputer.density_)
        if hasattr(again, "n_components"):
            again.set_params(n_components=imputer.density_.n_components_, n_init=1)
        found = imputer.density_.quantiles(frame, LEVELS)
        names = np.array(imputer.density_.plan_.labels)[imputer.density_._number_columns()]
        ranges = {str(name): found[:, :, j] for j, name in enumerate(names)}
        return imputer.transform(frame), several(again, frame, DRAWS, random_state=0), ranges

    return method


def by_indicators(imputer: Any) -> Callable[[pd.DataFrame], Completed]:
    """Return a method of scikit-learn on numbers in standard units and indicators of words."""

    def method(frame: pd.DataFrame) -> Completed:
        plan = ColumnPlan.of(frame)
        filled = imputer.fit_transform(plan.read(frame).array)
        return plan.restored([filled], given=frame)[0], [], {}

    return method


def by_forests(frame: pd.DataFrame) -> Completed:
    """Fill in by missForest with 50 trees, categories as such."""
    plan = ColumnPlan.of(frame, codes=True)
    rows = plan.read(frame)
    forests = MissForestImputer(50, categorical_features=rows.category_columns, random_state=0)
    return plan.restored([forests.fit_transform(rows.array)], given=frame)[0], [], {}


def by_miceforest(frame: pd.DataFrame) -> Completed:
    """Draw by miceforest, five draws after two iterations of 50 trees."""
    from miceforest import ImputationKernel

    words = [c for c in frame if frame[c].dtype.kind not in "iuf"]
    typed = frame.astype(dict.fromkeys(words, "category"))
    # Its default for categories fails where a probability is one.
    match = {c: "fast" if c in words else "normal" for c in frame}
    kernel = ImputationKernel(typed, num_datasets=5, random_state=0, mean_match_strategy=match)
    kernel.mice(2, num_iterations=50, num_threads=1)
    return averaged([kernel.complete_data(k).astype(frame.dtypes) for k in range(5)])


def by_r_mice(frame: pd.DataFrame) -> Completed:
    """Draw by R's mice with its defaults: predictive mean matching and logistic regressions."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        frame.set_axis([f"x{j}" for j in range(frame.shape[1])], axis=1).to_csv(path, index=False)
        run(["Rscript", "--vanilla", "-e", _R, path, str(DRAWS)], capture_output=True, check=True)
        drawn = [
            pd.read_csv(f"{path}{k + 1}").set_axis(frame.columns, axis=1) for k in range(DRAWS)
        ]
    return averaged(drawn)


def by_hyperimpute(frame: pd.DataFrame) -> Completed:
    """Fill in by HyperImpute's search over imputers of each column, categories as codes."""
    plan = ColumnPlan.of(frame, codes=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        pd.DataFrame(plan.read(frame).array).to_csv(path, index=False)
        program = os.environ["HYPERIMPUTE_PYTHON"]
        run([program, "-c", _HYPERIMPUTE, path], capture_output=True, check=True, timeout=1800)
        return plan.restored([pd.read_csv(path).to_numpy()], given=frame)[0], [], {}


def averaged(draws: list[pd.DataFrame]) -> Completed:
    """Return the means of numbers and the commonest categories over draws, and the draws."""
    both = pd.concat(draws).groupby(level=0)
    columns = {
        c: both[c].mean() if draws[0][c].dtype.kind in "iuf" else both[c].agg(
            lambda cells: next(iter(cells.mode()), None)
        )
        for c in draws[0]
    }  # fmt: skip
    return pd.DataFrame(columns), draws, {}


METHODS: dict[str, Callable[[pd.DataFrame], Completed]] = {
    "DensityImputer, gaussian": by_density("gaussian"),
    "DensityImputer, mixture by BIC": by_density(
        MixtureDensity("bic", margins="auto", random_state=0)
    ),
    "DensityImputer, mixed by BIC": by_density("mixed"),
    "IterativeImputer": by_indicators(IterativeImputer(random_state=0)),
    "KNNImputer": by_indicators(KNNImputer()),
    "missForest (Python)": by_forests,
}
if find_spec("miceforest"):
    METHODS["miceforest"] = by_miceforest
if (
    which("Rscript")
    and run(["Rscript", "-e", "library(mice); library(nnet)"], capture_output=True).returncode == 0
):
    METHODS["mice (R)"] = by_r_mice
if "HYPERIMPUTE_PYTHON" in os.environ:
    METHODS["HyperImpute"] = by_hyperimpute


def scores(
    truth: pd.DataFrame, target: pd.Series, hidden: np.ndarray, found: Completed
) -> dict[str, float]:
    """Return the measures of a completed table that :func:`main` writes."""
    filled, draws, ranges = found
    parts: dict[str, list[np.ndarray]] = {
        "error": [], "right": [], "coverage of draws": [], "coverage of quantiles": []
    }  # fmt: skip
    for j, name in enumerate(truth):
        rows, column = hidden[:, j], truth[name]
        if column.dtype.kind not in "iuf":
            parts["right"].append((filled[name][rows] == column[rows]).to_numpy())
            continue
        known = column[rows].to_numpy(dtype=float)
        guesses = filled[name][rows].to_numpy(dtype=float)
        parts["error"].append(((guesses - known) / column.std()) ** 2)
        if len(draws) == DRAWS:
            cells = np.array([draw[name][rows].to_numpy(dtype=float) for draw in draws])
            low, high = np.quantile(cells, LEVELS, 0, method="weibull")
            parts["coverage of draws"].append((low <= known) & (known <= high))
        if name in ranges:
            low, high = ranges[name][:, rows]
            parts["coverage of quantiles"].append((low <= known) & (known <= high))
    means = {k: float(np.nanmean(np.concatenate(v))) if v else np.nan for k, v in parts.items()}
    return means | {"error": means["error"] ** 0.5, "forest": forest_loss(filled, target)}


def forest_loss(table: pd.DataFrame, target: pd.Series) -> float:
    """Return the loss of a forest in five folds: log loss, or the share of the variance left."""
    X = ColumnPlan.of(table).read(table).array
    if target.nunique() > 10:
        folds, y = KFold(5, shuffle=True, random_state=0), target.to_numpy(dtype=float)
        forest = RandomForestRegressor(TREES, min_samples_leaf=3, random_state=0)
        answers = cross_val_predict(forest, X, y, cv=folds)
        return float(((answers - y) ** 2).mean() / y.var())
    split, classes = StratifiedKFold(5, shuffle=True, random_state=0), target.astype(str)
    trees = RandomForestClassifier(TREES, min_samples_leaf=3, random_state=0)
    shares = cross_val_predict(trees, X, classes, cv=split, method="predict_proba")
    chosen = shares[np.arange(len(X)), np.unique(classes, return_inverse=True)[1]]
    return float(-np.log(np.clip(chosen, 1e-3, None)).mean())


def report(cells: pd.DataFrame) -> str:
    """Return means over tables with mean ranks, then errors and right words of each table."""
    keys = ["table", "mechanism"]
    cells["error rank"] = cells.groupby(keys)["error"].rank(na_option="bottom")
    cells["right rank"] = cells.groupby(keys)["right"].rank(ascending=False, na_option="bottom")
    means = cells.groupby(["mechanism", "method"], sort=False).mean(numeric_only=True)
    each = cells.pivot_table("error", keys, "method", sort=False)
    right = cells.pivot_table("right", keys, "method", sort=False)
    return "\n\n".join(part.round(3).to_string() for part in (means, each, right))


def main() -> None:
    """Write lines as soon as they are there, or print their means."""
    if sys.argv[1] == "report":
        print(report(pd.read_csv(sys.argv[2])))
        return
    lines = []
    for table in sys.argv[3:] or TABLES:
        frame, target = read(Path(sys.argv[1]), table, ROWS, 0)
        whole = forest_loss(frame, target)
        for mechanism, remove in MECHANISMS.items():
            holes = remove(frame, SHARE, random_state=0)
            hidden = (holes.isna() & frame.notna()).to_numpy()
            for label, method in METHODS.items():
                found = {"error": np.nan, "right": np.nan, "failed": 1.0}
                start = sum(os.times()[:4])  # with the programs that were called
                try:
                    with hidden_warnings():
                        completed = method(holes)
                        found["seconds"] = sum(os.times()[:4]) - start
                        found |= scores(frame, target, hidden, completed) | {"failed": 0.0}
                        found["forest"] -= whole
                except Exception as error:  # rivals may fail on a table; a result like any other
                    print(table, mechanism, label, repr(error)[:200], flush=True)
                lines.append({"table": table, "mechanism": mechanism, "method": label} | found)
                pd.DataFrame(lines).to_csv(sys.argv[2], index=False)


if __name__ == "__main__":
    main()
