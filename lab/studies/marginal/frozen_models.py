"""Models trained on complete rows that meet rows with 60 % of their values missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import GaussianDensity, LogisticRegression, MarginalClassifier, MixtureDensity
from lab.studies.marginal.trials import Split, means_by_way, scores, splits


@means_by_way
def rows(
    name: str, rate: float = 0.6, repeats: int = 3
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the ways to answer with their accuracy and log loss, means over repeated folds."""
    for seed in range(repeats):
        for split in splits(name, rate, seed=seed):
            yield from _ways(split)


def _ways(split: Split) -> Iterator[tuple[str, tuple[float, float]]]:
    densities: dict[str, Any] = {
        "Gaussian": GaussianDensity().fit(split.train),
        "mixture of 3": MixtureDensity(n_components=3, random_state=0).fit(split.train),
    }
    models: dict[str, Any] = {
        "boosting": HistGradientBoostingClassifier(random_state=0),
        "forest": RandomForestClassifier(200, random_state=0),
        "network": make_pipeline(
            StandardScaler(), MLPClassifier((50,), max_iter=2000, random_state=0)
        ),
    }
    for name, model in models.items():
        model.fit(split.train, split.y_train)
        if name != "network":
            yield f"{name}, NaN as it comes", _scored(model, split)
        filled = densities["Gaussian"].impute(split.test_holes)
        yield f"{name}, conditional mean", scores(split.y_test, model.predict_proba(filled))
        for kind, density in densities.items():
            wrapper = MarginalClassifier(
                FrozenEstimator(model), density=FrozenEstimator(density), random_state=0
            ).fit(split.train)
            yield f"{name}, 64 draws, {kind}", _scored(wrapper, split)
    for penalty in (1.0, 10.0, 100.0):
        machine = make_pipeline(StandardScaler(), LogisticRegression(C=penalty, kernel="genrbf"))
        machine.fit(split.train, split.y_train)
        yield f"kernel logistic regression, C={penalty:g}", _scored(machine, split)


def _scored(model: Any, split: Split) -> tuple[float, float]:
    return scores(split.y_test, model.predict_proba(split.test_holes))
