"""Draw conformal.png: coverage per missing pattern, plain and with hidden calibration values.

Run ``python docs/guide/conformal_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator

from absentia import ConformalRegressor, KernelRidge

METHODS = {"split": "#9e9e9e", "nested": "#e8710a", "nested*": "#1e88e5", "exact": "#00796b"}
WEIGHTS = np.array([2.0, 1.0, 0.5])
REPEATS, N_TEST = 40, 60


def rows(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return complete rows and their targets."""
    X = rng.normal(size=(n, 3))
    return X, X @ WEIGHTS + 0.5 * rng.normal(size=n)


def main() -> None:
    """Train once, calibrate often, and count how often each pattern is covered."""
    rng = np.random.default_rng(0)
    X, y = rows(300, rng)
    X[rng.random(X.shape) < 0.4] = np.nan
    model = FrozenEstimator(KernelRidge().fit(X, y))
    masks = sorted(product([False, True], repeat=3), key=lambda m: (sum(m), m))
    names = ["".join("·" if missing else "x" for missing in mask) for mask in masks]
    covered = {method: np.empty((REPEATS, len(masks))) for method in METHODS}
    widths = {method: np.empty((REPEATS, len(masks))) for method in METHODS}
    for repeat in range(REPEATS):
        calibration, targets = rows(250, rng)
        calibration[rng.random(calibration.shape) < 0.4] = np.nan
        new, truth = rows(N_TEST * len(masks), rng)
        new[np.repeat(np.array(masks), N_TEST, axis=0)] = np.nan
        for method in METHODS:
            machine = ConformalRegressor(model, method=method).fit(calibration, targets)
            found = machine.predict_interval(new)
            covered[method][repeat] = found.covers(truth).reshape(len(masks), -1).mean(axis=1)
            widths[method][repeat] = found.width.reshape(len(masks), -1).mean(axis=1)
    figure, (above, below) = plt.subplots(2, 1, figsize=(7.5, 5.6), sharex=True)
    for k, (method, colour) in enumerate(METHODS.items()):
        place = np.arange(len(masks)) + 0.16 * (k - 1.5)
        mean = covered[method].mean(axis=0)
        error = 3 * covered[method].std(axis=0, ddof=1) / np.sqrt(REPEATS)
        above.errorbar(place, mean, error, fmt="o", ms=4, color=colour, label=method, lw=1.2)
        below.plot(place, widths[method].mean(axis=0), "o", ms=4, color=colour)
    above.axhline(0.9, color="black", lw=0.8, ls="--")
    above.set_ylabel("coverage ± 3 standard errors")
    above.legend(ncols=4, fontsize=8, frameon=False, loc="lower left")
    below.set_ylabel("mean width")
    below.set_ylim(bottom=0)
    below.set_xticks(range(len(masks)), names, family="monospace")
    below.set_xlabel("pattern of the test row: x observed, · missing")
    for panel in (above, below):
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("conformal.png"), dpi=90, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
