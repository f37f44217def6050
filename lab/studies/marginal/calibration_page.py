"""Whether uncertainties are right, on all tables: the parts of ``docs/results/calibration.md``."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from absentia.tables import FloatArray
from lab.studies.marginal import calibration, class_calibration

_FOLDER = Path(__file__).parents[3] / "docs" / "results" / "calibration"
_HEADS = {
    "numbers": ("spread of z", "50 %", "80 %", "95 %", "log loss", "CRPS"),
    "classes": ("accuracy", "log loss", "Brier", "z", "50 %", "80 %", "95 %"),
}
_MODULES = {"numbers": calibration, "classes": class_calibration}


def write() -> None:
    """Run everything and write one table per kind, a summary over tables, and how it was run."""
    _FOLDER.mkdir(exist_ok=True)
    start = time.process_time()
    for kind, module in _MODULES.items():
        lines = []
        found: dict[tuple[str, str], list[FloatArray]] = {}
        for table in module.TABLES:
            for train, test in module.SETTINGS:
                setting = f"{train:.0%} and {test:.0%}"
                print(f"\n{table}, {setting}", flush=True)
                for method, values in module.rows(table, train, test):
                    print(f"{method:<32}", *(f"{v:.3f}" for v in values), flush=True)
                    lines.append((f"{table}, {setting}", method, values))
                    found.setdefault((setting, method), []).append(values)
        _write_table(kind, lines)
        means = [
            (setting, name, np.mean(parts, axis=0)) for (setting, name), parts in found.items()
        ]
        _write_table(f"{kind}-summary", means, kind)
    seconds = time.process_time() - start
    names = ("absentia", "numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    text = (
        f"`python -m lab.studies.marginal calibration`, {seconds / 60:.0f} min of processor "
        f"time on one thread; {python}, {versions}. Seeds 0 and 1 for numbers, 0, 1 and 2 for "
        "classes.\n"
    )
    (_FOLDER / "run.md").write_text(text, encoding="utf-8")


def _write_table(
    name: str, lines: Sequence[tuple[str, str, FloatArray]], kind: str | None = None
) -> None:
    heads = _HEADS[kind or name]
    text = [
        f"| missing in training and test | method | {' | '.join(heads)} |",
        "|---|---|" + "---|" * len(heads),
    ]
    last = ""
    for setting, method, values in lines:
        pairs = zip(heads, values, strict=True)
        cells = " | ".join(f"{value:.{3 if head in _FINE else 2}f}" for head, value in pairs)
        text.append(f"| {setting if setting != last else ''} | {method} | {cells} |")
        last = setting
    (_FOLDER / f"{name}.md").write_text("\n".join(text) + "\n", encoding="utf-8")


_FINE = ("accuracy", "log loss", "Brier", "CRPS")
