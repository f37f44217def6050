"""Hidden cells of mixed tables filled in: error, right categories, coverage of draws, seconds.

``python -m lab.studies.imputers DATA OUT.csv [TABLE ...]`` writes one line per table, mechanism and
method; ``python -m lab.studies.imputers report OUT.csv`` prints their means by mechanism. R's mice
is left out where R or its package is not installed, miceforest where it cannot be imported.
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
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from absentia import DensityImputer, MixtureDensity, amputation
from absentia import multiple_imputations as several
from absentia.hidden_warnings import hidden_warnings
from absentia.tables.column_plan import ColumnPlan
from lab.baselines import MissForestImputer
from lab.studies.mixed.tables import read

TABLES = ("titanic", "mammographic", "heart_four_sites", "australian")
ROWS, SHARE, DRAWS, LEVEL = 200, 0.2, 20, 0.9
MECHANISMS = {
    "MCAR": amputation.mcar, "MAR": amputation.mar, "MNAR": amputation.self_censoring,
}  # fmt: skip

#: The completed table, and draws of it where the method has any.
Completed = tuple[pd.DataFrame, list[pd.DataFrame]]
_R = """
library(mice); a <- commandArgs(trailingOnly = TRUE)
table <- read.csv(a[1], stringsAsFactors = TRUE, na.strings = "")
drawn <- mice(table, m = as.integer(a[2]), seed = 0, printFlag = FALSE)
for (k in seq_len(drawn$m)) write.csv(complete(drawn, k), paste0(a[1], k), row.names = FALSE)
"""


def by_density(density: object) -> Callable[[pd.DataFrame], Completed]:
    """Return a method that fits a density, with proper draws of as many components."""

    def method(frame: pd.DataFrame) -> Completed:
        imputer = DensityImputer(density, random_state=0).fit(frame)
        again = clone(imputer.density_)
        if hasattr(again, "n_components"):
            again.set_params(n_components=imputer.density_.n_components_, n_init=1)
        return imputer.transform(frame), several(again, frame, DRAWS, random_state=0)

    return method


def by_indicators(imputer: Any) -> Callable[[pd.DataFrame], Completed]:
    """Return a method of scikit-learn on numbers in standard units and indicators of words."""

    def method(frame: pd.DataFrame) -> Completed:
        plan = ColumnPlan.of(frame)
        filled = imputer.fit_transform(plan.read(frame).array)
        return plan.restored([filled], given=frame)[0], []

    return method


def by_forests(frame: pd.DataFrame) -> Completed:
    """Fill in by missForest with 50 trees, categories as such."""
    plan = ColumnPlan.of(frame, codes=True)
    rows = plan.read(frame)
    forests = MissForestImputer(50, categorical_features=rows.category_columns, random_state=0)
    return plan.restored([forests.fit_transform(rows.array)], given=frame)[0], []


def by_miceforest(frame: pd.DataFrame) -> Completed:
    """Draw by miceforest, five draws after two iterations of 50 trees."""
    from miceforest import ImputationKernel

    typed = frame.astype({c: "category" for c in frame if frame[c].dtype.kind not in "iuf"})
    kernel = ImputationKernel(typed, num_datasets=5, random_state=0)
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


def averaged(draws: list[pd.DataFrame]) -> Completed:
    """Return the means of numbers and the commonest categories over draws, and the draws."""
    both = pd.concat(draws).groupby(level=0)
    columns = {
        c: both[c].mean() if draws[0][c].dtype.kind in "iuf" else both[c].agg(
            lambda cells: next(iter(cells.mode()), None)
        )
        for c in draws[0]
    }  # fmt: skip
    return pd.DataFrame(columns), draws


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


def scores(truth: pd.DataFrame, hidden: np.ndarray, found: Completed) -> dict[str, float]:
    """Return the error of numbers in standard deviations, right categories, and coverage."""
    filled, draws = found
    squares, hits, covered = [], [], []
    for j, name in enumerate(truth):
        rows, column = hidden[:, j], truth[name]
        if column.dtype.kind not in "iuf":
            hits.append((filled[name][rows] == column[rows]).to_numpy())
            continue
        known = column[rows].to_numpy(dtype=float)
        guesses = filled[name][rows].to_numpy(dtype=float)
        squares.append(((guesses - known) / column.std()) ** 2)
        if len(draws) == DRAWS:
            cells = np.array([draw[name][rows].to_numpy(dtype=float) for draw in draws])
            low, high = np.quantile(cells, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], 0, method="weibull")
            covered.append((low <= known) & (known <= high))
    parts = {"error": squares, "right": hits, "coverage": covered}
    means = {k: float(np.nanmean(np.concatenate(v))) if v else np.nan for k, v in parts.items()}
    return means | {"error": means["error"] ** 0.5}


def main() -> None:
    """Write lines as soon as they are there, or print their means."""
    if sys.argv[1] == "report":
        cells = pd.read_csv(sys.argv[2])
        means = cells.groupby(["mechanism", "method"], sort=False).mean(numeric_only=True)
        print(means.round({"error": 3, "right": 3, "coverage": 2, "seconds": 1}).to_string())
        return
    lines = []
    for table in sys.argv[3:] or TABLES:
        frame, _ = read(Path(sys.argv[1]), table, ROWS, 0)
        for mechanism, remove in MECHANISMS.items():
            holes = remove(frame, SHARE, random_state=0)
            hidden = (holes.isna() & frame.notna()).to_numpy()
            for label, method in METHODS.items():
                start = sum(os.times()[:4])  # with the programs that were called
                found = {"error": np.nan, "right": np.nan, "coverage": np.nan, "failed": 1.0}
                try:
                    with hidden_warnings():
                        found |= scores(frame, hidden, method(holes)) | {"failed": 0.0}
                except Exception as error:  # rivals may fail on a table; a result like any other
                    print(table, mechanism, label, repr(error)[:200], flush=True)
                found["seconds"] = sum(os.times()[:4]) - start
                lines.append({"table": table, "mechanism": mechanism, "method": label} | found)
                pd.DataFrame(lines).to_csv(sys.argv[2], index=False)


if __name__ == "__main__":
    main()
