"""Turns, in virtual time."""

from __future__ import annotations

import pytest

from gantrymq.client.core.flow.flow_steps import FOREVER, Signal, Wait
from gantrymq.client.core.flow.semaphore import Semaphore
from gantrymq.fakes.flows import VirtualDriver, fails
from gantrymq.remoting.failures import ConnectError


class Scene:
    """Flows that take turns until they are let go."""

    def __init__(self, places: int) -> None:
        self.driver = VirtualDriver(fails(ConnectError("nobody")))
        self.turns = Semaphore(places)
        self.working: list[int] = []
        self._ends: dict[int, Signal] = {}

    async def work(self, number: int) -> None:
        await self.turns.take()
        try:
            self.working.append(number)
            end = self._ends[number] = Signal()
            await Wait(FOREVER, end)
        finally:
            self.working.remove(number)
            self.turns.give_back()

    def end(self, number: int) -> None:
        self._ends[number].fire()
        self.driver.settle()


def test_slots_go_to_the_flow_that_waits_longest() -> None:
    scene = Scene(2)
    for number in range(5):
        scene.driver.start(scene.work(number), "work")
    scene.driver.settle()
    assert scene.working == [0, 1]
    scene.end(1)
    assert scene.working == [0, 2]
    scene.driver.start(scene.work(5), "work")
    for number in (0, 2, 3, 4):
        scene.end(number)
    assert scene.working == [5]
    scene.end(5)
    for number in (6, 7, 8):
        scene.driver.start(scene.work(number), "work")
    scene.driver.settle()
    assert scene.working == [6, 7]


@pytest.mark.parametrize("is_given", [False, True])
def test_a_cancelled_waiter_gives_up_its_slot(*, is_given: bool) -> None:
    scene = Scene(1)
    flows = [scene.driver.start(scene.work(number), "work") for number in range(3)]
    scene.driver.settle()
    if is_given:
        scene.turns.give_back()  # it belongs to the second one, which does not know yet
        flows[1].cancel()
        scene.driver.settle()
        assert scene.working == [0, 2]
    else:
        flows[1].cancel()
        scene.end(0)
        assert scene.working == [2]
