"""Errors and times of conditional Shapley values: absentia, shapiq and shap.

Run ``python -m lab.studies.shapley_values``; shapiq and shap are left out where not installed. All
methods call the model equally often. The truth is enumerated with many draws from the law that the
rows were drawn from.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from absentia import GaussianDensity, explain
from absentia.predictions.shapley import shapley_weights
from absentia.tables import BoolArray, FloatArray

N_DRAWS = 64


class Law:
    """A Gaussian law of correlated columns, a target, and boosted trees trained on both."""

    def __init__(self, n_columns: int, n_rows: int = 1000, seed: int = 0):
        rng = np.random.default_rng(seed)
        loadings = rng.normal(size=(n_columns, 3))
        self.covariance = loadings @ loadings.T + 0.5 * np.eye(n_columns)
        self.rows = rng.multivariate_normal(np.zeros(n_columns), self.covariance, size=n_rows)
        X = self.rows
        self.target = np.sin(X[:, 0]) * X[:, 1] + X[:, 2] + 0.3 * X[:, 3] ** 2
        self.model = HistGradientBoostingRegressor(max_iter=50, random_state=0).fit(X, self.target)

    def with_holes(self, rate: float) -> FloatArray:
        """Return the rows with missing values."""
        holes = np.random.default_rng(1).random(self.rows.shape) < rate
        return np.where(holes, np.nan, self.rows)

    def truth(self, x: FloatArray, n_draws: int) -> FloatArray:
        """Return the Shapley values of one row, by enumeration and draws from the law."""
        coalitions = all_coalitions(len(x))
        noise = np.random.default_rng(2).standard_normal((n_draws, len(x)))
        v = []
        for known in coalitions:
            rest = ~known
            draws = np.tile(x, (n_draws, 1))
            if rest.any():
                across = self.covariance[np.ix_(rest, known)]
                gain = across @ np.linalg.inv(self.covariance[np.ix_(known, known)])
                spread = self.covariance[np.ix_(rest, rest)] - gain @ across.T
                root = np.linalg.cholesky(spread)
                draws[:, rest] = gain @ x[known] + noise[:, : rest.sum()] @ root.T
            v.append(self.model.predict(draws).mean())
        return np.asarray(shapley_weights(coalitions).T @ v)


def all_coalitions(n: int) -> BoolArray:
    """Return every subset of n columns, shape (2^n, n)."""
    return (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1


def ours(law: Law, rows: FloatArray, background: FloatArray) -> FloatArray:
    """Return the values of absentia, from a density of the background rows."""
    density = GaussianDensity().fit(background)
    return explain(law.model, rows, density=density, n_draws=N_DRAWS).values


def of_shapiq(law: Law, rows: FloatArray, background: FloatArray) -> FloatArray:
    """Return the values of shapiq's Gaussian imputer, by the same enumeration."""
    GaussianImputer: Any = import_module("shapiq.imputer").GaussianImputer

    coalitions = all_coalitions(rows.shape[1])
    weights = shapley_weights(coalitions)
    found = []
    for x in rows:
        imputer = GaussianImputer(
            law.model.predict, background, x, sample_size=N_DRAWS, random_state=0
        )
        found.append(weights.T @ imputer(coalitions))
    return np.array(found)


def of_shap(law: Law, rows: FloatArray, background: FloatArray) -> FloatArray:
    """Return the values of shap's KernelExplainer, which are marginal."""
    shap: Any = import_module("shap")

    explainer = shap.KernelExplainer(law.model.predict, background[:N_DRAWS], silent=True)
    return np.array(explainer.shap_values(rows, nsamples=2 ** rows.shape[1], silent=True))


METHODS: dict[str, Callable[..., FloatArray]] = {
    "absentia": ours,
    "shapiq, `GaussianImputer`": of_shapiq,
    "shap, `KernelExplainer` (marginal)": of_shap,
}


def measured(method: Callable[..., FloatArray], *arguments: Any) -> tuple[FloatArray, float]:
    """Return values, and the processor time of the second of two calls per row."""
    method(*arguments)
    start = time.process_time()
    values = method(*arguments)
    return values, (time.process_time() - start) / len(values)


def main(n_columns: int = 7, n_rows: int = 4, n_truth: int = 4000, n_timed: int = 12) -> list[str]:
    """Print a table of errors (root mean square) and times per row; return its lines."""
    law, wide = Law(n_columns), Law(n_timed)
    rows = law.rows[:n_rows]
    truth = np.array([law.truth(x, n_truth) for x in rows])
    size = float(np.sqrt(np.mean(truth**2)))
    lines = [
        f"| boosted trees, {N_DRAWS} draws | error, {n_columns} columns | seconds a row | "
        f"seconds, {n_timed} columns |",
        "|---|---|---|---|",
    ]
    for name, method in METHODS.items():
        for rate in (0.0, 0.3):
            try:
                values, seconds = measured(method, law, rows, law.with_holes(rate))
                late = measured(method, wide, wide.rows[:1], wide.with_holes(rate))[1]
            except ImportError:
                continue
            except Exception as problem:  # not made for such rows
                reason = type(problem).__name__
                lines.append(f"| {name}, {rate:.0%} of the background missing | {reason} | | |")
                continue
            error = float(np.sqrt(np.mean((values - truth) ** 2)))
            lines.append(
                f"| {name}, {rate:.0%} of the background missing | {error:.3f} | {seconds:.2f} | "
                f"{late:.2f} |"
            )
    lines.append(f"\nRoot mean square of the true values: {size:.3f}.")
    print("\n".join(lines))
    return lines


if __name__ == "__main__":
    main()
