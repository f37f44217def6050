"""Draw coverage per missing pattern: conformal.png and conformal_weighted.png.

The first has plain methods and those that hide calibration values, for values missing completely
at random; the second has the weighted method under three mechanisms. Run ``python
docs/guide/conformal_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.frozen import FrozenEstimator

from absentia import ConformalRegressor, ExpectedLinear, GaussianDensity, KernelRidge

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


COVARIANCE = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.4], [0.3, 0.4, 1.0]])
MECHANISMS = {
    "completely at random": lambda X: np.full(X.shape, 0.4),
    "at random": lambda X: np.column_stack([expit(1.5 * X[:, 2] - 0.5)] * 2 + [0 * X[:, 0]]),
    "not at random, mechanism given": lambda X: expit(1.5 * X - 1.0),
}


def correlated(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return complete rows of correlated columns and their targets."""
    X = rng.multivariate_normal(np.zeros(3), COVARIANCE, n)
    return X, X @ WEIGHTS + 0.5 * rng.normal(size=n)


def weighted() -> None:
    """Compare the weighted method with those that hide values, under three mechanisms."""
    rng = np.random.default_rng(0)
    methods = {"nested*": "#1e88e5", "exact": "#00796b", "weighted": "#c2185b"}
    figure, panels = plt.subplots(2, 3, figsize=(9.5, 5.2), sharex=True, sharey="row")
    for (above, below), (title, chances) in zip(panels.T, MECHANISMS.items(), strict=True):

        def holes(X: np.ndarray, chances=chances) -> np.ndarray:
            return np.where(rng.random(X.shape) < chances(X), np.nan, X)

        def probability(X: np.ndarray, mask: np.ndarray, chances=chances) -> np.ndarray:
            return np.where(mask, chances(X), 1 - chances(X)).prod(axis=1)

        X, y = correlated(1000, rng)
        model = FrozenEstimator(KernelRidge(kernel=ExpectedLinear(), alpha=0.1).fit(holes(X), y))
        law = FrozenEstimator(GaussianDensity(shrinkage=0.0).fit(np.column_stack([X, y])))
        given = {"mechanism": probability, "density": law} if "not at" in title else {}
        found = {method: np.zeros((3, 8)) for method in methods}
        for _ in range(12):
            calibration, targets = correlated(250, rng)
            calibration = holes(calibration)
            new, truth = correlated(1000, rng)
            new = holes(new)
            pattern = np.isnan(new) @ [4, 2, 1]
            for method in methods:
                own = given if method == "weighted" else {}
                machine = ConformalRegressor(model, method=method, **own)
                intervals = machine.fit(calibration, targets).predict_interval(new)
                hit, width = intervals.covers(truth), np.nan_to_num(intervals.width, posinf=20.0)
                for row, values in enumerate((np.ones(len(new)), hit, width)):
                    found[method][row] += np.bincount(pattern, values, 8)
        for k, (method, colour) in enumerate(methods.items()):
            n, covered, width = found[method]
            complete, mean = width[0] / n[0], width.sum() / n.sum()
            print(f"{title}, {method}: width {mean:.2f}, of complete rows {complete:.2f}")
            some = np.flatnonzero(n)
            place, share = some + 0.2 * (k - 1), covered[some] / n[some]
            error = 3 * np.sqrt(0.09 / n[some])
            above.errorbar(place, share, error, fmt="o", ms=4, color=colour, label=method, lw=1.2)
            below.plot(place, width[some] / n[some], "o", ms=4, color=colour)
        above.axhline(0.9, color="black", lw=0.8, ls="--")
        above.set_title(title, fontsize=9)
        names = ["".join("·" if at >> j & 1 else "x" for j in (2, 1, 0)) for at in range(8)]
        below.set_xticks(range(8), names, family="monospace", fontsize=8)
        for panel in (above, below):
            panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("coverage ± 3 standard errors")
    panels[0, 0].legend(fontsize=8, frameon=False, loc="lower left")
    panels[1, 0].set_ylabel("mean width")
    panels[1, 0].set_ylim(bottom=0)
    panels[1, 1].set_xlabel("pattern of the test row: x observed, · missing")
    figure.tight_layout()
    path = Path(__file__).with_name("conformal_weighted.png")
    figure.savefig(path, dpi=90, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
    weighted()
