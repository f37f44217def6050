"""Processes that run cells."""

import multiprocessing
import os
import signal

import pytest

from lab.experiments.running.cells import Cell, Context
from lab.experiments.running.workers import _serve, run_in_processes


def blocked_signals(cell, context):
    """Return no scores, and which signals this process does not receive."""
    return (), {"blocked": [int(each) for each in signal.pthread_sigmask(signal.SIG_BLOCK, [])]}


@pytest.mark.skipif(os.name == "nt", reason="signals are masked on POSIX systems only")
def test_only_the_parent_hears_an_interrupt():
    """Ctrl-C goes to all processes of a terminal; the others printed where they were."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    cells = [Cell("toy", "a", "good")]
    (result,) = run_in_processes(blocked_signals, cells, Context(size="smoke"), jobs=1)
    assert not result.error
    assert signal.SIGINT in result.facts["blocked"]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_a_worker_whose_parent_has_gone_ends_without_a_word():
    """Also before it has said that it is ready."""
    far_end, near_end = multiprocessing.Pipe()
    far_end.close()
    _serve(near_end, blocked_signals, Context(size="smoke"), os.getpid())
