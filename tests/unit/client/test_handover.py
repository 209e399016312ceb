"""What threads hand over to the loop."""

from __future__ import annotations

import threading

import pytest

from gantrymq.client.blocking import handover, loop_thread
from gantrymq.client.blocking.handover import Handover
from gantrymq.client.core.errors import StateError


def test_the_loop_is_woken_once_for_all_that_waits() -> None:
    thread = loop_thread.join()
    try:
        taken: list[int] = []
        rounds: list[int] = []
        handed = Handover[int](taken.append)
        begun, may_go_on = threading.Event(), threading.Event()

        def hold() -> None:
            begun.set()
            may_go_on.wait(10.0)

        thread.post(hold)
        begun.wait(10.0)
        for number in range(100):
            handed.add(thread, number)
            thread.post(lambda: rounds.append(len(taken)))
        may_go_on.set()
        assert thread.call(lambda: list(taken)) == list(range(100))
        assert set(rounds) == {100}
    finally:
        thread.leave()


def test_who_is_too_fast_waits() -> None:
    thread = loop_thread.join()
    try:
        taken: list[int] = []
        handed = Handover[int](taken.append)
        for number in range(3 * handover.WAITING_MAX):
            handed.add(thread, number)
        assert len(taken) >= handover.WAITING_MAX
        assert thread.call(lambda: list(taken)) == list(range(3 * handover.WAITING_MAX))
    finally:
        thread.leave()


def test_a_thread_that_has_ended_is_told_of() -> None:
    """Nobody waits for it: neither a caller nor the end of the program."""
    thread = loop_thread.join()
    thread.leave()
    with pytest.raises(StateError, match="the client's thread has ended"):
        thread.call(lambda: None)
