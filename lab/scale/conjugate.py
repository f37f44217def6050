"""Kernel ridge on all rows by conjugate gradients, against the exact solution and the features.

Times are processor time, and ratios to the exact solution of the same rows in the same process.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from absentia import ConjugateGradientRidge, KernelRidge, LargeScaleRidge
from lab.scale.tables import made_rows, versions


def main() -> None:
    """Print test R^2, seconds, their ratio to those of the exact solution, and steps."""
    print(f"{versions()}; 20 columns, 5 % missing, gamma=0.1, alpha=0.1, 3000 rows to test\n")
    print(
        "| method | rows | test R² | to exact | seconds to fit | steps | peak memory so far, MB |"
    )
    print("|---|---|---|---|---|---|---|")
    X_test, y_test = made_rows(3000, seed=999)
    methods: dict[str, Any] = {
        "exact (Cholesky)": KernelRidge(alpha=0.1, gamma=0.1),
        "1024 Fourier features": LargeScaleRidge(
            "fourier", 1024, gamma=0.1, alpha=0.1, random_state=0
        ),
        "conjugate gradients, 500 landmarks, no tiles kept": ConjugateGradientRidge(
            alpha=0.1, gamma=0.1, n_landmarks=500, tol=1e-4, cache_size=0, random_state=0
        ),
        "conjugate gradients, 2000 landmarks, no tiles kept": ConjugateGradientRidge(
            alpha=0.1, gamma=0.1, n_landmarks=2000, tol=1e-4, cache_size=0, random_state=0
        ),
    }
    for method in methods.values():  # compiles
        method.fit(*made_rows(2500, seed=2))
    for n in (4000, 8000):
        X, y = made_rows(n, seed=1)
        exact = np.nan
        for name, method in methods.items():
            start = time.process_time()
            method.fit(X, y)
            seconds = time.process_time() - start
            if name.startswith("exact"):
                exact = seconds
            score = r2_score(y_test, method.predict(X_test))
            steps = method.n_iter_ if isinstance(method, ConjugateGradientRidge) else ""
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"| {name} | {n} | {score:.4f} | {seconds / exact:.2f} | {seconds:.1f} | "
                f"{steps} | {peak:.0f} |",
                flush=True,
            )
