"""Training on incomplete rows: stacked draws, one fit per draw, or NaN as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import GaussianDensity, MarginalClassifier
from absentia.densities.missing_values import MissingValues
from absentia.predictions.wrapped_model import fit_weighted, stacked_draws
from absentia.tables import Table
from lab.studies.marginal.trials import Split, means_by_way, scores, splits

N_DRAWS = 8
MODELS: dict[str, Any] = {
    "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "forest": RandomForestClassifier(100, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}


@means_by_way
def rows(name: str, rate: float, n_folds: int = 3) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the ways to train with the accuracy and log loss on rows with the same holes."""
    for split in splits(name, rate, n_folds):
        density = GaussianDensity().fit(split.train_holes)
        for model_name, model in MODELS.items():
            for way, probabilities in _ways(model, density, split):
                outcome = scores(split.y_test, probabilities)
                yield f"{model_name}, {way}", outcome


def _ways(model: Any, density: Any, split: Split) -> Iterator[tuple[str, Any]]:
    def averaged(fitted: Any, n_draws: int, seed: int = 0) -> Any:
        wrapper = MarginalClassifier(
            FrozenEstimator(fitted),
            density=FrozenEstimator(density),
            n_draws=n_draws,
            random_state=seed,
        )
        return wrapper.fit(split.train_holes).predict_proba(split.test_holes)

    y = split.y_train
    rows = Table(split.train_holes, columns_checked=True)
    names = rows.labels
    training = rows, MissingValues.of(density, names, len(names)), np.arange(len(names))
    drawn, row, weights = stacked_draws(*training, N_DRAWS, seed=1)
    yield "stacked draws", averaged(fit_weighted(clone(model), drawn, y[row], weights), 64)
    # One model per draw; together they predict as many draws as the one above.
    answers = []
    for m in range(N_DRAWS):
        single, row, _ = stacked_draws(*training, 1, seed=10 + m)
        answers.append(averaged(clone(model).fit(single, y[row]), 64 // N_DRAWS, seed=m))
    yield "one fit per draw", np.mean(answers, axis=0)
    filled = clone(model).fit(density.impute(split.train_holes), y)
    yield "conditional mean", filled.predict_proba(density.impute(split.test_holes))
    if isinstance(model, HistGradientBoostingClassifier | RandomForestClassifier):
        as_it_comes = clone(model).fit(split.train_holes, y)
        yield "NaN as it comes", as_it_comes.predict_proba(split.test_holes)
        yield "trained on NaN, 64 draws", averaged(as_it_comes, 64)
