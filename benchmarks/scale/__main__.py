"""Run the longer measurements, each in a process of its own so that its memory can be told.

``python -m benchmarks.scale`` runs all; names pick some. Every measurement prints lines of Markdown
tables, as they stand in ``docs/scaling.md``.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import resource
import sys
import time

MEASUREMENTS = ("accuracy", "physionet", "beijing", "conjugate", "workers", "curve")


def measure(name: str) -> None:
    """Run one measurement and print what it took."""
    start = time.perf_counter()
    importlib.import_module(f"benchmarks.scale.{name}").main()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{name}: {time.perf_counter() - start:.0f} s, peak memory {peak:.0f} MB\n", flush=True)


def main(arguments: list[str]) -> int:
    """Run the measurements named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
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
