"""How often 95 % intervals of regression coefficients cover after imputation.

``python -m lab.studies.pooled_coverage gaussian 300`` prints, for 300 tables of numbers (or
``mixed``: with words) of which a third of one column is missing at random, the mean coefficient of
that column, the share of intervals that hold the true coefficients, all one, and mean widths:
``pooled`` with proper and improper draws, a single completed table, for Gaussian tables parameters
from their normal-inverse-Wishart posterior by data augmentation (Schafer 1997), and R's mice.
"""

from __future__ import annotations

import io
import subprocess
import sys
from shutil import which

import numpy as np
import pandas as pd
from scipy.stats import invwishart, t

from absentia import DensityImputer, GaussianDensity, MixedDensity, pool, pooled

TABLES = {
    "gaussian": (60, GaussianDensity(shrinkage=0.0)),
    "mixed": (80, MixedDensity(2, n_init=1, random_state=0)),
}
M, BURN_IN, STEPS = 8, 100, 20
_R = """
suppressPackageStartupMessages(library(mice))
X <- read.csv(file("stdin"), stringsAsFactors = TRUE); m <- as.integer(commandArgs(TRUE))
for (X in split(X[-1], X$table)) {
  fits <- with(mice(X, m = m, print = FALSE), lm(y ~ x + z))
  found <- summary(pool(fits), conf.int = TRUE)
  cat(found$estimate, found[["2.5 %"]], found[["97.5 %"]], "\\n")
}
"""


def table(kind: str, seed: int) -> pd.DataFrame:
    """Return ``y = 1 + x + z`` plus noise, with ``z`` a number or a word, and missing at random."""
    rng = np.random.default_rng(seed)
    n, _ = TABLES[kind]
    if kind == "mixed":
        yes = rng.random(n) < 0.5
        x, z = rng.normal(size=n) + 0.8 * yes, yes.astype(float)
    else:
        x = rng.normal(size=n)
        z = 0.6 * x + 0.8 * rng.normal(size=n)
    y = 1 + x + z + rng.normal(size=n)
    lost = rng.random(n) < 1 / (1 + np.exp(1.5 - (x + y) / 1.5 + (kind == "mixed")))
    values = np.where(z > 0, "yes", "no").astype(object) if kind == "mixed" else z
    return pd.DataFrame({"x": x, "z": values, "y": y}).mask(np.outer(lost, [False, True, False]))


def least_squares(X: pd.DataFrame, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients of a complete table, and their covariance."""
    z = X["z"] == "yes" if X["z"].dtype.kind not in "fi" else X["z"]
    design = np.column_stack([np.ones(len(X)), X["x"], z.astype(float)])
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ y
    rest = y - design @ found
    return found, rest @ rest / (len(y) - 3) * inverse


def augmented(X: pd.DataFrame, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Return completed tables: values and parameters are drawn in turn; ``z`` alone is missing."""
    V, out = X.to_numpy(dtype=float, copy=True), []
    lost = np.isnan(V[:, 1])
    V[lost, 1] = np.nanmean(V[:, 1])
    for step in range(BURN_IN + M * STEPS):
        covariance = invwishart.rvs(len(V) - 1, len(V) * np.cov(V.T, bias=True), random_state=rng)
        mean = rng.multivariate_normal(V.mean(axis=0), covariance / len(V))
        slopes = np.linalg.solve(covariance[np.ix_([0, 2], [0, 2])], covariance[[0, 2], 1])
        left = np.sqrt(covariance[1, 1] - slopes @ covariance[[0, 2], 1])
        centre = mean[1] + (V[lost][:, [0, 2]] - mean[[0, 2]]) @ slopes
        V[lost, 1] = centre + left * rng.normal(size=lost.sum())
        if step >= BURN_IN and step % STEPS == 0:
            out.append(pd.DataFrame(V, columns=X.columns))
    return out


def intervals(kind: str, seed: int) -> dict[str, np.ndarray]:
    """Return estimates and the ends of their intervals by method, (3, 3)."""
    X, density = table(kind, seed), TABLES[kind][1]
    y, found = X["y"].to_numpy(), {}
    for name, proper in (("proper", True), ("improper", False)):
        result = pooled(
            least_squares, X[["x", "z"]], y, density=density, m=M, proper=proper, random_state=seed
        )
        found[name] = np.vstack([result.estimates, result.interval().T])
    estimate, covariance = least_squares(DensityImputer(density).fit_transform(X), y)
    reach = t.ppf(0.975, len(y) - 3) * np.sqrt(np.diag(covariance))
    found["one table"] = np.vstack([estimate, estimate - reach, estimate + reach])
    return found


def by_augmentation(seed: int) -> np.ndarray:
    """Return estimates and intervals for a Gaussian table by data augmentation, (3, 3)."""
    X = table("gaussian", seed)
    fits = [least_squares(V, X["y"]) for V in augmented(X, np.random.default_rng(seed))]
    result = pool([q for q, _ in fits], [U for _, U in fits], n=len(X))
    return np.vstack([result.estimates, result.interval().T])


def in_mice(kind: str, n_tables: int) -> np.ndarray:
    """Return what R's mice says, with its defaults, (n_tables, 3, 3)."""
    tables = pd.concat([table(kind, seed).assign(table=seed) for seed in range(n_tables)])
    text = tables[["table", "x", "z", "y"]].to_csv(index=False, na_rep="NA")
    command = ["Rscript", "--vanilla", "-e", _R, str(M)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return np.loadtxt(io.StringIO(done.stdout)).reshape(n_tables, 3, 3)


if __name__ == "__main__":
    kind, n_tables = sys.argv[1], int(sys.argv[2])
    each = [intervals(kind, seed) for seed in range(n_tables)]
    found = {name: np.array([one[name] for one in each]) for name in each[0]}
    if kind == "gaussian":
        found["data augmentation"] = np.array([by_augmentation(seed) for seed in range(n_tables)])
    if which("Rscript"):
        found["mice (R)"] = in_mice(kind, n_tables)
    for name, parts in found.items():
        estimate, low, high = parts.transpose(1, 0, 2)
        covered = ((low <= 1) & (high >= 1)).mean()
        print(f"{name:18} slope {estimate[:, 2].mean():.3f}  covered {covered:.3f}  "
              f"width {(high - low).mean():.2f}", flush=True)  # fmt: skip
