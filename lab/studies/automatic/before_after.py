"""The automatic machine on a few tables, for a change of its selection.

``python -m lab.studies.automatic.before_after --data FOLDER --out FILE`` writes a line per table:
loss and score of new rows as they are and with 60 % hidden, and processor seconds. Run it before
and after a change, on the same splits; ``--against FILE`` prints the differences.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from absentia import AutoClassifier, AutoRegressor
from lab.studies.automatic.trials import trial

TABLES = (
    "echocardiogram", "hepatitis", "horse_colic", "heart_hungarian", "mammographic", "titanic",
    "pima_missing", "auto_mpg", "airquality_ny", "ozone_la",
)  # fmt: skip


def scores(name: str, folder: str, most_rows: int) -> dict[str, float | str]:
    """Fit the machine to a table, and score it on new rows."""
    split = trial(name, 0, folder)
    kind = AutoRegressor if split.rows.n_classes is None else AutoClassifier
    X, y = np.asarray(split.rows.table)[:most_rows], split.rows.y[:most_rows]
    started = time.process_time()
    model = kind(random_state=split.seed % 2**31).fit(X, y)
    line: dict[str, float | str] = {"table": name, "seconds": time.process_time() - started}
    for test, rows in zip(("", ", hidden"), split.tests, strict=True):
        line[f"score{test}"] = model.score(rows, split.y)
        if split.rows.n_classes is None:
            line[f"loss{test}"] = float(np.mean((model.predict(rows) - split.y) ** 2))
        else:
            places = np.searchsorted(model.classes_, split.y)
            chances = model.predict_proba(rows)[np.arange(len(split.y)), places]
            line[f"loss{test}"] = -float(np.log(np.maximum(chances, 1e-5)).mean())
    return line


def main() -> None:
    """Run the tables, and compare with an earlier run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder of the tables")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    chosen = parser.parse_args()
    lines = []
    for name in chosen.tables:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lines.append(scores(name, chosen.data, chosen.rows))
        print(lines[-1], flush=True)
        pd.DataFrame(lines).to_csv(chosen.out, index=False)
    if chosen.against:
        after = pd.DataFrame(lines).set_index("table")
        difference = after - pd.read_csv(chosen.against).set_index("table")
        print(difference.loc[after.index].round(4).to_string())
        print(difference.loc[after.index].mean().round(4).to_string())


if __name__ == "__main__":
    main()
