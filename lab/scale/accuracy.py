"""Accuracy by number of features: Fourier and Nystroem against the exact SVC on 5000 rows."""

from __future__ import annotations

import time

import numpy as np
from sklearn.frozen import FrozenEstimator

from absentia import SVC, FourierFeatures, GaussianDensity, GenRBF, LargeScaleSVC, Nystroem
from lab.scale.tables import made_rows, versions


def main() -> None:
    """Print accuracy, time, and the error of the kernel, by the number of features."""
    X, y = made_rows(8000, seed=0, rate=0.2)
    labels = y > np.median(y)
    train, test = slice(0, 5000), slice(5000, 8000)
    density = FrozenEstimator(GaussianDensity().fit(X[train]))
    gamma, C = 0.03, 1.0
    print(
        f"{versions()}; 5000 rows to train, 3000 to test, 20 columns, 20 % missing, gamma={gamma},"
    )
    print(f"C={C:g}, five draws of the features (mean and standard deviation)\n")
    start = time.perf_counter()
    exact = SVC(C=C, gamma=gamma).fit(X[train], labels[train])
    seconds = time.perf_counter() - start
    print("| features | number | test accuracy | seconds to fit | kernel error (rms) |")
    print("|---|---|---|---|---|")
    print(f"| exact SVC | | {exact.score(X[test], labels[test]):.4f} | {seconds:.2f} | |")
    beliefs = density.condition(X[:1500])
    K = GenRBF(gamma)(beliefs)
    for n_components in (32, 64, 128, 256, 512, 1024, 2048):
        for kind in (FourierFeatures, Nystroem):
            if kind is Nystroem and n_components > 1024:
                continue  # minutes, for no more accuracy
            scores, times, errors = [], [], []
            for seed in range(5):
                features = kind(n_components, gamma=gamma, density=density, random_state=seed)
                start = time.perf_counter()
                machine = LargeScaleSVC(features, C=C).fit(X[train], labels[train])
                times.append(time.perf_counter() - start)
                scores.append(machine.score(X[test], labels[test]))
                Z = machine.features_.transform(beliefs)
                errors.append(np.sqrt(np.mean((Z @ Z.T - K) ** 2)))
            print(
                f"| {kind.__name__} | {n_components} | {np.mean(scores):.4f} ± "
                f"{np.std(scores):.4f} | {np.mean(times):.2f} | {np.mean(errors):.4f} |",
                flush=True,
            )
