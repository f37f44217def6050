"""Relevance of the columns of the user's table."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from absentia import SVC, GaussianProcessRegressor, KernelRidge, MixedDensity


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)


def test_a_share_of_the_squared_distance_per_column():
    X, y = table()
    machine = KernelRidge(gamma=[1.0, 0.5, 0.25]).fit(X, y)
    differences = X[:, None] - X
    shares = np.array([1.0, 0.5, 0.25]) * (differences**2).mean(axis=(0, 1))
    # The density's variances are shrunk a little.
    np.testing.assert_allclose(machine.relevance_, shares / shares.sum(), rtol=0.05)


def test_columns_that_no_row_has_count_for_nothing():
    X, y = table()
    X = np.column_stack([np.full(60, np.nan), X])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = KernelRidge(gamma="loo-ard").fit(X, y)
        given = KernelRidge(gamma=[9.0, 1.0, 0.5, 0.2]).fit(X, y)
    assert machine.relevance_.shape == (4,)
    assert machine.relevance_[0] == 0
    np.testing.assert_array_equal(given.kernel_.gamma, [1.0, 0.5, 0.2])


@pytest.mark.parametrize("density", ["gaussian", MixedDensity(n_components=1)])
def test_words_are_one_column_of_the_user(density):
    X, y = table()
    frame = pd.DataFrame({"a": X[:, 0], "word": ["x", "y", "z"] * 20, "same": 1.0, "b": X[:, 1]})
    machine = KernelRidge(gamma="loo-ard", width_prior=1.0, density=density).fit(frame, y)
    a, word, same, b = machine.relevance_
    assert a > b > 0
    assert word > 0
    assert same == 0  # a column of one value is left out
    assert machine.relevance_.sum() == pytest.approx(1)


def test_one_width_has_no_relevance():
    X, y = table()
    machine = KernelRidge().fit(X, y)
    assert not hasattr(machine, "relevance_")
    with pytest.raises(AttributeError, match="gamma='loo-ard'"):
        _ = machine.relevance_
    assert not hasattr(SVC(), "relevance_")


def test_the_picture_has_a_dot_per_column():
    pytest.importorskip("matplotlib")
    X, y = table()
    frame = pd.DataFrame(X, columns=["age", "$dose$", "weight"])
    machine = GaussianProcessRegressor(gamma="ard").fit(frame, y)
    axes = machine.plot_relevance().axes[0]
    assert axes.get_yticklabels()[0].get_text() == "age"
    few = machine.plot_relevance(max_columns=2).axes[0]
    assert few.get_title() == "the 2 most relevant of 3 columns"
