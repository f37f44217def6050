"""Draw limits.png: a slope where a quarter of a column is below the detection limit.

Run ``python docs/guide/limits_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from absentia import multiple_imputations
from absentia.pictures import FAINT, INK, KNOWN, MISSING


def main() -> None:
    """Draw the table of the page, completed in two ways, with the lines through it."""
    rng = np.random.default_rng(0)
    load = rng.normal(5, 1, size=300)
    age = 50 + 5 * (load - 5) + 8 * rng.normal(size=300)
    y = 2 * load + 0.05 * age + rng.normal(size=300)
    limit = np.quantile(load, 0.25).round(1)
    below = load < limit
    written = [f"{v:.2f}" if v >= limit else f"<{limit}" for v in load]
    table = pd.DataFrame({"load": written, "age": age, "y": y})
    (drawn,) = multiple_imputations("gaussian", table, m=1, random_state=0)
    ways = {
        "half of the limit": np.where(below, limit / 2, load),
        "drawn below the limit": drawn["load"].to_numpy(float),
    }
    figure, panels = plt.subplots(
        1, 2, figsize=(7.5, 3), sharex=True, sharey=True, layout="constrained"
    )
    for axes, (name, values) in zip(panels, ways.items(), strict=True):
        axes.plot(values[~below], y[~below], ".", ms=3, color=KNOWN, label="measured")
        axes.plot(values[below], y[below], "x", ms=4, color=MISSING, label=name)
        ends = np.array([min(values.min(), load.min()), load.max()])
        for x, style, label in ((load, ":", "line of the true values"), (values, "-", "its line")):
            slope, height = np.polyfit(x, y, 1)
            axes.plot(ends, height + slope * ends, style, color=INK, lw=1.5, label=label)
        axes.axvline(limit, color=FAINT, lw=1, zorder=0)
        axes.set(title=name, xlabel="viral load")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    panels[0].set_ylabel("y")
    figure.savefig(Path(__file__).with_name("limits.png"), dpi=90, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
