"""Draw widths.png: which columns a Gaussian process found relevant.

Run ``python docs/guide/widths_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1

from absentia import GaussianProcessRegressor


def main() -> None:
    """Fit a process with a width per column to Friedman's function of five of ten columns."""
    table, y = make_friedman1(200, noise=0.5, random_state=0)
    X = pd.DataFrame(table, columns=[f"column {j}" for j in range(10)])
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    machine = GaussianProcessRegressor(gamma="ard", width_prior=1.0).fit(holes, y)
    figure = machine.plot_relevance()
    figure.savefig(Path(__file__).with_name("widths.png"), dpi=110)


if __name__ == "__main__":
    main()
