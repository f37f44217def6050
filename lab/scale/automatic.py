"""The automatic machines on many rows: hours in Beijing, and a million rows within a budget."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, r2_score
from sklearn.preprocessing import StandardScaler

from absentia import AutoClassifier, AutoRegressor
from absentia.automatic.committee import hide_cells
from lab.scale.tables import beijing, versions
from lab.speed.automatic import example

_BUDGET, _ROWS, _NEW, _HIDDEN = 300.0, 1_000_000, 20_000, 0.6
#: Trees of the rival: its default, and as many as pay.
_TREES = (100, 1000)


def main(only: str = "") -> None:
    """Print scores of rows as they are and with 60 % hidden, and seconds.

    ``only`` is "beijing" or "million".
    """
    print(versions() + "\n")
    if only in ("", "beijing"):
        frame, y = beijing()
        X = StandardScaler().fit_transform(frame)
        order = np.random.default_rng(0).permutation(len(X))
        train, test = order[: 3 * len(X) // 4], order[3 * len(X) // 4 :]
        rivals: dict[str, Any] = {
            f"boosting, {n} trees": HistGradientBoostingRegressor(max_iter=n, random_state=0)
            for n in _TREES
        }
        ours = {"AutoRegressor": AutoRegressor(random_state=0)}
        _compare(ours | rivals, X[train], y[train], X[test], y[test])
    if only in ("", "million"):
        X, y = example(_ROWS + _NEW)
        rivals = {
            f"boosting, {n} trees": HistGradientBoostingClassifier(
                max_iter=n, early_stopping=False, random_state=0
            )
            for n in _TREES
        }
        machine = AutoClassifier(time_budget=_BUDGET, random_state=0)
        _compare(
            {f"AutoClassifier, budget {_BUDGET:g} s": machine} | rivals,
            X[:_ROWS], y[:_ROWS], X[_ROWS:], y[_ROWS:],
        )  # fmt: skip


def _compare(methods: dict[str, Any], X: Any, y: Any, new: Any, targets: Any) -> None:
    hidden = hide_cells(new, _HIDDEN, 0)
    are_classes = hasattr(next(iter(methods.values())), "predict_proba")
    measure = "log loss" if are_classes else "R²"
    print(f"{len(X):,} rows of {X.shape[1]} columns, {len(new):,} new ones\n")
    print(f"| method | {measure} | {measure}, hidden | seconds to fit | of the processor |")
    print("|---|---|---|---|---|")
    for name, method in methods.items():
        begun, started = time.perf_counter(), time.process_time()
        method.fit(X, y)
        seconds, spent = time.perf_counter() - begun, time.process_time() - started
        scores = [
            log_loss(targets, method.predict_proba(rows))
            if are_classes
            else r2_score(targets, method.predict(rows))
            for rows in (new, hidden)
        ]
        print(f"| {name} | {scores[0]:.4f} | {scores[1]:.4f} | {seconds:.0f} | {spent:.0f} |",
              flush=True)  # fmt: skip
        if hasattr(method, "members_"):
            print(f"\n{method.members_}\n")
