"""Figure 1 of [Anderson2011]_ from our own cells: error against the share of missing values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

STYLES = {
    "expected": ("SVC, expected kernel", "o-", "#1f77b4"),
    "robust": ("RobustSVC, kernel variance", "s-", "#d62728"),
    "robust-spherical": ("RobustSVC, imputed, spherical", "^-", "#8c6d31"),
    "complete": ("SVC, nothing missing", "--", "#555555"),
}


def summary(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean error, its standard error and the median time by data set, rate and method."""
    out = []
    keys = sorted({(r["data"], r["rate"], r["method"]) for r in records})
    for data, rate, method in keys:
        mine = [r for r in records if (r["data"], r["rate"], r["method"]) == (data, rate, method)]
        errors = np.array([r["error"] for r in mine])
        spread = errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else 0.0
        out.append(
            {
                "data": data,
                "rate": rate,
                "method": method,
                "runs": len(mine),
                "error": errors.mean(),
                "standard_error": spread,
                "median_fit_seconds": float(np.median([r["fit_seconds"] for r in mine])),
            }
        )
    return out


def draw(records: list[dict[str, Any]], path: Path) -> None:
    """Draw a panel for each data set: errors above, training times below."""
    rows = summary(records)
    names = sorted({row["data"] for row in rows}, reverse=True)
    figure, axes = plt.subplots(
        2,
        len(names),
        figsize=(4.2 * len(names), 5.2),
        squeeze=False,
        sharex=True,
        height_ratios=(2, 1.2),
        layout="constrained",
    )
    for column, name in enumerate(names):
        above, below = axes[:, column]
        for place, (method, (label, style, colour)) in enumerate(STYLES.items()):
            mine = [row for row in rows if row["data"] == name and row["method"] == method]
            # A little apart, so that the bars of one rate do not hide each other.
            rates = 100 * np.array([row["rate"] for row in mine]) + 0.5 * (place - 1)
            errors = 100 * np.array([row["error"] for row in mine])
            spread = 100 * np.array([row["standard_error"] for row in mine])
            if method == "complete":
                above.axhline(errors.mean(), ls=style, color=colour, label=label, lw=1.2)
                continue
            above.errorbar(
                rates, errors, spread, fmt=style, color=colour, label=label, capsize=2, ms=4
            )
            below.plot(
                rates, [row["median_fit_seconds"] for row in mine], style, color=colour, ms=4
            )
        n_runs = max(row["runs"] for row in rows if row["data"] == name)
        above.set_title(f"{name.capitalize()} ({n_runs} runs)")
        below.set_yscale("log")
        below.set_ylim(0.005, 1)
        below.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
        below.set_xlabel("missing in each training row, %")
        above.set_ylim(bottom=0)
        for axis in (above, below):
            axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("test error, %")
    axes[1, 0].set_ylabel("training, s")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", fontsize=8, ncols=2, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
