"""Values computed once, without a lock that a fork could leave behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass

import pytest

from absentia.engine.threads import computed_once


@dataclass(frozen=True)
class Squared:
    number: int

    @computed_once
    def square(self) -> int:
        """The square."""
        CALLS.append(self.number)
        return self.number**2

    @computed_once
    def slow(self) -> int:
        time.sleep(0.5)
        return self.number


CALLS: list[int] = []


def test_a_value_is_computed_once_and_kept_by_its_object():
    CALLS.clear()
    one, two = Squared(3), Squared(4)
    assert [one.square, one.square, two.square, one.square] == [9, 9, 16, 9]
    assert CALLS == [3, 4]
    assert Squared.square.__doc__ == "The square."


def test_two_threads_get_the_same_value():
    class Shared:
        @computed_once
        def value(self) -> object:
            barrier.wait(timeout=10)
            return object()

    barrier, shared, found = threading.Barrier(2), Shared(), []
    threads = [threading.Thread(target=lambda: found.append(shared.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert len(found) == 2
    assert found[0] is found[1] is shared.value


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_another_thread_computes_does_not_lock_the_child():
    thread = threading.Thread(target=lambda: Squared(1).slow)
    thread.start()
    time.sleep(0.1)  # the thread is inside the method: functools would hold its lock now
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that waits for ever ends with this signal
        os._exit(0 if Squared(2).slow == 2 else 1)
    _, status = os.waitpid(child, 0)
    thread.join()
    assert status == 0
