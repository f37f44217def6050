"""Fine dust in Beijing, 412 029 hours with real holes: density, features, ridge, end to end."""

from __future__ import annotations

import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

from absentia import LargeScaleRidge
from lab.scale.tables import beijing, versions


def main(only: str = "") -> None:
    """Print test R^2 and seconds; three quarters of the hours train, drawn with seed 0.

    ``only`` picks the methods with that word in their name.
    """
    frame, y = beijing()
    X = StandardScaler().fit_transform(frame)
    del frame
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: 3 * len(X) // 4], order[3 * len(X) // 4 :]
    missing = np.isnan(X)
    print(
        f"{versions()}; {len(train)} hours to train, {len(test)} to test, {X.shape[1]} columns, "
        f"{missing.mean():.2%} of values missing in {missing.any(axis=1).mean():.1%} of rows\n"
    )
    print("| method | test R² | seconds to fit | seconds to predict |")
    print("|---|---|---|---|")
    methods = {
        **{
            f"LargeScaleRidge, {n} Fourier features": LargeScaleRidge(
                "fourier", n, gamma=0.02, alpha=0.1, cache_size=0, n_jobs=2, random_state=0
            )
            for n in (512, 1024, 2048)
        },
        "LargeScaleRidge, 2048 Fourier features, learned metric": LargeScaleRidge(
            "fourier",
            2048,
            gamma=0.02,
            alpha=0.1,
            metric="learned",
            cache_size=0,
            n_jobs=2,
            random_state=0,
        ),
        "HistGradientBoostingRegressor": HistGradientBoostingRegressor(random_state=0),
        "HistGradientBoostingRegressor, 1000 iterations": HistGradientBoostingRegressor(
            max_iter=1000, random_state=0
        ),
    }
    for name, method in methods.items():
        if only not in name:
            continue
        start = time.perf_counter()
        method.fit(X[train], y[train])
        fitted = time.perf_counter()
        predicted = method.predict(X[test])
        print(
            f"| {name} | {r2_score(y[test], predicted):.4f} | {fitted - start:.1f} | "
            f"{time.perf_counter() - fitted:.1f} |",
            flush=True,
        )
