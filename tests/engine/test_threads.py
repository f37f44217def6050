"""BLAS on one thread while it should be, and on as many as before after that."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from absentia import GaussianDensity, MixtureDensity
from absentia.engine.threads import one_blas_thread, run_single_threaded_blas


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
