"""RobustSVC against SVC with the expected kernel: ``python -m lab.studies.robust --help``.

The experiment of [Anderson2011]_, Figure 1. Each finished cell is appended to ``cells.csv`` at
once; started again, the run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path
from typing import Any

from lab.studies.robust.experiment import COLUMNS, FILES, METHODS, Cell, load, run_cell
from lab.studies.robust.figure import draw, summary

PROJECT = Path(__file__).resolve().parents[3]


def main() -> None:
    """Run what is not there yet, then write the summary and draw the figure."""
    arguments = parsed()
    arguments.output.mkdir(parents=True, exist_ok=True)
    cells_file = arguments.output / "cells.csv"
    records = read(cells_file)
    done = {(r["data"], r["rate"], r["run"]) for r in records}
    tables = {name: load(arguments.data, name) for name in arguments.sets}
    wanted = [
        Cell(name, rate, run)
        for run in range(arguments.runs)
        for rate in arguments.rates
        for name in arguments.sets
    ]
    started = time.monotonic()
    for position, cell in enumerate(wanted, start=1):
        if (cell.data, cell.rate, cell.run) in done:
            continue
        minutes = (time.monotonic() - started) / 60
        if minutes > arguments.minutes:
            print(f"{minutes:.0f} minutes are over; start again to go on")
            break
        fresh = run_cell(cell, *tables[cell.data])
        append(cells_file, fresh)
        records += fresh
        shown = {r["method"]: f"{100 * r['error']:.1f}% {r['fit_seconds']:.2f}s" for r in fresh}
        print(f"{position}/{len(wanted)} {cell.data} {cell.rate:.0%} run {cell.run}: {shown}")
    write_summary(arguments.output / "summary.csv", records)
    draw(records, arguments.output / "anderson.png")


def parsed() -> argparse.Namespace:
    """Return the command line, read."""
    here = os.environ.get("ABSENTIA_DATA", PROJECT.parent / "shared" / "data")
    parser = argparse.ArgumentParser(prog="python -m lab.studies.robust", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(here), help="folder of the CSV files")
    parser.add_argument("--output", type=Path, default=PROJECT / "docs" / "results" / "robust")
    parser.add_argument("--sets", nargs="+", choices=sorted(FILES), default=sorted(FILES))
    parser.add_argument(
        "--rates", nargs="+", type=float, default=[0.05, 0.1, 0.2, 0.3, 0.4], help="shares missing"
    )
    parser.add_argument("--runs", type=int, default=10, help="random splits and holes")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="start no new cell after so long"
    )
    return parser.parse_args()


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of finished cells."""
    if not path.exists():
        return []
    with path.open(newline="") as lines:
        records = list(csv.DictReader(lines))
    numbers = {"rate": float, "run": int, "error": float, "fit_seconds": float, "inaccurate": int}
    for record in records:
        record.update({name: kind(record[name]) for name, kind in numbers.items()})
    # A cell that was cut off half way is run again.
    counts: dict[tuple[Any, ...], int] = {}
    for r in records:
        key = (r["data"], r["rate"], r["run"])
        counts[key] = counts.get(key, 0) + 1
    return [r for r in records if counts[r["data"], r["rate"], r["run"]] == len(METHODS)]


def append(path: Path, records: list[dict[str, Any]]) -> None:
    """Write the records of a finished cell to the end of the file."""
    is_new = not path.exists()
    with path.open("a", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS)
        if is_new:
            writer.writeheader()
        writer.writerows(records)


def write_summary(path: Path, records: list[dict[str, Any]]) -> None:
    """Write means and times by data set, rate and method."""
    rows = summary(records)
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()})


if __name__ == "__main__":
    main()
