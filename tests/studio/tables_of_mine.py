"""Small tables with numbers, words and holes, and a model of each kind."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from absentia import ConformalRegressor, GaussianProcessRegressor, LogisticRegression, TableEncoder
from absentia.recipe.model import TableModel

HOSTILE = "<img src=x onerror=alert(1)>"


@cache
def mixed_table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 120
    a, b = rng.normal(size=n), rng.normal(size=n)
    word = rng.choice(["low", "middle", "high"], size=n)
    y = 3 * a + b + 2 * (word == "high")
    frame = pd.DataFrame({"a": a, HOSTILE: b, "word": word, "noise": rng.normal(size=n)})
    frame = frame.mask(rng.random(frame.shape) < 0.15)
    return frame.assign(value=y + 0.3 * rng.normal(size=n), kind=np.where(y > 0.5, "up", "down"))


@cache
def small_model(classifies: bool) -> TableModel:
    """Return a model of the steps that the studio makes, without its search."""
    frame = mixed_table()
    features = frame.drop(columns=["value", "kind"])
    encoder = TableEncoder(limits=True).fit(features)
    X = encoder.transform(features)
    if classifies:
        machine = LogisticRegression(C=10.0).fit(X, frame["kind"])
    else:
        process = GaussianProcessRegressor().fit(X[:80], frame["value"][:80])
        machine = ConformalRegressor(FrozenEstimator(process)).fit(X[80:], frame["value"][80:])
    return TableModel(Pipeline([("encode", encoder), ("machine", machine)]))
