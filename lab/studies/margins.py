"""Margins of a density against plain Gaussians: hidden cells, marginal forests, kernel machines.

``python -m lab.studies.margins --data FOLDER --out FILE`` writes a line for each table and
each kind of margins: log score and CRPS of hidden cells in standard deviations, and losses (log
loss, or share of the variance) of a forest averaged over draws and of a kernel machine, on the test
rows of the first split as they are and with 60 % hidden. ``--automatic`` adds the losses of the
automatic machine (log loss, or CRPS). ``--report`` prints the table of the guide.

Machines with plain Gaussians get standardised columns, as pipelines usually give them; a density
with margins gets the columns as they are, because it brings scores of its own.
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.preprocessing import StandardScaler

from absentia import (
    AutoClassifier,
    AutoRegressor,
    GaussianDensity,
    KernelRidge,
    LogisticRegression,
    MarginalClassifier,
    MarginalRegressor,
)
from absentia.automatic.blending import losses
from absentia.automatic.committee import hide_cells
from absentia.hidden_warnings import hidden_warnings
from lab.experiments.scoring import crps_of_normal
from lab.experiments.suites.realholes import HOLED_TABLES
from lab.studies.automatic.scores import TESTS
from lab.studies.automatic.trials import Trial, trial

Margins = Literal["auto"] | None
MARGINS: dict[str, Margins] = {"none": None, "auto": "auto"}
HIDDEN, DRAWS, TREES = 0.2, 50, 200
_ONE_DEVIATION = 0.6827


def hidden_cells(split: Trial, margins: Margins) -> dict[str, float]:
    """Return the log score and the CRPS of cells hidden in test rows, in standard deviations."""
    X, seed = split.tests[0], split.seed
    density = GaussianDensity(margins=margins).fit(split.rows.table.array)
    columns = density.columns_
    spreads = np.nanstd(split.rows.table.array[:, columns], axis=0)
    shown = hide_cells(X, HIDDEN, seed)
    hidden = (np.isnan(shown) & ~np.isnan(X))[:, columns] & (spreads > 0)
    shown[:, columns] = np.where(hidden, np.nan, X[:, columns])
    log_density = float((density.score_samples(X) - density.score_samples(shown)).sum())
    log_density += float((hidden * np.log(np.where(spreads > 0, spreads, 1.0))).sum())
    draws = density.draw(shown, DRAWS, random_state=seed)[:, hidden]
    truth = X[:, columns][hidden]
    order = np.sort(draws, axis=0)
    ranks = 2 * np.arange(1, DRAWS + 1) - DRAWS - 1
    between = (ranks[:, None] * order).sum(axis=0) / (DRAWS * (DRAWS - 1))
    crps = np.abs(draws - truth).mean(axis=0) - between
    units = np.broadcast_to(spreads, hidden.shape)[hidden]
    return {"log score": log_density / hidden.sum(), "crps": float((crps / units).mean())}


def _loss(split: Trial, answers: np.ndarray) -> float:
    """Return the log loss of probabilities, or the squared error (targets are in units)."""
    if split.rows.n_classes:
        return float(losses(answers, split.y, split.rows.task).mean())
    return float(((answers - split.y) ** 2).mean())


def machine_losses(split: Trial, margins: Margins) -> dict[str, float]:
    """Return the losses of a marginal forest and of a kernel machine."""
    X, y, classes = split.rows.table.array, split.rows.y, split.rows.n_classes
    density = GaussianDensity(margins=margins)
    if classes:
        forest = MarginalClassifier(
            RandomForestClassifier(TREES, min_samples_leaf=3, random_state=0), density=density,
            random_state=0,
        )  # fmt: skip
        kernel = LogisticRegression(density=density)
    else:
        forest = MarginalRegressor(
            RandomForestRegressor(TREES, min_samples_leaf=3, random_state=0), density=density,
            random_state=0,
        )  # fmt: skip
        kernel = KernelRidge(density=density)
    scaler = StandardScaler(with_mean=margins is None, with_std=margins is None).fit(X)
    forest.fit(X, y)
    kernel.fit(scaler.transform(X), y)
    found = {}
    for test, rows in zip(TESTS, split.tests, strict=True):
        answer = "predict_proba" if classes else "predict"
        found[f"forest, {test}"] = _loss(split, getattr(forest, answer)(rows))
        found[f"kernel, {test}"] = _loss(split, getattr(kernel, answer)(scaler.transform(rows)))
    return found


def automatic_losses(split: Trial, margins: Margins) -> dict[str, float]:
    """Return the losses of the automatic machine with such a density, and its seconds."""
    classes, started = split.rows.n_classes, time.process_time()
    model = (AutoClassifier if classes else AutoRegressor)(
        density=GaussianDensity(margins=margins), random_state=split.seed % 2**31, n_jobs=1
    ).fit(split.rows.table.array, split.rows.y)
    found = {"seconds": time.process_time() - started}
    for test, rows in zip(TESTS, split.tests, strict=True):
        if classes:
            found[f"automatic, {test}"] = _loss(split, model.predict_proba(rows))
            continue
        spreads = np.ptp(model.predict_interval(rows, _ONE_DEVIATION), axis=1) / 2
        crps = crps_of_normal(split.y, model.predict(rows), np.maximum(spreads, 1e-9))
        found[f"automatic, {test}"] = float(crps.mean())
    return found


def report(cells: pd.DataFrame) -> str:
    """Return the table in Markdown, plain margins beside automatic ones, with means and wins."""
    scores = [c for c in cells if c not in ("table", "margins", "seconds")]
    both = cells.pivot(index="table", columns="margins", values=scores)
    both = both.reindex(cells["table"].unique())
    lines = ["| table | " + " | | ".join(scores) + " | |", "|---" * (2 * len(scores) + 1) + "|"]
    means = both.mean().to_frame("**mean**").T
    for name, row in pd.concat([both, means]).iterrows():
        values = [re.sub(r"^(-?)0\.", r"\1.", f"{row[s, m]:.3g}") for s in scores for m in MARGINS]
        lines.append(f"| {name} | " + " | ".join(values) + " |")
    for s in scores:
        gain = both[s, "none"] - both[s, "auto"]
        gain = -gain if s == "log score" else gain
        lines.append(
            f"{s}: better on {int((gain > 0).sum())} of {int(gain.notna().sum())}, "
            f"mean gain {gain.mean():.4f}, standard error {gain.sem():.4f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Score the tables that are not in the file yet, or print what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of the tables")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", nargs="*", default=HOLED_TABLES)
    parser.add_argument("--automatic", action="store_true")
    parser.add_argument("--report", action="store_true")
    chosen = parser.parse_args()
    lines = pd.read_csv(chosen.out).to_dict("records") if chosen.out.exists() else []
    if chosen.report:
        print(report(pd.DataFrame(lines)))
        return
    known = {line["table"] for line in lines}
    for name in chosen.tables:
        if name in known:
            continue
        split = trial(name, 0, chosen.data)
        for label, margins in MARGINS.items():
            with hidden_warnings():
                line = {"table": name, "margins": label}
                if chosen.automatic:
                    line |= automatic_losses(split, margins)
                else:
                    line |= hidden_cells(split, margins) | machine_losses(split, margins)
            lines.append(line)
            print(line, flush=True)
        pd.DataFrame(lines).to_csv(chosen.out, index=False)


if __name__ == "__main__":
    main()
