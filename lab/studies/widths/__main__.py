"""Run the trial of widths: ``python -m lab.studies.widths DATA CELLS.csv [--repetitions 3]``.

Cells that are in the file already are not run again.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from lab.studies.widths.trial import PRIORS, TABLES, cells


def main() -> None:
    """Run what is not in the file yet, then print means by table and prior."""
    parser = argparse.ArgumentParser(prog="python -m lab.studies.widths", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("cells", type=Path)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="number of the first repetition")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = pd.read_csv(options.cells, dtype={"prior": str}) if options.cells.exists() else None
    for repetition in range(options.first, options.first + options.repetitions):
        for table in TABLES:
            if known is not None and len(
                known[(known["table"] == table) & (known["repetition"] == repetition)]
            ) == len(PRIORS):
                continue
            for cell in cells(options.data, table, repetition):
                row = pd.DataFrame([asdict(cell)])
                row.to_csv(options.cells, mode="a", index=False, header=not options.cells.exists())
                print(cell, flush=True)
    found = pd.read_csv(options.cells, dtype={"prior": str})
    print(found.pivot_table("r2", "table", "prior").round(3).to_string())
    print(found.pivot_table("seconds", "table", "prior", aggfunc="median").round(1).to_string())


if __name__ == "__main__":
    main()
