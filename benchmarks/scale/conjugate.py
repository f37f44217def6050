"""Kernel ridge on all rows by conjugate gradients, against the exact solution and the features."""

from __future__ import annotations

import resource
import time
from typing import Any

from sklearn.metrics import r2_score

from absentia import ConjugateGradientRidge, KernelRidge, LargeScaleRidge
from benchmarks.scale.tables import made_rows, versions


def main() -> None:
    """Print test R^2, seconds, steps and the peak memory so far."""
    print(f"{versions()}; 20 columns, 5 % missing, gamma=0.1, alpha=0.1, 3000 rows to test\n")
    print("| method | rows | test R² | seconds to fit | steps | peak memory so far, MB |")
    print("|---|---|---|---|---|---|")
    X_test, y_test = made_rows(3000, seed=999)
    for n in (4000, 8000, 16000):
        X, y = made_rows(n, seed=1)
        methods: dict[str, Any] = {
            "1024 Fourier features": LargeScaleRidge(
                "fourier", 1024, gamma=0.1, alpha=0.1, random_state=0
            ),
            "conjugate gradients, 500 landmarks, no tiles kept": ConjugateGradientRidge(
                alpha=0.1, gamma=0.1, n_landmarks=500, tol=1e-4, cache_size=0, random_state=0
            ),
        }
        if n <= 8000:
            methods["exact (Cholesky)"] = KernelRidge(alpha=0.1, gamma=0.1)
        for name, method in methods.items():
            start = time.perf_counter()
            method.fit(X, y)
            seconds = time.perf_counter() - start
            score = r2_score(y_test, method.predict(X_test))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"| {name} | {n} | {score:.4f} | {seconds:.1f} | "
                f"{getattr(method, 'n_iter_', '')} | {peak:.0f} |",
                flush=True,
            )
