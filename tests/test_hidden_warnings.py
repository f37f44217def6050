"""Warnings that are hidden in one thread: the filters of others stay, and nothing stays hidden."""

from __future__ import annotations

import os
import pickle
import warnings
from threading import Event, Thread

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.ensemble import RandomForestClassifier

from absentia.engine.threads import map_on_threads
from absentia.hidden_warnings import _hidden, hidden_warnings


@pytest.fixture(autouse=True)
def as_errors():
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("error")
        yield


def warn(text="Some (text) and more", category=UserWarning):
    warnings.warn(text, category, stacklevel=2)


def test_inside_each_other():
    with hidden_warnings("Some (text)"):
        with hidden_warnings("some (TEXT)"), hidden_warnings("Other", UserWarning):
            warn()
            warn("Other text")
        warn()
        with pytest.raises(UserWarning, match="Other"):
            warn("Other text")
    with pytest.raises(UserWarning, match="Some"):
        warn()


def test_of_a_category():
    with hidden_warnings(category=FutureWarning):
        warn(category=FutureWarning)
        with pytest.raises(UserWarning):
            warn()


def test_whatever_filters_came_later_and_no_more_than_one_for_each():
    for _ in range(5):
        for action in ("error", "always"):
            warnings.simplefilter(action)
            with hidden_warnings("Some"), warnings.catch_warnings(record=True) as caught:
                warn()
            assert not caught
    ours = _hidden("Some", Warning)
    assert sum(found[1] is ours for found in warnings.filters) == 1


def test_an_exception_ends_it():
    with pytest.raises(KeyboardInterrupt), hidden_warnings():
        raise KeyboardInterrupt
    with pytest.raises(UserWarning):
        warn()


def test_other_threads_see_theirs():
    seen = []

    def other():
        try:
            warn()
        except UserWarning as warning:
            seen.append(warning)

    with hidden_warnings():
        thread = Thread(target=other)
        thread.start()
        thread.join()
    assert len(seen) == 1


def test_our_own_threads_hide_what_the_caller_hides():
    def work(_):
        warn()
        return True

    with hidden_warnings("Some"):
        assert all(map_on_threads(work, range(4), 2))
    with pytest.raises(UserWarning):
        list(map_on_threads(work, range(4), 2))


def test_worker_processes_are_sent_what_is_hidden_at_that_moment():
    with hidden_warnings("Some", UserWarning):
        inside = pickle.loads(pickle.dumps(warnings.filters))
    outside = pickle.loads(pickle.dumps(warnings.filters))
    for filters, hides in ((inside, True), (outside, False)):
        assert (
            any(expression and expression.match("Some text") for _, expression, *_ in filters)
            is hides
        )


@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_forests_read_the_filters(backend):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    with hidden_warnings(), parallel_config(backend=backend, n_jobs=2):
        forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    with parallel_config(backend=backend, n_jobs=2):
        forest.predict(X)


def test_nothing_is_said_to_scikit_learn_beside_other_threads():
    """It makes filters for all threads of it, and two threads put back each other's."""
    stop, patterns = Event(), []
    with hidden_warnings("Some"):
        patterns.append(_hidden("Some", Warning).pattern)
        thread = Thread(target=stop.wait)
        thread.start()
        patterns.append(_hidden("Some", Warning).pattern)
        stop.set()
        thread.join()
    assert patterns[1] == "(?!)"
    assert patterns[0] in ("Some", "(?!)")  # where the tests have threads of their own


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_forked_process_sees_warnings_that_another_thread_hides():
    entered, done = os.pipe(), os.pipe()

    def hiding():
        with hidden_warnings():
            os.write(entered[1], b"x")
            os.read(done[0], 1)

    thread = Thread(target=hiding)
    thread.start()
    os.read(entered[0], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if not child:
        try:
            with hidden_warnings():
                warn()
            try:
                warn()
            except UserWarning:
                os._exit(0)
        finally:
            os._exit(1)
    os.write(done[1], b"x")
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
