"""Small problems compile nothing, and get the numbers of the compiled road."""

import subprocess
import sys

import numpy as np
import pytest

from absentia import SVC, GenRBF, MixtureDensity
from absentia.engine.compiling import always_compiled, dispatched, is_small

FIRST_FIT = """
import numpy as np
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    from absentia import SVC
    for rate in (0.0, 0.2):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 5))
        y = X[:, 0] > 0
        X[rng.random(X.shape) < rate] = np.nan
        SVC().fit(X, y).predict(X[:50])
print(len(recorder.buffer))
"""


def _table(n=120, d=5, rate=0.25):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    y = np.where(X[:, 0] > X[:, 1] ** 2 / 4, "a", "b")
    X[rng.random(X.shape) < rate] = np.nan
    return X, y


def test_the_first_fit_of_a_small_table_compiles_nothing():
    done = subprocess.run([sys.executable, "-c", FIRST_FIT], capture_output=True, text=True)
    assert done.stdout == "0\n", done.stderr


@pytest.mark.parametrize("rate", [0.0, 0.25])
def test_both_roads_learn_the_same_machine(rate):
    X, y = _table(rate=rate)
    machine = SVC(C=2.0, tol=1e-10)
    small = machine.fit(X, y).decision_function(X[:40])
    with always_compiled():
        assert not is_small(0)
        compiled = machine.fit(X, y).decision_function(X[:40])
    assert is_small(0)
    # EM stops where its gain is small: a little of rounding becomes a little more on the way.
    np.testing.assert_allclose(small, compiled, atol=1e-8)


@pytest.mark.parametrize("columns", ["themselves", "other rows"])
def test_both_roads_give_the_kernel_of_a_mixture(columns):
    X, _ = _table()
    P = MixtureDensity(2, random_state=0).fit(X).condition(X)
    Q = None if columns == "themselves" else P[::3]
    small = GenRBF(0.1)(P, Q)
    with always_compiled():
        compiled = GenRBF(0.1)(P, Q)
    np.testing.assert_allclose(small, compiled, rtol=1e-10)
    if Q is None:
        np.testing.assert_array_equal(small, small.T)


def test_a_call_takes_the_twin_for_its_size():
    plain = dispatched(plain=lambda values: "numpy", work=len)(lambda values: "compiled")
    assert plain(range(10)) == "numpy"
    assert plain(range(2**20)) == "compiled"
    with always_compiled():
        assert plain(range(10)) == "compiled"
