"""Models saved and loaded in several threads: nothing that belongs to others changes."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from absentia import SVC, SVCCV, FourierFeatures, load, save


@pytest.fixture
def table():
    X = np.random.default_rng(0).normal(size=(30, 3))
    return np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)


def shows_warnings():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", append=True)
        warnings.warn("something else", stacklevel=1)
    return bool(caught)


def test_warnings_are_shown_after_threads_have_loaded(table, tmp_path):
    save(SVC().fit(table, np.arange(30) % 2), tmp_path / "model")
    with warnings.catch_warnings():
        warnings.resetwarnings()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: load(tmp_path / "model"), range(12)))
        assert shows_warnings()


def test_warnings_are_shown_after_a_load_beside_threads_that_catch_warnings(table, tmp_path):
    save(SVC().fit(table, np.arange(30) % 2), tmp_path / "model")
    stop = Event()

    def others():
        while not stop.is_set():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)

    with warnings.catch_warnings():
        warnings.resetwarnings()
        for _ in range(10):
            stop.clear()
            thread = Thread(target=others)
            thread.start()
            load(tmp_path / "model")
            stop.set()
            thread.join()
            assert shows_warnings()


def test_random_numbers_that_others_draw_meanwhile_are_not_drawn_again(table, tmp_path):
    model = FourierFeatures(8).fit(table)
    save(model, tmp_path / "model")
    np.random.seed(3)
    expected = np.random.rand(3)
    np.random.seed(3)
    drawn = []

    transform = FourierFeatures.transform

    def drawing(self, X):  # stands for another thread that draws while a model answers
        drawn.append(np.random.rand())
        return transform(self, X)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FourierFeatures, "transform", drawing)
        load(tmp_path / "model")
    assert len(drawn) > 0
    np.testing.assert_array_equal([*drawn, np.random.rand()][:3], expected[: len(drawn) + 1])


def test_warnings_are_shown_after_threads_have_searched(table):
    with warnings.catch_warnings():
        warnings.resetwarnings()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: SVCCV(cv=2).fit(table, np.arange(30) % 2), range(8)))
        assert shows_warnings()


def test_a_model_that_is_saved_is_not_touched(table, tmp_path):
    forest = RandomForestClassifier(5, verbose=1, random_state=None)
    forest.fit(np.nan_to_num(table), np.arange(30) % 2)
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda k: save(forest, tmp_path / f"model{k}"), range(9)))
    assert (forest.verbose, forest.random_state) == (1, None)
    assert {load(tmp_path / f"model{k}").verbose for k in range(9)} == {1}
