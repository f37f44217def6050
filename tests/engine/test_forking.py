"""Processes that are forked while other threads compile, or hold BLAS to one thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numba
import pytest
from numba.core.compiler_lock import global_compiler_lock

from absentia.engine import threads
from engine.forked_child import status_of_child

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def compiles():
    return numba.njit(lambda x: x + 1)(1) == 2


def test_a_fork_waits_for_the_compiler_of_another_thread():
    held = threading.Event()

    def compile_for_long():
        with global_compiler_lock:
            held.set()
            time.sleep(0.5)

    thread = threading.Thread(target=compile_for_long)
    thread.start()
    held.wait()
    assert status_of_child(compiles) == 0
    thread.join()
    assert compiles()  # nor has the parent kept the lock


def test_a_thread_may_fork_while_it_compiles_itself():
    with global_compiler_lock:
        assert status_of_child(compiles) == 0


def test_a_compiler_without_that_lock_is_left_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba.core.compiler_lock", None)
    assert threads.compiler_lock() is None


def test_a_first_fit_of_another_thread_does_not_lock_the_child():
    """In a process of its own: here the loops may be compiled already."""
    program = """
import os, signal, threading, time
import numpy as np
from absentia import SVC
X = np.random.default_rng(0).normal(size=(600, 12))
y = (X[:, 0] > 0).astype(int)
X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
threading.Thread(target=lambda: SVC().fit(X, y), daemon=True).start()
children = []
for _ in range(5):
    time.sleep(0.06)
    children.append(os.fork())
    if children[-1] == 0:
        signal.alarm(120)
        SVC().fit(X, y)
        os._exit(0)
os._exit(any(os.waitpid(child, 0)[1] for child in children))
"""
    command = [sys.executable, "-W", "ignore", "-c", program]
    assert subprocess.run(command, check=False).returncode == 0
