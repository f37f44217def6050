"""Tables and the picture of the results page, from the csv files of the suites.

``python -m lab.studies.mixed report FOLDER OUT`` reads ``prediction.csv`` and ``searched.csv`` in
FOLDER and writes Markdown tables and ``losses.png`` into OUT.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from absentia.pictures import COLOURS, FAINT, INK, pyplot, tidy

SUITES = {"prediction": "parameters at their defaults", "searched": "parameters searched"}


def write(folder: Path, out: Path) -> None:
    """Write what the results page includes."""
    out.mkdir(parents=True, exist_ok=True)
    found = {suite: pd.read_csv(folder / f"{suite}.csv") for suite in SUITES}
    lines = [
        "| parameters | repetitions | less loss | mean rank | p | better score | mean rank | p "
        "| seconds |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for suite, cells in found.items():
        _write(out / f"{suite}.md", _by_table(cells))
        lines.append(_summary(suite, cells))
    _write(out / "summary.md", lines)
    _picture(found, out / "losses.png")


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")


def _whole(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the tables and repetitions that both ways were run on."""
    both = cells.pivot_table(index=["table", "seed"], columns="density", values="loss").dropna()
    return cells.set_index(["table", "seed"]).loc[both.index].reset_index()


def _by_table(cells: pd.DataFrame) -> list[str]:
    cells = _whole(cells)
    lines = [
        "| table | loss: indicators | mixed | difference | score: indicators | mixed | "
        "seconds: indicators | mixed |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for table, rows in cells.groupby("table", sort=False):
        wide = rows.drop(columns="table").pivot(index="seed", columns="density")
        means = wide.mean()
        change = wide["loss"]["mixed"] - wide["loss"]["indicators"]
        error = change.std() / np.sqrt(len(change))
        losses = [f"{means['loss', way]:.3f}" for way in ("indicators", "mixed")]
        best = int(change.mean() < 0)
        losses[best] = f"**{losses[best]}**"
        scores = [f"{means['score', way]:.3f}" for way in ("indicators", "mixed")]
        seconds = [f"{means['seconds', way]:.1f}" for way in ("indicators", "mixed")]
        shown = [str(table), *losses, f"{change.mean():+.3f} ± {error:.3f}", *scores, *seconds]
        lines.append(f"| {' | '.join(shown)} |")
    return lines


def _summary(suite: str, cells: pd.DataFrame) -> str:
    cells = _whole(cells)
    means = cells.groupby(["table", "density"])[["loss", "score", "seconds"]].mean().unstack()
    shown = [SUITES[suite], str(int(cells.groupby("table")["seed"].nunique().min()))]
    for measure, sign in (("loss", -1), ("score", 1)):
        gain = sign * (means[measure]["mixed"] - means[measure]["indicators"])
        if measure == "loss":  # relative: log losses and CRPS have different units
            gain = gain / means[measure]["indicators"]
        p = float(wilcoxon(gain).pvalue)
        rank = float((gain < 0).mean() + 1 + 0.5 * (gain == 0).mean())
        shown += [f"{int((gain > 0).sum())} of {len(gain)}", f"{rank:.2f}", f"{p:.2f}"]
    ratio = means["seconds"]["mixed"] / means["seconds"]["indicators"]
    return f"| {' | '.join([*shown, f'{ratio.median():.1f} times'])} |"


def _picture(found: dict[str, pd.DataFrame], path: Path) -> None:
    """Draw by how much more or less a mixed density loses, a dot per repetition and their mean."""
    figure, panels = pyplot().subplots(
        1, len(found), figsize=(9.0, 4.2), sharey=True, layout="constrained"
    )
    order = None
    for axes, (suite, cells) in zip(panels, found.items(), strict=True):
        wide = _whole(cells).pivot(index=["table", "seed"], columns="density", values="loss")
        change = 100 * (wide["mixed"] / wide["indicators"] - 1)
        means = change.groupby("table").mean()
        order = list(means.sort_values(ascending=False).index) if order is None else order
        for place, table in enumerate(order):
            if table not in means.index:
                continue
            better = means[table] < 0
            axes.plot(change[table], [place] * len(change[table]), "o", color=FAINT, markersize=4)
            axes.plot(means[table], place, "o", color=COLOURS[2 if better else 1], markersize=7)
        axes.axvline(0, color=INK, linewidth=0.8, linestyle=":")
        axes.set_xscale("symlog", linthresh=10)
        ticks = [-50, -10, -5, 0, 5, 10, 50, 200]
        axes.set_xticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])
        axes.set_yticks(range(len(order)), order)
        axes.set_xlabel("change of the loss with the mixed density (%)")
        axes.set_title(SUITES[suite])
        tidy(axes)
    figure.savefig(path, dpi=110, pil_kwargs={"optimize": True})
