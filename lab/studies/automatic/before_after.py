"""Scores of the automatic machine alone, beside those of an earlier run on the same splits.

``python -m lab.studies.automatic.before_after --data FOLDER --out FILE`` writes scores and losses
(log loss, or the continuous ranked probability score) of the first repetition, of test rows as they
are and with 60 % hidden. They are compared with those in the file ``--against``: an earlier output,
or by default the published scores.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from absentia import AutoClassifier, AutoRegressor
from absentia.automatic.blending import losses
from lab.experiments.scoring import crps_of_normal
from lab.studies.automatic.scores import TESTS
from lab.studies.automatic.trials import HOLED_TABLES, trial

_PUBLISHED = Path("docs/results/automatic/scores.csv")
_CELL = ["table", "repeat", "test"]
#: Coverage of an interval of one standard deviation to both sides.
_ONE_DEVIATION = 0.6827


def scores(name: str, repeat: int, folder: str, options: dict[str, Any]) -> Iterator[dict]:
    """Fit the machine to a split, and yield a line for each kind of test rows."""
    split = trial(name, repeat, folder)
    rows, started = split.rows, time.process_time()
    kind = AutoClassifier if rows.n_classes else AutoRegressor
    model = kind(random_state=split.seed % 2**31, n_jobs=1, **options)
    model.fit(rows.table.array, split.in_units(rows.y))
    seconds = time.process_time() - started
    for test, X in zip(TESTS, split.tests, strict=True):
        if rows.n_classes:
            answers = model.predict_proba(X)
            score = float((answers.argmax(axis=1) == split.y).mean())
            loss = float(losses(answers, split.y, rows.task).mean())
        else:
            answers = (model.predict(X) - split.centre) / split.scale
            score = 1.0 - float(((answers - split.y) ** 2).mean() / np.var(split.y))
            widths = np.ptp(model.predict_interval(X, _ONE_DEVIATION), axis=1)
            spreads = np.maximum(widths / 2 / split.scale, 1e-9)
            loss = float(crps_of_normal(split.y, answers, spreads).mean())
        yield {
            "table": name, "repeat": repeat, "test": test, "method": "automatic",
            "score": score, "loss": loss, "seconds": seconds,
            "logarithm": getattr(model, "log_target_", False),
        }  # fmt: skip


def compared(after: pd.DataFrame, before: pd.DataFrame) -> str:
    """Return the differences cell by cell, and their means with standard errors."""
    before = before[before["method"] == "automatic"].set_index(_CELL)[["score", "loss"]]
    both = after.merge(before.add_suffix(" before"), left_on=_CELL, right_index=True)
    both["more score"] = both["score"] - both["score before"]
    both["more loss"] = both["loss"] - both["loss before"]
    lines = [both.round(4).to_string(index=False)]
    for test, own in both.groupby("test"):
        for name in ("more score", "more loss"):
            mean, error = own[name].mean(), own[name].sem()
            lines.append(f"{test}: {name} {mean:.4f}, standard error {error:.4f}, {len(own)} cells")
    return "\n".join(lines)


def main() -> None:
    """Score the tables that are not in the file yet, and compare with an earlier run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder of the tables")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--against", type=Path, default=_PUBLISHED)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--tables", nargs="*", default=HOLED_TABLES)
    parser.add_argument("--budget", type=float, help="seconds of each fit")
    chosen = parser.parse_args()
    lines = pd.read_csv(chosen.out).to_dict("records") if chosen.out.exists() else []
    known = {(line["table"], line["repeat"]) for line in lines}
    for repeat in range(chosen.repeats):
        for name in chosen.tables:
            if (name, repeat) in known:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                options = {"time_budget": chosen.budget}
                lines.extend(scores(name, repeat, chosen.data, options))
            print(lines[-1], flush=True)
            pd.DataFrame(lines).to_csv(chosen.out, index=False)
    print(compared(pd.DataFrame(lines), pd.read_csv(chosen.against)))


if __name__ == "__main__":
    main()
