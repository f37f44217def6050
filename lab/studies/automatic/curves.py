"""Log loss against processor seconds: ``python -m lab.studies.automatic.curves FOLDER --python P``.

Generated rows of 30 columns with 25 % missing, and 2000 new rows. Each method gets more and more
time: budgets for the automatic machine and AutoGluon, trees for the boosters. One thread; each fit
in a process of its own. ``FOLDER`` gets ``curves.csv`` and a picture.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from absentia import AutoClassifier
from absentia.automatic.member_tuning import LearningRows, as_rows
from absentia.pictures import pyplot, tidy
from lab.publish.pages import save_picture
from lab.speed.automatic import example
from lab.studies.automatic.rivals import with_autogluon
from lab.studies.automatic.trials import Trial

NEW_ROWS = 2000
#: Budgets in seconds (None: until it is done) and numbers of trees.
STEPS: dict[int, dict[str, list[Any]]] = {
    1000: {"automatic": [1, 2, 4, None], "AutoGluon": [10, 20, 60]},
    10_000: {"automatic": [3, 8, 20, None], "AutoGluon": [20, 40, 80]},
    100_000: {"automatic": [10, 30, None], "AutoGluon": [60, 120]},
}
TREES = {"boosting": [50, 100, 400], "CatBoost": [100, 300, 1000]}


def fitted(n: int, method: str, size: float | None, python: str) -> tuple[float, float]:
    """Return the log loss of new rows and the processor seconds of a fit."""
    X, y = example(n + NEW_ROWS)
    if method == "AutoGluon":
        rows = LearningRows(as_rows(X[:n]), y[:n], None, 2)
        _, plain, taken = with_autogluon(
            Trial("example", 0, rows, (X[n:], X[n:]), y[n:]), float(size or 0.0), python
        )
        return float(log_loss(y[n:], plain[0][:, 1])), taken
    if method == "automatic":
        AutoClassifier(random_state=0).fit(X[:80], y[:80])  # compiles
        model = AutoClassifier(time_budget=size, random_state=0)
    elif method == "boosting":
        model = HistGradientBoostingClassifier(max_iter=size, early_stopping=False, random_state=0)
    else:
        model = import_module("catboost").CatBoostClassifier(
            size, random_state=0, verbose=False, allow_writing_files=False, thread_count=1
        )
    started = time.process_time()
    with threadpool_limits(1):
        model.fit(X[:n], y[:n])
    seconds = time.process_time() - started
    return float(log_loss(y[n:], model.predict_proba(X[n:])[:, 1])), seconds


def picture(frame: pd.DataFrame, place: Path) -> None:
    """Draw a panel per number of rows."""
    groups = list(frame.groupby("rows"))
    figure, panels = pyplot().subplots(1, len(groups), figsize=(11, 3.6), layout="constrained")
    for axes, (n, part) in zip(panels, groups, strict=True):
        for method, own in part.groupby("method"):
            axes.plot(own["seconds"], own["loss"], "o-", markersize=4, label=method)
        axes.set(xscale="log", title=f"{n:,} rows", xlabel="processor seconds")
        tidy(axes)
    panels[0].set_ylabel("log loss of new rows")
    panels[0].legend(frameon=False)
    figure.savefig(place, dpi=120)
    save_picture(place, place.parent)


def main() -> None:
    """Fit everything, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default="", help="the interpreter that has AutoGluon")
    chosen = parser.parse_args()
    place, lines = chosen.folder / "curves.csv", []
    for n, steps in STEPS.items():
        for method, sizes in (steps | TREES).items():
            for size in sizes:
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    loss, seconds = pool.apply(fitted, (n, method, size, chosen.python))
                asked = "" if size is None else size
                lines.append({"rows": n, "method": method, "asked": asked,
                              "loss": round(loss, 4), "seconds": round(seconds, 1)})  # fmt: skip
                print(lines[-1], flush=True)
                pd.DataFrame(lines).to_csv(place, index=False)
    picture(pd.read_csv(place), place.with_suffix(".png"))


if __name__ == "__main__":
    main()
