"""Compute the answers of members: ``python -m lab.studies.automatic --data FOLDER --store FOLDER``.

A run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from absentia.densities.fit_density import shared_fits
from lab.experiments.suites.realholes import HOLED_TABLES
from lab.studies.automatic.answers import (
    MEMBERS,
    compute,
    expected_members,
    path_of,
)
from lab.studies.automatic.rivals import PROGRAMS, compute_program
from lab.studies.automatic.trials import SHIFT_TABLES, Trial, trial


def main() -> None:
    """Run what is missing of the store."""
    parser = argparse.ArgumentParser(prog="python -m lab.studies.automatic", description=__doc__)
    parser.add_argument("--data", required=True, help="folder of the tables")
    parser.add_argument("--store", type=Path, required=True, help="folder of the answers")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--members", nargs="*", default=MEMBERS)
    parser.add_argument("--tables", nargs="*", default=[*HOLED_TABLES, *SHIFT_TABLES])
    chosen = parser.parse_args()
    chosen.store.mkdir(parents=True, exist_ok=True)
    for repeat in range(chosen.repeats):
        for name in chosen.tables:
            split = trial(name, repeat, chosen.data)
            with shared_fits():
                for line in run(split, chosen.members, chosen.store):
                    print(time.strftime("%H:%M:%S"), line, flush=True)


def run(split: Trial, members: Sequence[str], store: Path) -> Iterator[str]:
    """Compute what is missing of a trial; yield a line per member."""
    for member in members:
        path = path_of(store, split, member)
        if path.exists() or path.with_suffix(".failed").exists():
            continue
        if member in PROGRAMS:
            yield compute_program(split, member, store)
        elif member in (*expected_members(split), "gaussian-process"):
            yield compute(split, member, store)


if __name__ == "__main__":
    main()
