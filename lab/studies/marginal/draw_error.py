"""The error of an average against the number of draws: random, Sobol, mirrored Sobol."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import GaussianDensity
from absentia.beliefs.draws import DrawPoints, draw_rows
from absentia.tables import FloatArray
from lab.studies.marginal.trials import ampute

NUMBERS = (8, 16, 32, 64, 128, 256, 512)


def rows(repeats: int = 8, rate: float = 0.5) -> Iterator[tuple[str, list[float]]]:
    """Yield the root mean squared errors of the probabilities for each number of draws."""
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    beliefs = GaussianDensity().fit(X).condition(ampute(X, rate, np.random.default_rng(0))[::4])
    d = X.shape[1]

    def average(points: DrawPoints) -> FloatArray:
        draws = draw_rows(beliefs, points)
        answers = model.predict_proba(draws.reshape(-1, d))
        return answers.reshape(len(draws), len(points), -1).mean(axis=1)

    truth = average(DrawPoints.sobol(2**13, d, seed=10_000))
    for name, make in (
        ("random", _random),
        ("Sobol", DrawPoints.sobol),
        ("mirrored Sobol", _mirrored),
    ):
        errors = [
            float(np.sqrt(np.mean([(average(make(n, d, s)) - truth) ** 2 for s in range(repeats)])))
            for n in NUMBERS
        ]
        yield name, errors


def _random(n: int, d: int, seed: int) -> DrawPoints:
    rng = np.random.default_rng(seed)
    return DrawPoints(rng.random(n), rng.standard_normal((n, d)))


def _mirrored(n: int, d: int, seed: int) -> DrawPoints:
    half = DrawPoints.sobol(n // 2, d, seed)
    return DrawPoints(
        np.concatenate([half.component, 1 - half.component]),
        np.concatenate([half.normals, -half.normals]),
    )
