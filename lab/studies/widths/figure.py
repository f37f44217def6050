"""Draw the trial of widths: ``python -m lab.studies.widths.figure CELLS.csv PICTURE.png``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from absentia.pictures import FAINT, KNOWN, MODEL, grid_of_panels
from lab.studies.widths.trial import PRIORS, TABLES


def draw(cells: Path, picture: Path) -> None:
    """Draw R² by the deviation of the prior, relative to one width: a line per repetition."""
    found = pd.read_csv(cells, dtype={"prior": str})
    figure, panels = grid_of_panels(len(TABLES), across=3, width=2.6, height=1.9)
    places = np.arange(len(PRIORS))
    for panel, table in zip(panels, TABLES, strict=True):
        wide = found[found["table"] == table].pivot_table("r2", "repetition", "prior")
        gains = wide[[str(prior) for prior in PRIORS]].sub(wide["0.0"], axis=0)
        panel.axhline(0, color=KNOWN, linewidth=0.8, linestyle=":")
        for _, line in gains.iterrows():
            panel.plot(places, line.to_numpy(), color=FAINT, linewidth=1.2, zorder=1)
        panel.plot(places, gains.mean().to_numpy(), "o", color=MODEL, markersize=5, zorder=2)
        name = table.removesuffix("_multisite_air")
        panel.set_title(f"{name} ({wide['0.0'].mean():.2f})", fontsize="small")
        panel.set_xticks(places, [str(prior).removesuffix(".0") for prior in PRIORS])
    for panel in panels[3:]:
        panel.set_xlabel("deviation of the prior")
    for panel in panels[::3]:
        panel.set_ylabel("R² gained")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
