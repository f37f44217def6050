"""Draw uncertainty.png: the parts of the variance of a process, and where they come from.

Run ``python docs/guide/uncertainty_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from absentia import GaussianProcessRegressor

COLOURS = {"noise": "#c9d1d9", "model": "#5b7fa6", "missing": "#c8553d"}


def main() -> None:
    """Draw the parts as columns go missing one by one, and the columns of one row."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X / X.std()
    rng = np.random.default_rng(0)
    holes = X.mask(rng.random(X.shape) < 0.2)
    machine = GaussianProcessRegressor().fit(holes[:300], y[:300])
    order = ["s5", "bmi", "bp", "s4", "s6", "s3", "sex", "age", "s1", "s2"]
    row = X.iloc[[310]]
    stages = [row]
    for name in order:
        stages.append(stages[-1].assign(**{name: np.nan}))
    doubts = [machine.predict_uncertainty(stage, by_column=False) for stage in stages]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    places, base = np.arange(len(stages)), np.zeros(len(stages))
    for name, colour in COLOURS.items():
        part = np.array([getattr(doubt, name)[0] for doubt in doubts])
        left.bar(places, part, bottom=base, color=colour, label=name, width=0.85)
        base += part
    left.set_xticks(places, ["none", *(f"+ {name}" for name in order)], rotation=60)
    left.set(xlabel="missing columns", ylabel="variance of the target")
    left.legend(frameon=False, loc="upper left", fontsize="small")
    doubt = machine.predict_uncertainty(stages[6])
    shares = doubt.by_column[0]
    shown = [j for j in np.argsort(shares) if shares[j] > 0]
    right.barh([doubt.columns[j] for j in shown], shares[shown], color=COLOURS["missing"])
    right.axvline(doubt.missing[0], color=COLOURS["missing"], linestyle=":")
    right.set_xlabel("variance that measuring the column would remove")
    right.set_title("six columns missing; dotted, all of them together", fontsize=9)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    path = Path(__file__).with_name("uncertainty.png")
    figure.savefig(path, dpi=90, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
