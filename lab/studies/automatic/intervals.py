"""Do intervals cover rows alike, whatever they miss? ``python -m lab.studies.automatic.intervals``.

Values are removed completely at random from complete tables; half of the rows, at most 350, train
an automatic regressor. Its 90 % intervals on the others are compared with intervals of one width
for all rows of a level of hidden cells. The interval score (Gneiting and Raftery 2007) is

    width + 2 / (1 - 0.9) * (distance of the target from the interval),

smaller is better; it is averaged over rows and given in standard deviations of the target.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from absentia import AutoRegressor, amputation
from absentia.automatic.error_scale import ErrorScale
from absentia.tables import BoolArray, FloatArray
from lab.data import datasets
from lab.publish.markdown import table

TABLES = ("airfoil", "concrete", "friedman", "mortgage", "stock")
MEMBERS = ("linear", "beliefs", "boosting")
COVERAGE, SEEDS, MOST_ROWS = 0.9, (0, 1, 2), 350
WAYS = ("one width per level", "by what a row misses")


def interval_score(y: FloatArray, ends: FloatArray) -> FloatArray:
    """Return the interval score of each row."""
    low, high = ends.T
    outside: FloatArray = np.maximum(np.maximum(low - y, y - high), 0.0)
    return (high - low) + 2.0 / (1.0 - COVERAGE) * outside


def trial(
    X: FloatArray, y: FloatArray, rate: float, seed: int
) -> tuple[FloatArray, list[tuple[BoolArray, float]]]:
    """Return how many values test rows miss, and for each way which it covers, and its score."""
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    n = min(MOST_ROWS, len(y) // 2)
    rows = amputation.mcar(X, rate=0.15, random_state=seed)[:n]
    new = amputation.mcar(X, rate=rate, random_state=seed + 100)[n:]
    machine = AutoRegressor(members=MEMBERS, random_state=seed).fit(rows, y[:n])
    found = []
    errors = machine.errors_ / machine.target_scale_
    line, signed = np.tile([1.0, 0.0, 0.0], (len(errors), 1)), machine.error_scale_.signed
    by_level = ErrorScale(np.zeros(0), line, errors, signed)
    for scale in (by_level, machine.error_scale_):  # in the order of WAYS
        machine.error_scale_ = scale
        ends = machine.predict_interval(new, coverage=COVERAGE)
        covered = (ends[:, 0] <= y[n:]) & (y[n:] <= ends[:, 1])
        found.append((covered, float(interval_score(y[n:], ends).mean() / y[n:].std())))
    return np.isnan(new).sum(axis=1), found


def main() -> None:
    """Print a table of coverage by the number of missing values, and of scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    folder = parser.parse_args().data
    lines = []
    for rate in (0.15, 0.4):
        for name in TABLES:
            data = datasets.load(name, folder)
            X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
            trials = [trial(X, y, rate, seed) for seed in SEEDS]
            missing = np.concatenate([n for n, _ in trials])
            for k, way in enumerate(WAYS):
                covered = np.concatenate([found[k][0] for _, found in trials])
                groups = [missing == j for j in range(3)] + [missing >= 3]
                shares = [f"{covered[g].mean():.2f}" if g.any() else "" for g in groups]
                score = np.mean([found[k][1] for _, found in trials])
                where = f"{name}, {rate:.0%} missing"
                lines.append([where, way, f"{covered.mean():.2f}", *shares, f"{score:.2f}"])
    header = ["table", "intervals", "all rows", "0 missing", "1", "2", "3 or more", "score"]
    print(table(header, lines, write=str, left=(0, 1)))


if __name__ == "__main__":
    main()
