"""One value read at the door: tables, beliefs and streams, opened once for each call."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

import absentia
from absentia import (
    SVC,
    SVCCV,
    Beliefs,
    Chunks,
    FourierFeatures,
    GaussianDensity,
    LargeScaleRidge,
    MaskFeatures,
    MixtureDensity,
    Patterns,
)
from absentia.tables import Table, open_memory, open_rows, set_fitted


def incomplete(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] > 0
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


@pytest.fixture
def counts(monkeypatch):
    """How often a user's table was read, and how often somebody searched rows for patterns."""
    counted = {"reads": 0, "searches": 0}
    read, search = absentia.tables.table.as_table, Patterns.of_mask.__func__

    def counting_read(*args, **kwargs):
        counted["reads"] += 1
        return read(*args, **kwargs)

    def counting_search(cls, mask):
        counted["searches"] += 1
        return search(cls, mask)

    for module in Path(absentia.__file__).parent.rglob("*.py"):
        if "import" in (text := module.read_text("utf-8")) and "as_table" in text:
            name = ".".join(module.relative_to(Path(absentia.__file__).parent.parent).parts)[:-3]
            if module.name != "reading.py" and module.name != "__init__.py":
                monkeypatch.setattr(f"{name}.as_table", counting_read, raising=False)
    monkeypatch.setattr(Patterns, "of_mask", classmethod(counting_search))
    return counted


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
@pytest.mark.parametrize(
    "estimator",
    [
        SVC(),
        SVC(density="mixture", shift="warn"),
        SVCCV(Cs=(1.0,), gammas=2, cv=2),
        GaussianDensity(),
        MixtureDensity(random_state=0),
        FourierFeatures(8, random_state=0),
        MaskFeatures(8, random_state=0),
        LargeScaleRidge(n_components=8, random_state=0),
        LargeScaleRidge(n_components=8, cache_size=0, random_state=0),
    ],
    ids=lambda estimator: repr(estimator)[:40],
)
def test_a_call_reads_once_and_searches_for_patterns_once(estimator, kind, counts):
    X, y = incomplete()
    X = kind(X)
    estimator.fit(X, y)
    of_fit = dict(counts)
    # What MaskFeatures learns has nothing to do with what is missing.
    assert of_fit == {"reads": 1, "searches": int(not isinstance(estimator, MaskFeatures))}
    counts.update(reads=0, searches=0)
    name = next(n for n in ("predict", "transform", "condition") if hasattr(estimator, n))
    getattr(estimator, name)(X)
    assert counts == {"reads": 1, "searches": 1}


def test_what_was_opened_comes_back_as_it_is():
    X, _ = incomplete()
    table = open_rows(X)
    assert isinstance(table, Table)
    assert open_rows(table) is table
    assert open_memory(table) is table
    assert Table.of(table) is table
    beliefs = GaussianDensity().fit(X).condition(X)
    assert open_rows(beliefs) is beliefs
    chunks = Chunks([X])
    assert open_rows(chunks) is chunks
    with pytest.raises(TypeError, match="All rows are needed at once, but Chunks"):
        SVC().fit(chunks, np.ones(len(X)))


def test_slices_know_what_the_whole_knows(counts):
    X, _ = incomplete()
    table = Table.of(X)
    rows = np.array([5, 3, 17, 3])
    some = table[10:30][np.array([4, 2])]
    for part, expected in ((table[rows], X[rows]), (some, X[[14, 12]])):
        np.testing.assert_array_equal(part.array, expected)
        np.testing.assert_array_equal(part.mask, np.isnan(expected))
        np.testing.assert_array_equal(Patterns.of(part).mask, np.isnan(expected))
    assert counts == {"reads": 1, "searches": 1}


