"""Run the longer measurements, each in a process of its own so that its memory can be told.

``python -m lab.scale`` runs all; names pick some. Every measurement prints lines of Markdown
tables, as they stand in ``docs/scaling.md``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys

from lab.scale.measure import measure

MEASUREMENTS = (
    "accuracy", "physionet", "beijing", "automatic", "conjugate", "workers", "curve",
)  # fmt: skip


def main(arguments: list[str]) -> int:
    """Run the measurements named, or all."""
    parser = argparse.ArgumentParser(prog="python -m lab.scale", description=__doc__)
    parser.add_argument("measurement", nargs="*", help=f"of: {', '.join(MEASUREMENTS)}")
    chosen = parser.parse_args(arguments).measurement or list(MEASUREMENTS)
    unknown = sorted(set(chosen) - set(MEASUREMENTS))
    if unknown:
        parser.error(f"no measurement {', '.join(unknown)}; there are: {', '.join(MEASUREMENTS)}")
    failed = 0
    for name in chosen:
        print(f"## {name}\n", flush=True)
        process = multiprocessing.get_context("spawn").Process(target=measure, args=(name,))
        process.start()
        process.join()
        failed += process.exitcode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
