"""Redraw published pictures from the published tables: ``python -m lab.publish.redraw``.

Results of a suite are kept as means per data set, rate and method (``summary.csv``) and as mean
ranks (``ranks.csv``), from which curves, heat maps and rankings can be drawn anew when the style of
pictures changes. Pictures of calibration need the cells, which are not kept.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from lab.experiments.reporting import figures
from lab.experiments.reporting.significance import Comparison, means_by, ranks_by_rate
from lab.experiments.running.cells import Protocol
from lab.experiments.suites import PROTOCOLS
from lab.publish.pages import save_picture

_LEVEL = 0.05


def redraw(protocol: Protocol, folder: Path) -> list[str]:
    """Draw again what the tables of a suite are enough for; return the names of the pictures."""
    names = []
    for name, figure in _pictures(protocol, folder):
        if (folder / f"{name}.png").exists():
            figure.savefig(folder / f"{name}.png", dpi=144)
            save_picture(folder / f"{name}.png", folder)
            names.append(name)
    return names


def _pictures(protocol: Protocol, folder: Path) -> Iterator[tuple[str, Figure]]:
    lower = protocol.lower_is_better
    scores = pd.read_csv(folder / "summary.csv").rename(columns={"mean": "value"})
    scores["metric"] = protocol.metric
    varied = [c for c in ("variant", "mechanism") if c in scores]
    table = means_by(scores, protocol.metric, ["dataset", *varied])
    yield "heat-map", figures.heat_map(table, protocol.metric, lower_is_better=lower)
    if (folder / "ranks.csv").exists():
        comparison = comparison_from_ranks(pd.read_csv(folder / "ranks.csv"))
        yield "ranking", figures.rank_diagram(comparison)
        methods = list(comparison.ranks.index)
        blocks = [c for c in protocol.blocks if c in scores]
        by_rate = ranks_by_rate(scores, protocol.metric, blocks, methods, lower_is_better=lower)
        yield "ranks-by-rate", figures.rank_curves(by_rate)
    for picture in sorted(folder.glob(f"curves-{protocol.metric}-*.png")):
        chosen = {
            column: next(v for v in sorted(scores[column].unique()) if _slug(v) in picture.stem)
            for column in varied
        }
        yield (
            picture.stem,
            figures.curves(scores, protocol.metric, lower_is_better=lower, **chosen),
        )


def comparison_from_ranks(table: pd.DataFrame) -> Comparison:
    """Return Nemenyi's comparison from mean ranks and p-values against the best.

    Nemenyi's p-values depend on the difference of two mean ranks, on the number of methods and on
    that of blocks; the last is what makes the published p-values come out.
    """
    ranks = table.set_index("method")["mean rank"]
    k = len(ranks)
    gaps = ranks.to_numpy()[1:] - ranks.to_numpy()[0]
    p = table["p against the best"].to_numpy()[1:]
    j = int(np.argmin(np.abs(p - 0.5)))
    statistic = stats.studentized_range.isf(p[j], k, np.inf)
    n_blocks = round(k * (k + 1) / 12 * (statistic / gaps[j]) ** 2)
    unit = np.sqrt(k * (k + 1) / (12 * n_blocks))
    distances = np.abs(ranks.to_numpy()[:, None] - ranks.to_numpy()) / unit
    pairwise = pd.DataFrame(
        stats.studentized_range.sf(distances, k, np.inf), index=ranks.index, columns=ranks.index
    )
    difference = float(stats.studentized_range.ppf(1 - _LEVEL, k, np.inf) * unit)
    return Comparison(ranks, float("nan"), pairwise, difference, n_blocks, _LEVEL)


def _slug(text: str) -> str:
    kept = "".join(letter if letter.isalnum() else "-" for letter in text.lower())
    return "-".join(part for part in kept.split("-") if part)


def main(docs: Path) -> None:
    """Redraw the pictures of all suites that have a folder under the published results."""
    for name, protocol in PROTOCOLS.items():
        if (docs / name / "summary.csv").exists():
            print(name, *redraw(protocol, docs / name), sep="  ")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/results"))
