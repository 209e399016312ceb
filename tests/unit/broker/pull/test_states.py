"""A held pull does what its table of transitions says, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import pytest

from gantrymq.base.errors import CorruptionError
from gantrymq.broker.core.pull import pull_request_hold
from gantrymq.broker.core.pull.pulls import Pull
from gantrymq.broker.core.pull.states import HELD_PULL, HeldPullState
from gantrymq.broker.core.state import State
from gantrymq.fakes.brokers.pulls import SUBSCRIBES, SUSPENDS, PulledBroker
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.pull_query import Pulled, PullStatus
from gantrymq.wire.bodies.groups import GroupConfig

FOUND: Final = Pulled(PullStatus.FOUND, 1, 0, 1, (b"",), 1, 1)
NOTHING: Final = Pulled(PullStatus.OFFSET_OVERFLOW_ONE, 0, 0, 0)
WAITS: Final = SUBSCRIBES | SUSPENDS


@dataclass
class Reads:
    """Stands for the store: the result of every read, which may have to wait for the disk."""

    result: Pulled | Exception = field(default_factory=lambda: NOTHING)
    waits: bool = False

    def reading(self, _state: State, _pull: Pull, _offset: int) -> ReadTask[Pulled]:
        while self.waits:
            yield None
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class Case:
    """One held pull of a broker whose reads the test controls."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.pulls = PulledBroker()
        self.hold = self.pulls.services.pull_request_hold
        self.reads = Reads()
        self.patched = patched
        patched.setattr("gantrymq.broker.core.pull.pulls.reading", self.reads.reading)
        self.request = self.pulls.send(sys_flag=WAITS)
        (self.held,) = self.hold._channels[self.pulls.broker.channel]

    def state(self) -> HeldPullState:
        held = self.held
        if held.is_over:
            self.reads.waits = False
            self.patched.setattr(pull_request_hold, "READS_A_TURN", 500)
            self.pulls.broker.settle()
            is_answered = self.pulls.broker.answer(self.request) is not None
            return HeldPullState.ANSWERED if is_answered else HeldPullState.RELEASED
        if held.is_reading:
            has_news = held.is_woken or held.reads_again
            return HeldPullState.READING_AND_WOKEN if has_news else HeldPullState.READING
        return HeldPullState.WOKEN if held.is_woken else HeldPullState.WAITING

    def turn(self) -> None:
        self.pulls.broker.broker.turn(self.pulls.broker.now, self.pulls.broker.wall_ms)

    def arrive(self) -> None:
        self.hold.arrived([("T", 0)])

    def time_is_up(self) -> None:
        """The scan for expired pulls wakes it; no read begins in this turn."""
        self.patched.setattr(pull_request_hold, "READS_A_TURN", 0)
        self.pulls.broker.now = 100.0
        self.pulls.state.now = 100.0
        self.hold.expire(100.0)

    def close(self) -> None:
        broker = self.pulls.broker
        broker.broker.closed(broker.channel, broker.now, broker.wall_ms)

    def read(self, result: Pulled | Exception) -> None:
        """Woken pulls are read with this result, and reads under way end with it."""
        if self.held.is_reading:
            # What wakes the pull during its read is then handled in a later turn.
            self.patched.setattr(pull_request_hold, "READS_A_TURN", 0)
        self.reads.result, self.reads.waits = result, False
        self.turn()

    def read_slowly(self) -> None:
        self.reads.waits = True
        self.hold.expire(self.pulls.broker.now)

    def refuse(self) -> None:
        self.pulls.state.groups.put(GroupConfig(group_name="G", consume_enable=False), 0)
        self.hold.expire(self.pulls.broker.now)

    def subscribe_otherwise(self) -> None:
        self.held.filter_key = "price > 3"
        self.hold.expire(self.pulls.broker.now)


EVENTS: Final[Mapping[str, Callable[[Case], None]]] = {
    "a message arrives": Case.arrive,
    "its time is up": Case.time_is_up,
    "the connection closes": Case.close,
    "the read has an answer": lambda case: case.read(FOUND),
    "the read finds nothing": lambda case: case.read(NOTHING),
    "the read fails": lambda case: case.read(CorruptionError("message 0 is damaged")),
    "the read needs the disk": Case.read_slowly,
    "a check refuses it": Case.refuse,
    "the subscription differs": Case.subscribe_otherwise,
}

WAYS: Final[Mapping[HeldPullState, tuple[str, ...]]] = {
    HeldPullState.WAITING: (),
    HeldPullState.WOKEN: ("a message arrives",),
    HeldPullState.READING: ("a message arrives", "the read needs the disk"),
    HeldPullState.READING_AND_WOKEN: (
        *("a message arrives", "the read needs the disk", "a message arrives"),
    ),
    HeldPullState.ANSWERED: ("a message arrives", "the read has an answer"),
    HeldPullState.RELEASED: ("the connection closes",),
}


def test_every_event_of_the_table_is_tried() -> None:
    assert set(HELD_PULL.events) == set(EVENTS)
    assert set(HELD_PULL.states) == set(WAYS) == set(HeldPullState)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", WAYS, ids=lambda state: state.name)
def test_pull_does_what_the_table_says(
    state: HeldPullState, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(monkeypatch)
    for step in WAYS[state]:
        EVENTS[step](case)
    assert case.state() is state
    EVENTS[event](case)
    expected = HELD_PULL.next(state, event) if HELD_PULL.allows(state, event) else state
    assert case.state() is expected
