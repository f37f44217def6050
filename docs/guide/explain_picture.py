"""Draw explain.png: a waterfall of one row, and all rows of a table.

Run ``python docs/guide/explain_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from absentia import ExpectedRBF, KernelRidge, explain
from absentia.pictures import tidy
from absentia.predictions.explanations import draw_row, draw_rows


def main() -> None:
    """Explain a machine on the diabetes data, a fifth of whose values were removed."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X.rename(columns={"s1": "tc", "s2": "ldl", "s3": "hdl", "s5": "ltg", "s6": "glu"})
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    kernel = ExpectedRBF(gamma=1 / X.var().to_numpy() / X.shape[1])
    machine = KernelRidge(kernel=kernel, alpha=0.3).fit(holes[:300], y[:300])
    rows = holes[300:380]
    found = explain(machine, rows, groups={"lipids": ["tc", "ldl", "hdl", "s4"]})
    row = int(np.flatnonzero(rows["bmi"].notna() & rows["glu"].isna())[0])
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.6), layout="constrained")
    draw_row(left, found, row, 8)
    draw_rows(right, found, 8)
    tidy(left)
    tidy(right)
    figure.savefig(Path(__file__).with_name("explain.png"), dpi=90, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