@pytest.mark.parametrize("d", [3, 70, 130])
def test_patterns_of_some_columns_are_those_of_the_narrower_table(d):
    X, _ = incomplete(40, d)
    columns = np.array([0, d // 2, d - 1])
    narrower, expected = Patterns.of(X).of_columns(columns), Patterns.of(X[:, columns])
    for name in ("masks", "pattern_of_row", "counts"):
        np.testing.assert_array_equal(getattr(narrower, name), getattr(expected, name))


def test_a_table_stands_for_an_array():
    X, _ = incomplete()
    np.testing.assert_array_equal(np.asarray(Table.of(X)), X)
    assert not np.shares_memory(np.array(Table.of(X), copy=True), X)
    assert Table.of(X).shape == X.shape
    np.testing.assert_array_equal(Table.of(X).missing_rates(), np.isnan(X).mean(axis=0))


def test_columns_have_names_only_where_all_are_text():
    values = np.eye(2)
    assert Table.of(pd.DataFrame(values, columns=["a", "b"])).column_names == ["a", "b"]
    numbered = Table.of(pd.DataFrame(values, columns=[4, 5]))
    assert numbered.column_names is None
    assert numbered.labels == ["4", "5"]
    assert Table.of(values).labels == ["x0", "x1"]
    assert "feature_names_in_" not in numbered.column_attributes()


def test_names_are_missed_once_and_by_the_machine():
    X, y = incomplete()
    frame = pd.DataFrame(X, columns=list("abcd"))
    machine = SVC().fit(frame, y)
    assert list(machine.density_.feature_names_in_) == list("abcd")
    with pytest.warns(UserWarning, match="but SVC was fitted with feature names") as caught:
        machine.predict(X)
    assert len(caught) == 1


class ForeignDensity(BaseEstimator):
    """A density of somebody else: no more than fit and condition, on arrays."""

    def fit(self, X, y=None):
        assert type(X) is np.ndarray
        self.inner_ = GaussianDensity().fit(X)
        self.prior_ = self.inner_.prior_
        return self

    def condition(self, X):
        assert type(X) is np.ndarray
        return self.inner_.condition(X)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_densities_of_others_take_arrays(kind):
    X, y = incomplete()
    ours, theirs = SVC().fit(kind(X), y), SVC(density=ForeignDensity()).fit(kind(X), y)
    np.testing.assert_array_equal(
        ours.decision_function(kind(X)), theirs.decision_function(kind(X))
    )
    weighted = SVC(density=ForeignDensity()).fit(kind(X), y, np.ones(len(y)))
    np.testing.assert_array_equal(weighted.predict(kind(X)), theirs.predict(kind(X)))
    features = FourierFeatures(8, density=ForeignDensity(), random_state=0).fit(kind(X))
    assert features.transform(kind(X)).shape == (len(X), 8)


def test_a_frozen_density_meets_its_columns_by_name():
    X, y = incomplete()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frozen = FrozenEstimator(GaussianDensity().fit(frame))
    assert SVC(density=frozen).fit(frame, y).density_.estimator is frozen.estimator
    with pytest.raises(ValueError, match="feature names should match"):
        SVC(density=frozen).fit(frame[list("bacd")], y)


def test_beliefs_about_other_columns_are_refused_by_everyone():
    X, y = incomplete()
    narrow = Beliefs.from_moments(np.zeros((2, 3)), variances=1.0)
    wide = GaussianDensity().fit(X).condition(X)
    for estimator in (
        SVC().fit(wide, y),
        FourierFeatures(4).fit(wide),
        MaskFeatures(4).fit(wide),
        LargeScaleRidge(n_components=4).fit(wide, y),
    ):
        call = estimator.predict if hasattr(estimator, "predict") else estimator.transform
        with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
            call(narrow)
    with pytest.raises(TypeError, match="X holds beliefs"):
        GaussianDensity().fit(wide)


def test_fitted_attributes_replace_those_of_an_earlier_fit():
    class Estimator(BaseEstimator):
        def __init__(self, alpha=1):
            self.alpha = alpha

    estimator = Estimator(alpha=3)
    set_fitted(estimator, Table.of(pd.DataFrame({"a": [1.0]})), {"old_": 1, "_private": 2})
    assert list(estimator.feature_names_in_) == ["a"]
    set_fitted(estimator, Table.of([[1.0, 2.0]]), {"new_": 3})
    assert vars(estimator) == {"alpha": 3, "_private": 2, "n_features_in_": 2, "new_": 3}


def test_no_lock_of_a_class_is_held_while_a_value_is_computed():
    for path in Path(absentia.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            assert "cached_property" not in names, f"{path}: use computed_once"
            is_use = isinstance(node, ast.Attribute) and node.attr == "cached_property"
            assert not is_use, f"{path}: use computed_once"
