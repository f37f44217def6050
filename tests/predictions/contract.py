"""What every wrapper of a model promises; a new one inherits these tests.

A subclass gives ``wrapped()`` (a fitted wrapper around a frozen model), ``answer(wrapper, X)`` and
``own(wrapper, X)``, the wrapper's and the model's own answer.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from absentia import GaussianDensity, MixtureDensity, explain, sensitivity

DENSITIES = [
    GaussianDensity(),
    MixtureDensity(n_components=2, n_init=1, random_state=0),
]


def example(seed=0, n=120, d=5):
    """Return complete rows, and the same with holes in all but the first ten."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.integers(0, 2, size=(n, 1)) * 3
    holes = np.where(rng.random((n, d)) < 0.4, np.nan, X)
    holes[:10] = X[:10]
    holes[10] = np.nan
    return X, holes


class Contract:
    @pytest.fixture(params=DENSITIES, ids=lambda density: type(density).__name__)
    def wrapper(self, request):
        return self.wrapped(density=request.param)

    def wrapped(self, **params):
        raise TypeError("a contract needs a wrapper")

    def test_complete_rows_get_the_models_own_answer_to_the_last_bit(self, wrapper):
        X, holes = example()
        np.testing.assert_array_equal(self.answer(wrapper, X), self.own(wrapper, X))
        mixed = self.answer(wrapper, holes)[:10]
        np.testing.assert_array_equal(mixed, self.own(wrapper, X[:10]))

    def test_answers_do_not_depend_on_the_batch(self, wrapper):
        _, holes = example()
        whole = self.answer(wrapper, holes)
        alone = np.concatenate([self.answer(wrapper, row[None]) for row in holes[:30]])
        np.testing.assert_allclose(alone, whole[:30], rtol=1e-10, atol=1e-12)
        backwards = self.answer(wrapper, holes[::-1])[::-1]
        np.testing.assert_allclose(backwards, whole, rtol=1e-10, atol=1e-12)

    def test_answers_are_near_the_average_over_many_random_draws(self, wrapper):
        _, holes = example()
        n_draws = 4000
        draws = wrapper.density_.condition(holes).sample(n_draws, random_state=1)
        flat = self.own(wrapper, draws.reshape(-1, draws.shape[2]))
        answers = flat.reshape(n_draws, len(holes), -1)
        error = answers.std(axis=0) / np.sqrt(n_draws)
        # The wrapper has 1024 draws of its own: a component of small weight gets one more or one
        # less of them, and may be missing among the random ones, whose spread then is too small.
        z = (self.answer(wrapper, holes) - answers.mean(axis=0)) / np.maximum(error, 0.25 / 1024)
        assert np.abs(z).max() < 5

    def test_its_answers_are_explained_and_shifted(self, wrapper):
        _, holes = example()
        found = explain(wrapper, holes[8:12])
        np.testing.assert_array_equal(found.observed, ~np.isnan(holes[8:12]))
        answers = self.answer(wrapper, holes[8:12])
        np.testing.assert_allclose(found.prediction, answers, rtol=1e-10)
        np.testing.assert_allclose(found.base + found.values.sum(axis=1), answers, rtol=1e-10)
        if found.output == "prediction":  # of several targets
            with pytest.raises(ValueError, match=r"One target is needed here, but .* predicts 2"):
                sensitivity(wrapper, holes)
            return
        moved = sensitivity(wrapper, holes[8:12], deltas=[-1e9, 1.0], n_draws=8).predictions
        assert np.isfinite(moved).all()
        assert (moved[:, 0, :2] == moved[:, 1, :2]).all()  # nothing is missing

    def test_a_seed_repeats_the_answer(self):
        _, holes = example()
        one, two = self.wrapped(random_state=3), self.wrapped(random_state=3)
        np.testing.assert_array_equal(self.answer(one, holes), self.answer(two, holes))
        other = self.wrapped(random_state=4)
        assert np.abs(self.answer(one, holes) - self.answer(other, holes)).max() > 0

    def test_threads_and_small_chunks_change_nothing(self, wrapper, monkeypatch):
        _, holes = example()
        whole = self.answer(wrapper, holes)
        monkeypatch.setattr(
            "absentia.beliefs.draws.bounded_slices",
            lambda n, floats: [slice(i, min(i + 7, n)) for i in range(0, n, 7)],
        )
        chunked = self.answer(wrapper.set_params(n_jobs=2), holes)
        np.testing.assert_allclose(chunked, whole, rtol=1e-10, atol=1e-12)

    def test_a_failed_fit_leaves_the_wrapper_as_it_was(self, wrapper):
        _, holes = example()
        before = self.answer(wrapper, holes)
        with pytest.raises(ValueError, match="does not accept a complete row of the 3 columns"):
            wrapper.fit(holes[:, :3])
        np.testing.assert_array_equal(self.answer(wrapper, holes), before)

    def test_rows_of_other_columns_are_refused(self, wrapper):
        with pytest.raises(ValueError, match="features"):
            self.answer(wrapper, np.zeros((2, 3)))

    @pytest.mark.parametrize("n_draws", [1, 0, 2.5, True])
    def test_fewer_than_two_draws_are_refused(self, n_draws):
        with pytest.raises(ValueError, match="n_draws must be an integer from 2 to"):
            self.wrapped(n_draws=n_draws)

    def test_known_is_one_of_two_words(self):
        with pytest.raises(ValueError, match="known must be 'average' or 'model'"):
            self.wrapped(known="both")

    def test_a_column_without_any_value_is_refused_for_a_frozen_model(self, wrapper):
        _, holes = example()
        holes[:, 2] = np.nan
        with (
            pytest.warns(UserWarning, match="missing in every training row"),
            pytest.raises(ValueError, match="only 4 of them have a value"),
        ):
            clone(wrapper).fit(holes)

    def test_a_frozen_density_is_kept(self):
        X, holes = example()
        density = GaussianDensity().fit(X[:40])
        wrapper = self.wrapped(density=FrozenEstimator(density))
        assert wrapper.density_.estimator is density
        assert np.isfinite(self.answer(wrapper, holes)).all()
