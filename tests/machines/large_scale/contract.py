"""Contract of the large-scale machines. A new machine supplies two methods.

    class TestMyMachine(LargeScaleContract):
        targets = "classes"  # or "numbers"

        def make(self, **params):
            return MyMachine(**{**SMALL, **params})

        def oracle(self, Z, y, Z_new, weights):
            ...  # what `output` must be for new rows, by scikit-learn on explicit features

``output(model, X)`` is the numbers by which two machines are compared: the decision function where
there is one, else what is predicted. ``tolerance`` is how far they may be from the oracle's, and
``stream_tolerance`` how far from one fit to all rows after a stream of them; None where a stream is
an approximation.
"""

from __future__ import annotations

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from absentia import Chunks, FourierFeatures, GaussianDensity, Nystroem, load, save

SMALL = {"n_components": 24, "random_state": 0}
SAME_FORMULA = 1e-10
ACROSS_METHODS = 1e-6
MAPS = {"fourier": FourierFeatures, "nystroem": Nystroem}


def table(n=200, d=4, seed=0):
    """Return rows, a tenth of the values missing, and numbers that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def classes(y, k=2):
    """Return ``k`` classes of equal size by the order of the numbers."""
    edges = np.quantile(y, np.arange(1, k) / k)
    return np.array(list("abcdef"))[np.searchsorted(edges, y)]


class LargeScaleContract:
    targets = "classes"
    tolerance = ACROSS_METHODS
    stream_tolerance: float | None = None

    def make(self, **params):
        raise TypeError("a machine's contract needs make()")

    def oracle(self, Z, y, Z_new, weights):
        raise TypeError("a machine's contract needs oracle()")

    def output(self, model, X):
        if hasattr(model, "decision_function"):
            return model.decision_function(X)
        return model.predict(X)

    def data(self, k=2, **shape):
        X, y = table(**shape)
        return X, classes(y, k) if self.targets == "classes" else y

    def fitted(self, X=None, y=None, **params):
        if X is None:
            X, y = self.data()
        return self.make(**params).fit(X, y)

    # The formula ---------------------------------------------------------------------------

    @pytest.mark.parametrize("features", MAPS)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_output_is_that_of_scikit_learn_on_the_same_features(self, features, weighted):
        (X, y), new = self.data(), table(30, seed=1)[0]
        weights = np.random.default_rng(2).uniform(0.1, 2, len(X)) if weighted else None
        model = self.make(features=features, gamma=0.1).fit(X, y, sample_weight=weights)
        plain = MAPS[features](gamma=0.1, **SMALL).fit(X, sample_weight=weights)
        expected = self.oracle(plain.transform(X), y, plain.transform(new), weights)
        assert_allclose(self.output(model, new), expected, rtol=0, atol=self.tolerance)

    def test_more_than_two_classes(self):
        if self.targets != "classes":
            pytest.skip("predicts numbers")
        (X, y), new = self.data(k=3), table(30, seed=1)[0]
        model = self.fitted(X, y, gamma=0.1)
        plain = FourierFeatures(gamma=0.1, **SMALL).fit(X)
        expected = self.oracle(plain.transform(X), y, plain.transform(new), None)
        assert self.output(model, new).shape == (30, 3)
        assert_allclose(self.output(model, new), expected, rtol=0, atol=self.tolerance)
        assert_array_equal(model.classes_, ["a", "b", "c"])
        assert_array_equal(model.predict(new), model.classes_[expected.argmax(axis=1)])

    def test_features_that_are_not_kept_give_the_same(self):
        X, _ = self.data()
        kept, again = self.fitted(), self.fitted(cache_size=0)
        assert_allclose(self.output(again, X), self.output(kept, X), atol=self.tolerance)

    # Rows of every kind --------------------------------------------------------------------

    def test_one_row_at_a_time_equals_all_at_once(self):
        model, (X, _) = self.fitted(), table(8, seed=3)
        alone = np.concatenate([self.output(model, row[None]) for row in X])
        assert_allclose(self.output(model, X), alone, rtol=SAME_FORMULA, atol=SAME_FORMULA)

    def test_wholly_missing_rows_and_new_patterns_are_fine(self):
        X, y = self.data()
        X[:, 2], X[3] = np.nan_to_num(X[:, 2]), np.nan
        new = np.array([[np.nan] * 4, [1.0, np.nan, np.nan, 2.0]])
        assert np.isfinite(self.output(self.fitted(X, y), new)).all()

    def test_beliefs_stand_in_for_rows(self):
        X, y = self.data()
        beliefs = GaussianDensity().fit(X).condition(X)
        model = self.fitted(X, y)
        assert_array_equal(self.output(model, beliefs), self.output(model, X))
        on_beliefs = self.fitted(beliefs, y)
        assert_allclose(self.output(on_beliefs, beliefs), self.output(model, X), atol=1e-8)

    def test_chunks_teach_the_same_and_are_answered_in_chunks(self):
        X, y = self.data()
        model = self.fitted(X, y)
        in_chunks = self.fitted(Chunks([(X[:60], y[:60]), (X[60:], y[60:])]), None)
        answers = self.output(in_chunks, Chunks([X[:7], X[7:]]))
        assert isinstance(answers, Chunks)
        assert_allclose(answers.concatenate(), self.output(model, X), atol=self.tolerance)

    def test_frames_are_checked_by_name(self):
        X, y = self.data()
        frame = pd.DataFrame(X, columns=list("abcd"))
        model = self.fitted(frame, y)
        assert list(model.feature_names_in_) == list("abcd")
        assert_array_equal(self.output(model, frame), self.output(self.fitted(X, y), X))
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[list("badc")])

    # Streams -------------------------------------------------------------------------------

    def test_a_stream_is_close_to_one_fit(self):
        X, y = self.data(n=1000)
        density = FrozenEstimator(GaussianDensity().fit(X[:500]))
        machine = self.make(density=density, features="fourier", gamma=0.1)
        whole = clone(machine).fit(X[:500], y[:500])
        labels = {"classes": np.unique(y)} if self.targets == "classes" else {}
        for rows in (slice(0, 100), slice(100, 350), slice(350, 500)):
            machine.partial_fit(X[rows], y[rows], **labels)
            labels = {}
        if self.stream_tolerance is None:
            assert machine.score(X[500:], y[500:]) > whole.score(X[500:], y[500:]) - 0.05
        else:
            assert_allclose(machine.coef_, whole.coef_, atol=self.stream_tolerance)
            assert_allclose(machine.intercept_, whole.intercept_, atol=self.stream_tolerance)

    def test_a_stream_begins_with_its_first_call(self):
        X, y = self.data()
        fresh = self.make().partial_fit(X[:100], y[:100])
        after_fit = self.fitted(X, y).partial_fit(X[:100], y[:100])
        assert_array_equal(after_fit.coef_, fresh.coef_)

    # Bad input, and nothing halfway --------------------------------------------------------

    def test_a_failed_fit_leaves_the_machine_as_it_was(self):
        X, y = self.data()
        model = self.fitted(X, y)
        before, state = self.output(model, X), set(vars(model))
        broken = X.copy()
        broken[3, 1] = np.inf
        for learn in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match="Infinity"):
                learn(broken, y)
        with pytest.raises(ValueError, match="Infinity"):
            model.predict(broken)
        assert_array_equal(self.output(model, X), before)
        assert set(vars(model)) == state

    @pytest.mark.parametrize(
        ("params", "sentence"),
        [
            ({"features": "wavelets"}, "features must be"),
            ({"n_components": 0}, "n_components must be"),
            ({"cache_size": -1}, "cache_size must be"),
            ({"gamma": -1.0}, "gamma must be"),
            ({"density": "uniform"}, "density must be"),
            ({"features": FourierFeatures(), "gamma": 0.1}, "its own parameters"),
        ],
    )
    def test_bad_parameters_get_a_sentence_and_nothing_is_fitted(self, params, sentence):
        machine, (X, y) = self.make(**params), self.data()
        with pytest.raises(ValueError, match=sentence):
            machine.fit(X, y)
        with pytest.raises(NotFittedError):
            machine.predict(X)

    def test_targets_are_needed(self):
        with pytest.raises(ValueError, match="y to be passed"):
            self.make().fit(self.data()[0])

    # Keeping -------------------------------------------------------------------------------

    def test_what_is_kept_predicts_the_same_and_goes_on_learning(self, tmp_path):
        X, y = self.data()
        model = self.make().partial_fit(X[:150], y[:150])
        buffer = io.BytesIO()
        joblib.dump(model, buffer)
        buffer.seek(0)
        save(model, tmp_path / "model.absentia")
        copies = [
            pickle.loads(pickle.dumps(model)),
            joblib.load(buffer),
            load(tmp_path / "model.absentia"),
        ]
        expected = self.output(model, X)
        after = self.output(model.partial_fit(X[150:], y[150:]), X)
        for again in copies:
            assert_array_equal(self.output(again, X), expected)
            assert_array_equal(self.output(again.partial_fit(X[150:], y[150:]), X), after)
