"""Gram matrices from many threads, from forked and spawned workers, and within their memory."""

import json
import multiprocessing
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed

from absentia import GenRBF
from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition
from absentia.engine.threads import n_threads


def _beliefs(n=120, d=5):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(d, d))
    X = rng.normal(size=(n, d))
    X[rng.random(X.shape) < 0.3] = np.nan
    return condition(Prior(np.ones(1), np.zeros((1, d)), (root @ root.T + np.eye(d))[None]), X)[0]


def _checksum(n_jobs=None):
    return float(GenRBF(0.3)(_beliefs(), n_jobs=n_jobs).sum())


def test_many_threads_at_once():
    P = _beliefs()
    expected = GenRBF(0.3)(P)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: GenRBF(0.3)(P, n_jobs=2), range(8)))
    assert all(np.array_equal(K, expected) for K in results)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_joblib_worker_uses_one_thread_and_gets_the_same(backend):
    P = _beliefs()
    workers = Parallel(n_jobs=2, backend=backend)
    assert workers(delayed(n_threads)(None) for _ in range(2)) == [1, 1]
    for K in workers(delayed(GenRBF(0.3))(P) for _ in range(2)):
        assert np.array_equal(K, GenRBF(0.3)(P))


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system cannot fork")
def test_a_forked_worker_gets_the_same():
    expected = _checksum(n_jobs=2)
    with warnings.catch_warnings():
        # Python warns that a process with threads is forked: that is what is tried here.
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply(_checksum) == expected


_MEMORY = """
import json, resource, sys
import numpy as np
from absentia import GenRBF
from absentia.beliefs.conditioning import condition
from absentia.beliefs import Prior

def peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

rng = np.random.default_rng(0)
d, n = 20, 3000
X = rng.normal(size=(n, d))
X[: n // 2][rng.random((n // 2, d)) < 0.3] = np.nan
P = condition(Prior(np.ones(1), np.zeros((1, d)), np.eye(d)[None] + 0.2), X)[0]
GenRBF(0.1)(P[:200])
GenRBF(0.1)(P[-200:])
before = peak()
K = GenRBF(0.1)(P)
print(json.dumps({"over": peak() - before - K.nbytes}))
"""


def test_peak_memory_is_the_matrix_and_a_bounded_workspace():
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["over"] < 64 * 2**20
