"""A frame of patients with numbers and words, for models that are asked about missing cells."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

pd = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

#: From a frame of pandas to one of either library.
KINDS = {"pandas": lambda frame: frame, "polars": polars.from_pandas}


def patients(n: int = 300, seed: int = 0):
    """Age, sex and ward; the ward depends on the sex, the target on age and ward."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["m", "f"], n)
    ward = np.where(rng.random(n) < 0.8, np.where(sex == "m", "red", "green"), "blue")
    age = rng.normal(40, 10, n).round()
    y = (age + 15 * (ward == "green") - 15 * (ward == "red") > 40).astype(int)
    return pd.DataFrame({"age": age, "sex": sex, "ward": ward, "ship": "Titanic"}), y


def pipeline(encoder: BaseEstimator) -> Pipeline:
    """Logistic regression on encoded words and a scaled age."""
    columns = make_column_transformer((encoder, ["sex", "ward"]), (StandardScaler(), ["age"]))
    return make_pipeline(columns, LogisticRegression())
