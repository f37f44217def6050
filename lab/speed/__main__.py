"""Run the speed suites and print one table: ``python -m lab.speed [suite ...]``.

Every module beside this one that has a function ``rows`` is a suite.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys

import lab.speed
from lab.speed.ratio import Row


def suites() -> list[str]:
    """Return the names of the suites, in alphabetical order."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules(lab.speed.__path__)
        if module.name not in ("__main__", "ratio")
    )


def seconds(value: float) -> str:
    """Write a time with a unit that suits it."""
    for unit, size in (("s ", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def line(row: Row, width: int) -> str:
    """Write one row of the table."""
    bar, aim = (f"{limit:g}x" if limit is not None else "" for limit in (row.bar, row.aim))
    return (
        f"{row.name:<{width}}  {seconds(row.ours_seconds):>8}  {seconds(row.theirs_seconds):>8}  "
        f"{row.ratio:>7.2f}x  {bar:>6}  {aim:>6}  {row.verdict:<10}"
    ).rstrip()


def main(arguments: list[str]) -> int:
    """Run the suites named, or all; return 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m lab.speed", description=__doc__)
    parser.add_argument("suite", nargs="*", help=f"of: {', '.join(suites())}")
    chosen = parser.parse_args(arguments).suite or suites()
    unknown = sorted(set(chosen) - set(suites()))
    if unknown:
        parser.error(f"no suite {', '.join(unknown)}; there are: {', '.join(suites())}")
    width = 62
    print(
        f"{'what':<{width}}  {'ours':>8}  {'theirs':>8}  {'ratio':>8}  {'bar':>6}  {'aim':>6}  "
        "verdict"
    )
    missed, notes = 0, []
    for name in chosen:
        suite = importlib.import_module(f"lab.speed.{name}")
        if not hasattr(suite, "rows"):
            continue
        print(f"-- {name}")
        for row in suite.rows():
            print(line(row, width), flush=True)
            missed += row.verdict == "TOO SLOW"
            if row.note and row.note not in notes:
                notes.append(row.note)
    print("\n".join(["", *notes]))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
