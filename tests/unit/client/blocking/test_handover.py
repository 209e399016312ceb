"""Tests how threads pass items to the event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gantrymq.client.blocking import handover, loop_thread
from gantrymq.client.blocking.handover import Handover
from gantrymq.client.core.errors import StateError
from gantrymq.fakes.loop_threads import held


class Basin:
    """Holds so many; `empty` makes room for as many again."""

    def __init__(self, holds: float = float("inf")) -> None:
        self.taken: list[int] = []
        self._holds = self._room = holds
        self._emptied = asyncio.Event()

    @property
    def is_full(self) -> bool:
        return self._room <= 0

    def receive(self, item: int) -> None:
        self._room -= 1
        self.taken.append(item)

    async def room(self) -> None:
        self._emptied.clear()
        await self._emptied.wait()

    def empty(self) -> None:
        self._room = self._holds
        self._emptied.set()


def test_the_loop_is_woken_once_for_all_that_waits() -> None:
    thread = loop_thread.join()
    try:
        basin = Basin()
        taken = basin.taken
        rounds: list[int] = []
        handed = Handover[int](basin)
        with held(thread):
            for number in range(100):
                handed.add(thread, number)
                thread.post(lambda: rounds.append(len(taken)))
        assert thread.call(lambda: list(taken)) == list(range(100))
        assert set(rounds) == {100}
    finally:
        thread.leave()


def test_a_thread_that_adds_too_fast_waits() -> None:
    thread = loop_thread.join()
    try:
        basin = Basin()
        taken = basin.taken
        handed = Handover[int](basin)
        for number in range(3 * handover.WAITING_MAX):
            handed.add(thread, number)
        assert len(taken) >= handover.WAITING_MAX
        assert thread.call(lambda: list(taken)) == list(range(3 * handover.WAITING_MAX))
    finally:
        thread.leave()


def test_a_thread_without_room_waits_in_order() -> None:
    thread = loop_thread.join()
    try:
        basin = Basin(holds=3)
        handed = Handover[int](basin)
        with held(thread):  # else it may find no room for the fourth, and the fifth would wait
            for number in range(5):
                handed.add(thread, number)
        assert thread.call(lambda: list(basin.taken)) == [0, 1, 2]
        last = threading.Thread(target=handed.add, args=(thread, 5), daemon=True)
        last.start()
        last.join(0.05)
        assert last.is_alive()
        thread.call(basin.empty)
        last.join(10.0)
        thread.run(handed.received())
        assert basin.taken == [0, 1, 2, 3, 4, 5]
    finally:
        thread.leave()


def test_items_without_room_are_received_when_the_loop_ends() -> None:
    thread = loop_thread.join()
    basin = Basin(holds=1)
    handed = Handover[int](basin)
    for number in range(2):
        handed.add(thread, number)
    thread.leave()
    assert basin.taken == [0, 1]


def test_a_call_after_the_end_of_the_thread_is_refused() -> None:
    """Neither a caller nor the end of the program waits for it."""
    thread = loop_thread.join()
    thread.leave()
    with pytest.raises(StateError, match="The client's thread has ended"):
        thread.call(lambda: None)
