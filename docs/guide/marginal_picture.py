"""Draw marginal.png: a boosted model meets rows with more and more missing values.

Run ``python docs/guide/marginal_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from absentia import GaussianDensity, MarginalClassifier

RATES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)
WAYS = {
    "NaN as it comes": "#8d99a6",
    "conditional mean filled in": "#5b7fa6",
    "averaged over 64 draws": "#c8553d",
}


def main() -> None:
    """Train on complete rows, remove values from the test rows, and compare three answers."""
    X, y = load_breast_cancer(return_X_y=True)
    losses = {way: np.zeros(len(RATES)) for way in WAYS}
    repeats = 3
    for seed in range(repeats):
        train, test, y_train, y_test = train_test_split(
            X, y, test_size=0.5, random_state=seed, stratify=y
        )
        model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(train, y_train)
        density = GaussianDensity().fit(train)
        averaged = MarginalClassifier(
            FrozenEstimator(model), density=FrozenEstimator(density), random_state=0
        ).fit(train)
        order = np.random.default_rng(seed).random(test.shape)
        for i, rate in enumerate(RATES):
            holes = np.where(order < rate, np.nan, test)
            answers = (
                model.predict_proba(holes),
                model.predict_proba(density.impute(holes)),
                averaged.predict_proba(holes),
            )
            for way, probabilities in zip(WAYS, answers, strict=True):
                losses[way][i] += log_loss(y_test, probabilities) / repeats

    figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    for way, colour in WAYS.items():
        axes.plot(100 * np.array(RATES), losses[way], "o-", color=colour, label=way)
    axes.set(xlabel="missing values in the test rows, %", ylabel="log loss", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    axes.set_title("gradient boosting, trained on complete rows (breast cancer)", fontsize=10)
    figure.savefig(Path(__file__).with_name("marginal.png"), dpi=90, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
