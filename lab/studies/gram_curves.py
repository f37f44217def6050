"""Draw how the time of a Gram matrix grows: ``python -m lab.studies.gram_curves [picture.png]``."""

from __future__ import annotations

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.metrics.pairwise import rbf_kernel

from absentia import GenRBF
from lab.speed.gram import GAMMA, beliefs_of
from lab.speed.ratio import best_rival_seconds, best_seconds

RATES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def ratio(n: int, d: int, rate: float) -> float:
    """Return our time on rows with holes in units of ``rbf_kernel`` on complete rows."""
    complete, P = beliefs_of(n, d, rate)
    ours = best_seconds(lambda: GenRBF(GAMMA)(P), repeats=3)
    return ours / best_rival_seconds(lambda: rbf_kernel(complete, gamma=GAMMA), repeats=3)


def main(path: str) -> None:
    """Measure the three curves and write the picture."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    sizes, widths = (250, 500, 1000, 2000, 4000), (5, 10, 20, 34, 50, 80)
    for rate in (0.3, 0.6):
        label = f"{rate:.0%} missing"
        axes[0].plot(sizes, [ratio(n, 34, rate) for n in sizes], "o-", label=label)
        axes[1].plot(widths, [ratio(1000, d, rate) for d in widths], "o-", label=label)
    axes[2].plot(RATES, [ratio(1000, 34, rate) for rate in RATES], "o-", color="C2")
    axes[0].set(
        xscale="log", xlabel="rows (34 columns)", ylabel="time / complete RBF kernel", yscale="log"
    )
    axes[0].set_xticks(sizes, [str(n) for n in sizes])
    axes[0].minorticks_off()
    axes[1].set(xlabel="columns (1000 rows)")
    axes[2].set(xlabel="share missing (1000 rows, 34 columns)")
    axes[0].legend(frameon=False)
    for axis in axes:
        axis.axhline(1, color="grey", lw=0.8, ls=":")
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/images/gram_scaling.png")
