"""BLAS on one thread while it should be, and on as many as before after that."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier, Event, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from absentia import (
    ExpectedPolynomial,
    FourierFeatures,
    GammaRBF,
    GaussianDensity,
    GenRBF,
    MaskKernel,
    MixtureDensity,
)
from absentia.engine.threads import (
    map_on_threads,
    n_threads,
    one_blas_thread,
    run_single_threaded_blas,
)
from absentia.tables.streams import MemoryStream
from engine.forked_child import status_of_child

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def set_blas_threads(number):
    # In a thread that ends, because only the first thread that sets a limit may do so again.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(threadpool_limits, limits=number, user_api="blas").result()


@pytest.fixture(autouse=True)
def _three_threads():
    """Start from a number that nothing else would set, also where OMP_NUM_THREADS is one."""
    before = max(blas_threads())
    set_blas_threads(3)
    if blas_threads() != {3}:
        pytest.skip("this BLAS has no threads to limit")
    yield
    set_blas_threads(before)


def test_blocks_of_two_threads_may_overlap():
    first, second = one_blas_thread(), one_blas_thread()
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        one.submit(first.__enter__).result()
        other.submit(second.__enter__).result()
        one.submit(first.__exit__, None, None, None).result()
        assert blas_threads() == {1}  # the second still needs it
        other.submit(second.__exit__, None, None, None).result()
        assert blas_threads() == {3}
    with one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == {3}


def test_an_error_gives_the_threads_back():
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas_threads() == {3}


def test_fits_in_several_threads_give_the_threads_back():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[::3, 1] = np.nan
    together = Barrier(4)
    densities = [GaussianDensity(), MixtureDensity(2, n_init=1, random_state=0)] * 2

    def fit(density):
        together.wait()
        for _ in range(5):
            density.fit(X)
        return density.prior_.means

    with ThreadPoolExecutor(4) as pool:
        means = list(pool.map(fit, densities))
    assert np.array_equal(means[0], means[2])
    assert np.array_equal(means[1], means[3])
    assert blas_threads() == {3}


def test_tasks_see_one_thread():
    seen = []
    run_single_threaded_blas(lambda _: seen.append(blas_threads()), [(0,), (1,)], threads=2)
    assert seen == [{1}, {1}]
    assert blas_threads() == {3}


@pytest.fixture
def _free(monkeypatch):
    monkeypatch.setattr("absentia.engine.threads._cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.usefixtures("_free")
def test_none_means_as_many_threads_as_blas_would_use(monkeypatch):
    assert n_threads(None) == 3  # what the fixture above has given to BLAS
    with one_blas_thread():  # our own limit says nothing about what the user wants
        assert n_threads(None) == 3
    set_blas_threads(2)
    assert n_threads(None) == 2
    set_blas_threads(3)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert n_threads(None) == 2
    monkeypatch.setattr("absentia.engine.threads._cores", lambda: 1)
    assert n_threads(None) == 1


def test_threads_inside_threads_are_one():
    assert (
        list(map_on_threads(lambda _: (n_threads(None), n_threads(2)), range(3), 2)) == [(1, 1)] * 3
    )
    assert n_threads(2) == 2


def test_results_come_in_order_and_a_stream_is_never_held_whole():
    taken, given = [], []

    def stream():
        for number in range(40):
            given.append(number)
            assert len(given) - len(taken) <= 6
            yield number

    taken.extend(map_on_threads(lambda number: 2 * number, stream(), 2))
    assert taken == list(range(0, 80, 2))


def test_an_error_on_a_thread_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(map_on_threads(lambda number: 1 / number, [1, 0], 2))


@pytest.mark.parametrize("n_jobs", ["two", 0, True, 1.0, 10**400, np.inf])
def test_n_jobs_that_is_no_number_of_threads_is_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None or an integer other than 0"):
        n_threads(n_jobs)


@pytest.mark.usefixtures("_free")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_every_compiled_stage_asks_for_the_same_number_of_threads(monkeypatch, n_jobs):
    """Kernels, EM, features and streams in memory: one meaning of n_jobs for all of them."""
    started = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, threads, **kwargs):
            started.append(threads)
            super().__init__(threads, **kwargs)

    monkeypatch.setattr("absentia.engine.threads.ThreadPoolExecutor", Pool)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    density = GaussianDensity(max_iter=1, tol=1e9, n_jobs=n_jobs)
    beliefs = density.fit(X).condition(X[:1200])
    work = {
        "MixtureDensity": MixtureDensity(2, n_init=1, max_iter=1, tol=1e9, n_jobs=n_jobs).fit,
        "FourierFeatures": FourierFeatures(64, density=density, n_jobs=n_jobs).fit(X).transform,
    }
    for name, function in work.items():
        started.clear()
        function(X)
        assert set(started) == {n_threads(n_jobs)}, name
    for kernel in (GenRBF(), ExpectedPolynomial(), MaskKernel(), GammaRBF()):
        started.clear()
        kernel(beliefs, n_jobs=n_jobs)
        assert set(started) <= {n_threads(n_jobs)}, kernel
        assert started or isinstance(kernel, MaskKernel), kernel  # which has one tile here
    started.clear()
    MemoryStream(X, n_jobs=n_jobs).map_sum(lambda chunk: np.nansum(chunk.X))
    assert started == [n_threads(n_jobs)]


def _stay_inside_a_block(stack):
    """Enter a block in a thread that stays there until the stack is closed."""
    inside, enough = Event(), Event()

    def stay():
        with one_blas_thread():
            inside.set()
            enough.wait()

    thread = Thread(target=stay)
    thread.start()
    inside.wait()
    stack.callback(thread.join)
    stack.callback(enough.set)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_blocks_of_other_threads_end_with_a_fork():
    """No thread of the child leaves them: it had BLAS on one thread for ever."""

    def as_before():
        found = [blas_threads()]
        with one_blas_thread():
            found.append(blas_threads())
        return [*found, blas_threads()] == [{3}, {1}, {3}]

    with ExitStack() as stack:
        _stay_inside_a_block(stack)
        assert status_of_child(as_before) == 0
        assert blas_threads() == {1}
    assert blas_threads() == {3}


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_block_of_the_forking_thread_goes_on_in_the_child():
    with ExitStack() as stack:
        _stay_inside_a_block(stack)
        block = one_blas_thread()
        block.__enter__()

        def leaves():
            found = blas_threads()
            block.__exit__(None, None, None)
            return found == {1} and blas_threads() == {3}

        assert status_of_child(leaves) == 0
        block.__exit__(None, None, None)
        assert blas_threads() == {1}
    assert blas_threads() == {3}
