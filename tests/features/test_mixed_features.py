"""Features of numbers and categories together, against the kernels that they approach."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from absentia import (
    Chunks,
    ExpectedRBF,
    FourierFeatures,
    GenRBF,
    LargeScaleRidge,
    LargeScaleSVC,
    MixedDensity,
    Nystroem,
)
from densities.mixed_examples import fitted, mixed_table


@pytest.mark.parametrize("weight", ["scale", 0.7, [0.2, 1.5]])
@pytest.mark.parametrize("normalize", [True, False])
def test_fourier_features_approach_the_kernel(weight, normalize):
    beliefs = fitted(mixed_table()).condition(mixed_table())
    kernel = (GenRBF if normalize else ExpectedRBF)(category_weight=weight)
    features = FourierFeatures(40_000, normalize=normalize, category_weight=weight, random_state=0)
    Z = features.fit_transform(beliefs)
    # Entries have an error of about 1 / sqrt(20 000) each, the largest of 3600 four times that.
    assert np.abs(Z @ Z.T - kernel(beliefs)).max() < 0.04


def test_categories_alone_and_odd_numbers_of_features():
    X = mixed_table()[:, [1, 3]]
    density = MixedDensity(2, categories=[0, 1], random_state=0).fit(X)
    beliefs = density.condition(X)
    Z = FourierFeatures(40_001, random_state=0).fit_transform(beliefs)
    assert Z.shape == (60, 40_001)
    assert np.abs(Z @ Z.T - GenRBF()(beliefs)).max() < 0.04


def test_nystroem_features_are_exact_between_landmarks():
    beliefs = fitted(mixed_table()).condition(mixed_table())
    Z = Nystroem(60, random_state=0).fit_transform(beliefs)
    np.testing.assert_allclose(Z @ Z.T, GenRBF()(beliefs), atol=1e-6)
    few = Nystroem(10, random_state=0).fit(beliefs)
    K = GenRBF()(few.landmarks_)
    own = few.transform(few.landmarks_)
    np.testing.assert_allclose(own @ own.T, K, atol=1e-6)


@pytest.mark.parametrize("features", ["fourier", "nystroem"])
def test_large_scale_machines_take_mixed_tables(features):
    X = mixed_table(300, missing=0.1)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = frame["b"].map({0.0: "red", 1.0: "green", 2.0: "blue"})
    y = (np.nan_to_num(X[:, 0]) > 2).astype(int)
    density = MixedDensity(2, random_state=0)
    machine = LargeScaleSVC(features=features, density=density, n_components=100, random_state=0)
    assert machine.fit(frame, y).score(frame, y) > 0.85
    assert "category" in repr(machine.columns_)
    coded = MixedDensity(2, categories=[1, 3], random_state=0)
    pieces = Chunks([(X[:150], X[:150, 0] > 2), (X[150:], X[150:, 0] > 2)])
    ridge = LargeScaleRidge(features=features, density=coded, n_components=100, random_state=0)
    assert np.isfinite(ridge.fit(pieces).predict(X)).all()


def test_beliefs_of_another_kind_are_refused():
    features = FourierFeatures(10, random_state=0).fit(
        fitted(mixed_table()).condition(mixed_table())
    )
    plain = MixedDensity(2, random_state=0).fit(mixed_table()[:, [0, 2]])
    with pytest.raises(ValueError, match="columns of categories"):
        features.transform(plain.condition(mixed_table()[:, [0, 2]]))
