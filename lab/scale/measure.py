"""One measurement, in the process that it is given."""

from __future__ import annotations

import importlib
import resource
import time


def measure(name: str) -> None:
    """Run one measurement and print what it took."""
    start = time.perf_counter()
    importlib.import_module(f"lab.scale.{name}").main()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{name}: {time.perf_counter() - start:.0f} s, peak memory {peak:.0f} MB\n", flush=True)
