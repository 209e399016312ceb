"""A timer message does what its table of transitions says, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.broker.core.schedule import timer_service as module
from gantrymq.broker.core.schedule.message_restore import Run, messages_of, run_of
from gantrymq.broker.core.schedule.timer_messages import TimedRun, timed_of
from gantrymq.broker.core.schedule.timer_states import TIMER_MESSAGE, TimerState
from gantrymq.broker.core.schedule.timers import TOPIC, delete_key
from gantrymq.fakes.brokers.broker import STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.timers import accept

# Any: what a read waits for, what it is sent, and what it gives.
Read: TypeAlias = Generator[Any, Any, Any]

DELAY_SECONDS: Final = 7200
ROLL_SECONDS: Final = 3000  # more than three quarters of an hour
TURNS: Final = 20


class Case:
    """One timer message of a broker whose reads wait until the test lets them end."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.takes = self.finds = self.is_damaged = False
        self.finding: Callable[..., Read] = messages_of
        self.broker = OpenedBroker(store_settings=replace(STORE_SETTINGS, file_reserved_time=1))
        self.service = self.broker.services.timer_service
        patched.setattr(module, "run_of", self.read_run)
        patched.setattr(module, "timed_of", self.timed_of)
        patched.setattr(module, "messages_of", self.read_messages)
        accept(self.broker, DELAY_SECONDS, bytes(4000), UNIQ_KEY="x")
        self.turn()

    def read_run(self, *arguments: Any) -> Read:
        while not self.takes:
            yield None
        return (yield from run_of(*arguments))

    def read_messages(self, *arguments: Any) -> Read:
        while not self.finds:
            yield None
        return (yield from self.finding(*arguments))

    def timed_of(self, run: Run) -> TimedRun:
        return TimedRun(run, []) if self.is_damaged else timed_of(run)

    def turn(self) -> None:
        """So many turns that nothing is left to do but reads that wait."""
        for _ in range(TURNS):
            self.broker.broker.turn(self.broker.now, self.broker.wall_ms)
            for effect in self.broker.broker.take_effects():
                self.broker._carry_out(effect)
            self.broker.opened.background.complete_all()

    def state(self) -> TimerState:
        timers, service = self.broker.state.timers, self.service
        queue = self.broker.state.store.queues.find(TOPIC, 0)
        assert queue is not None
        if timers.rolling[timers.rolled :]:
            return TimerState.ROLLING
        if service._second is not None:
            return TimerState.DELIVERING
        if len(timers.calendar):
            return TimerState.WAITING
        if queue.end > service._taken:
            return TimerState.STORED
        if self.broker.bodies("T"):
            return TimerState.DELIVERED
        is_recalled = service.counters["recalled"] == 1
        assert is_recalled or service.counters["lost"] == 1
        return TimerState.RECALLED if is_recalled else TimerState.LOST

    # ------------------------------------------------------------------ events

    def take(self) -> None:
        self.takes = True
        self.turn()
        self.takes = False

    def take_damaged(self) -> None:
        self.is_damaged = True
        self.take()

    def pass_second(self) -> None:
        self.broker.now += DELAY_SECONDS + 1
        self.turn()

    def pass_reserved_time(self) -> None:
        self.broker.now += ROLL_SECONDS
        self.turn()

    def find(self) -> None:
        self.finds = True
        self.turn()

    def recall(self) -> None:
        """A recall that was delivered earlier in the same second."""
        if self.service._second is not None:
            self.service._second.recalled.add(delete_key("T", "x"))
            self.find()

    def fail_reads(self) -> None:
        def failing(*_: Any) -> Read:
            yield from ()
            raise DiskError(DiskFailure.BROKEN, "read", "commitlog")

        self.end_reads(failing)

    def lose(self) -> None:
        def finding(*_: Any) -> Read:
            yield from ()
            return [None]

        self.end_reads(finding)

    def end_reads(self, reading: Callable[..., Read]) -> None:
        """The read that waits, and those that follow, end like this one."""
        self.finding = reading
        self.find()

    def refuse(self) -> None:
        settings = self.broker.state.store.settings
        self.broker.state.store.change(replace(settings, mapped_file_size_commit_log=1000))
        self.find()


EVENTS: Final[Mapping[str, Callable[[Case], None]]] = {
    "the service reads it": Case.take,
    "the service finds it damaged": Case.take_damaged,
    "its second passes": Case.pass_second,
    "the log will delete it soon": Case.pass_reserved_time,
    "its copy is stored": Case.find,
    "a recall names it": Case.recall,
    "the read fails": Case.fail_reads,
    "the log has lost it": Case.lose,
    "the store refuses it": Case.refuse,
}

WAYS: Final[Mapping[TimerState, Sequence[str]]] = {
    TimerState.STORED: (),
    TimerState.WAITING: ("the service reads it",),
    TimerState.ROLLING: ("the service reads it", "the log will delete it soon"),
    TimerState.DELIVERING: ("the service reads it", "its second passes"),
    TimerState.DELIVERED: ("the service reads it", "its second passes", "its copy is stored"),
    TimerState.RECALLED: ("the service reads it", "its second passes", "a recall names it"),
    TimerState.LOST: ("the service finds it damaged",),
}


def test_every_event_of_the_table_is_tried() -> None:
    assert set(TIMER_MESSAGE.events) == set(EVENTS)
    assert set(TIMER_MESSAGE.states) == set(WAYS) == set(TimerState)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", WAYS, ids=lambda state: state.name)
def test_timer_message_does_what_the_table_says(
    state: TimerState, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(monkeypatch)
    for step in WAYS[state]:
        EVENTS[step](case)
    assert case.state() is state
    EVENTS[event](case)
    table = TIMER_MESSAGE
    assert case.state() is (table.next(state, event) if table.allows(state, event) else state)
