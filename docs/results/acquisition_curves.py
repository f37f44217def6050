"""Draw acquisition/curves.png, write acquisition/areas.md (and parts.md) from a file of results.

``python -m lab run acquisition --out FILE`` makes the file, and
``python docs/results/acquisition_curves.py FILE SEED`` reads it; needs the extras ``plot`` and
``tables``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd

from absentia.pictures import COLOURS, INK, grid_of_panels
from lab.experiments import Results

METHODS = {
    "random": "random",
    "mutual-information": "mutual information",
    "permutation-importance": "permutation importance",
    "measure-next": "measure_next",
}
LOOKS = dict(zip(METHODS, (COLOURS[7], COLOURS[0], COLOURS[2], COLOURS[1]), strict=True))
OURS = "measure-next"
PARTS = {"one-step": "gains, one step", "two-steps": "gains, two steps", "held-out-worth": "worth"}
FOLDER = Path(__file__).parent / "acquisition"


def areas_of(scores: pd.DataFrame) -> str:
    """Return a table of mean areas, and how far ours is behind the best of the other orders."""
    lines = [
        "| | splits | " + " | ".join(METHODS.values()) + " | against the best other, % |",
        "|---" * (len(METHODS) + 3) + "|",
    ]
    for name, variant in _settings(scores):
        splits = _splits(scores, name, variant)[list(METHODS)].dropna()
        mean = splits.mean()
        other = mean.drop(OURS).idxmin()
        # Splits, not rows, are the repetitions: the order of columns is found anew in each.
        apart = splits[OURS] - splits[other]
        error = apart.std() / np.sqrt(len(apart))
        words = [
            f"**{value:.3f}**" if value == mean.min() else f"{value:.3f}" for value in mean.tolist()
        ]
        percent = f"{100 * apart.mean() / mean[other]:+.1f} ± {100 * error / mean[other]:.1f}"
        title = name if variant == "nothing known" else f"{name}, {variant}"
        lines.append(f"| {title} | {len(splits)} | " + " | ".join(words) + f" | {percent} |")
    return "\n".join(lines) + "\n"


def parts_of(scores: pd.DataFrame) -> str:
    """Return how the parts of ours compare with it, in percent of its area, on the same splits."""
    lines = ["| | splits | " + " | ".join(PARTS.values()) + " |", "|---" * (len(PARTS) + 2) + "|"]
    for name, variant in _settings(scores):
        splits = _splits(scores, name, variant)
        if not {*PARTS, OURS} <= {*splits.columns}:
            continue
        splits = splits[[*PARTS, OURS]].dropna()
        words = []
        for part in PARTS:
            apart = 100 * (splits[part] - splits[OURS]) / splits[OURS].mean()
            words.append(f"{apart.mean():+.1f} ± {apart.std() / np.sqrt(len(apart)):.1f}")
        title = name if variant == "nothing known" else f"{name}, {variant}"
        lines.append(f"| {title} | {len(splits)} | " + " | ".join(words) + " |")
    return "\n".join(lines) + "\n"


def _splits(scores: pd.DataFrame, name: str, variant: str) -> pd.DataFrame:
    """Return the areas of one table, a line per split and a column per method."""
    part = scores[(scores["dataset"] == name) & (scores["variant"] == variant)]
    part = part[part["metric"] == "log_loss_area"]
    return part.pivot_table(index=["sample", "fold"], columns="method", values="value")


def draw(cells: pd.DataFrame) -> None:
    """Draw the log loss against what was spent, a panel per table."""
    settings = _settings(cells)
    figure, panels = grid_of_panels(len(settings), across=4, width=2.6, height=1.9)
    for axes, (name, variant) in zip(panels, settings, strict=True):
        part = cells[(cells["dataset"] == name) & (cells["variant"] == variant)]
        for method, colour in LOOKS.items():
            whole = part.groupby(["sample", "fold"])["method"].transform(
                lambda methods: {*METHODS} <= {*methods}
            )
            facts = part.loc[whole & (part["method"] == method), "facts"].tolist()
            grid = np.linspace(0.0, facts[0]["budget"], 61 if variant == "unequal costs" else 7)
            if variant == "unequal costs":  # rows spend differently: between steps on a line
                lines = [np.interp(grid, fact["spent"], fact["log_loss"]) for fact in facts]
            else:
                lines = [_steps(fact, grid) for fact in facts]
            axes.plot(
                grid if variant == "unequal costs" else np.arange(len(lines[0])),
                np.mean(lines, axis=0),
                color=colour,
                linewidth=2.0 if method == OURS else 1.0,
                zorder=3 if method == OURS else 2,
            )
        axes.set_title(name if variant == "nothing known" else f"{name},\n{variant}")
        axes.set_xlabel("cost" if variant == "unequal costs" else "values measured")
        axes.title.set_color(INK)
        axes.title.set_fontsize("small")
        axes.set_ylim(bottom=0)
    for axes in panels[::4]:
        axes.set_ylabel("log loss")
    handles = [
        matplotlib.lines.Line2D([], [], color=colour, label=METHODS[method])
        for method, colour in LOOKS.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(FOLDER / "curves.png", dpi=110, pil_kwargs={"optimize": True})


def _steps(fact: dict[str, list[float]], grid: np.ndarray) -> np.ndarray:
    """Return the loss after each value; rows that have nothing left keep theirs."""
    losses = np.array(fact["log_loss"][: len(grid)])
    return np.concatenate([losses, np.full(len(grid) - len(losses), losses[-1])])


def _settings(cells: pd.DataFrame) -> list[tuple[str, str]]:
    order = cells[["variant", "dataset"]].drop_duplicates().sort_values(["variant", "dataset"])
    return [(name, variant) for variant, name in order.itertuples(index=False)]


def main() -> None:
    """Read the results of one seed."""
    file, seed = Path(sys.argv[1]), int(sys.argv[2])
    with Results(file, read_only=True) as results:
        cells = results.cells("acquisition", "small", seed)
        scores = results.scores("acquisition", "small", seed)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "areas.md").write_text(areas_of(scores), encoding="utf-8")
    if {*PARTS} <= {*scores["method"]}:
        (FOLDER / "parts.md").write_text(parts_of(scores), encoding="utf-8")
    draw(cells)


if __name__ == "__main__":
    main()
