"""What every map from rows to features must do. A new map supplies three methods.

    class TestMyFeatures(FeatureContract):
        def make(self, **params):
            return MyFeatures(**{"n_components": 8, "random_state": 0, **params})

        def many(self):
            return self.make(n_components=4000)  # enough for its inner products to be close

        def oracle(self, P):
            ...  # the Gram matrix that the inner products approach

``largest_error`` is how far an inner product of ``many()`` may be from the oracle, and why.
"""

from __future__ import annotations

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from absentia import Chunks, GaussianDensity, load, save

SAME_FORMULA = 1e-10


def table(n=40, d=4, rate=0.3, seed=0):
    """Return correlated rows; the first has no value at all, the second misses none."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d))) + 1.0
    X[rng.random(X.shape) < rate] = np.nan
    X[0], X[1] = np.nan, np.arange(d)
    return X


class FeatureContract:
    largest_error = 1e-6
    has_density = True

    def make(self, **params):
        raise TypeError("a feature map's contract needs make()")

    def many(self):
        raise TypeError("a feature map's contract needs many()")

    def oracle(self, P):
        raise TypeError("a feature map's contract needs oracle()")

    # The formula ---------------------------------------------------------------------------

    def test_inner_products_approach_the_kernel(self):
        X = table()
        Z = self.many().fit_transform(X)
        expected = self.oracle(GaussianDensity().fit(X).condition(X))
        np.testing.assert_allclose(Z @ Z.T, expected, rtol=0, atol=self.largest_error)

    # Rows of every kind --------------------------------------------------------------------

    def test_one_row_at_a_time_equals_all_at_once(self):
        features, X = self.make().fit(table()), table(12, seed=1)
        alone = np.concatenate([features.transform(row[None]) for row in X])
        close(features.transform(X), alone)

    def test_wholly_missing_rows_and_new_patterns_are_fine(self):
        X = table()
        X[:, 2] = np.nan_to_num(X[:, 2])
        new = np.array([[np.nan] * 4, [1.0, np.nan, np.nan, 2.0]])
        assert np.isfinite(self.make().fit(X).transform(new)).all()

    def test_beliefs_stand_in_for_rows(self):
        X, new = table(), table(6, seed=2)
        density = GaussianDensity().fit(X)
        P, Q = density.condition(X), density.condition(new)
        features = self.make().fit(X)
        np.testing.assert_array_equal(features.transform(Q), features.transform(new))
        close(self.make().fit(P).transform(Q), features.transform(new))

    def test_chunks_come_back_as_chunks(self):
        X = table()
        features = self.make().fit(X)
        Z = features.transform(Chunks([X[:7], X[7:]]))
        assert isinstance(Z, Chunks)
        close(Z.concatenate(), features.transform(X))

    def test_frames_are_checked_by_name_and_names_come_out(self):
        frame = pd.DataFrame(table(), columns=list("abcd"))
        features = self.make().set_output(transform="pandas").fit(frame)
        assert list(features.feature_names_in_) == list("abcd")
        Z = features.transform(frame)
        prefix = type(features).__name__.lower()
        assert list(Z.columns) == [f"{prefix}{j}" for j in range(Z.shape[1])]
        np.testing.assert_array_equal(Z, self.make().fit_transform(table()))
        with pytest.raises(ValueError, match="feature names"):
            features.transform(frame[list("abdc")])

    def test_a_column_without_values_is_left_out(self):
        if not self.has_density:
            pytest.skip("looks at the mask alone, of which such a column is a part")
        X = table()
        X[:, 2] = np.nan
        with pytest.warns(UserWarning, match="missing in every training row"):
            features = self.make().fit(X)
        without = self.make().fit(X[:, [0, 1, 3]])
        close(features.transform(X), without.transform(X[:, [0, 1, 3]]))

    # Bad input, and nothing halfway --------------------------------------------------------

    def test_a_failed_fit_leaves_the_map_as_it_was(self):
        X = table()
        features = self.make().fit(X)
        before, state = features.transform(X), set(vars(features))
        broken = X.copy()
        broken[3, 1] = np.inf
        with pytest.raises(ValueError, match="Infinity"):
            features.fit(broken)
        with pytest.raises(ValueError, match="Infinity"):
            features.transform(broken)
        np.testing.assert_array_equal(features.transform(X), before)
        assert set(vars(features)) == state
        with pytest.raises(ValueError, match="5 features"):
            features.transform(np.ones((2, 5)))

    @pytest.mark.parametrize("n_components", [0, 2.0, True, "many"])
    def test_a_wrong_number_of_features_is_refused_and_nothing_is_fitted(self, n_components):
        features = self.make(n_components=n_components)
        with pytest.raises(ValueError, match="n_components must be an integer from 1"):
            features.fit(table())
        with pytest.raises(NotFittedError):
            features.transform(table())

    # Keeping -------------------------------------------------------------------------------

    def test_a_seed_repeats_the_features_and_another_does_not(self):
        X = table()
        Z = self.make().fit_transform(X)
        np.testing.assert_array_equal(clone(self.make()).fit_transform(X), Z)
        assert np.abs(self.make(random_state=1).fit_transform(X) - Z).max() > 0

    def test_what_is_kept_transforms_the_same(self, tmp_path):
        X = table()
        features = self.make().fit(X)
        buffer = io.BytesIO()
        joblib.dump(features, buffer)
        buffer.seek(0)
        save(features, tmp_path / "features.absentia")
        copies = [
            pickle.loads(pickle.dumps(features)),
            joblib.load(buffer),
            load(tmp_path / "features.absentia"),
        ]
        for again in copies:
            np.testing.assert_array_equal(again.transform(X), features.transform(X))


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=SAME_FORMULA, atol=SAME_FORMULA)
