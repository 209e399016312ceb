"""A message in flight does what its table of transitions says, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.broker.core.pop import revival as module
from gantrymq.broker.core.pop.states import IN_FLIGHT_MESSAGE, InFlightState
from gantrymq.fakes.brokers.pops import PoppedBroker
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.unsynced import lose_all

PLACE: Final = ("G", "T", 0)
FLUSH_SECONDS: Final = 15.0  # the flush, and the next look at what it has reached
INVISIBLE_MS: Final = 60_000


class Case:
    """One popped message of a broker whose files and disk the test controls.

    While files are not written, a due message waits for its retry topic to be saved. While the disk
    is stuck, the log is not flushed.
    """

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.pops = PoppedBroker(disk=FaultyDisk(lose_all))
        self.pops.store("a" * 4000)
        self.patched = patched
        (self.popped,) = self.pops.popped(invisible_time=INVISIBLE_MS)
        self.in_flight = self.pops.state.in_flight
        found = self.in_flight.find(PLACE, 0, self.pops.broker.wall_ms)
        assert found is not None
        self.message = found
        self.revival = self.pops.services.pops.revival
        self.pops.broker.files_are_stuck = True
        self.pops.broker.disk_is_stuck = True

    def state(self) -> InFlightState:
        if not self.in_flight.is_out(self.message):
            return InFlightState.ENDED
        if any(self.message in copied for _, copied in self.revival._unsafe):
            return InFlightState.COPIED
        return InFlightState.DUE if self.message.is_due else InFlightState.INVISIBLE

    def acknowledge(self) -> None:
        self.pops.ack(self.popped)

    def change_time(self) -> None:
        self.pops.keep_out(self.popped, 60_000)

    def time_is_up(self) -> None:
        self.pops.broker.now += INVISIBLE_MS / 1000 + 1.5
        self.pops.broker.settle()

    def write_files(self) -> None:
        """What waits for its retry topic goes on."""
        broker = self.pops.broker
        broker.files_are_stuck = False
        for save in list(broker.unwritten):
            broker.write(save)
        broker.settle()

    def refuse_copies(self) -> None:
        settings = self.pops.state.store.settings
        self.pops.state.store.change(replace(settings, mapped_file_size_commit_log=1000))
        self.write_files()

    def find(self, *found: object) -> None:
        """The read of due messages gives this."""

        def reading(*_: object) -> Iterator[None]:
            yield from ()
            return list(found)  # type: ignore[return-value]  # the result of a read

        self.patched.setattr(module, "messages_of", reading)
        self.write_files()

    def fail_reads(self) -> None:
        def reading(*_: object) -> Iterator[None]:
            yield from ()
            raise DiskError(DiskFailure.BROKEN, "read", "commitlog")

        self.patched.setattr(module, "messages_of", reading)
        self.write_files()

    def fill_round(self) -> None:
        """The round that reads the message has room for none."""
        if self.state() is InFlightState.DUE:
            self.revival._found([self.message], [])

    def reset_offset(self) -> None:
        self.pops.services.pops.move(PLACE, 0)

    def delete_topic(self) -> None:
        self.pops.services.pops.remove(topic="T")

    def flush(self) -> None:
        self.pops.broker.disk_is_stuck = False
        self.pops.broker.pass_time(FLUSH_SECONDS)


EVENTS: Final[Mapping[str, Callable[[Case], None]]] = {
    "it is acknowledged": Case.acknowledge,
    "the consumer changes its time": Case.change_time,
    "its time is up": Case.time_is_up,
    "the copy is appended": Case.write_files,
    "the copy is refused": Case.refuse_copies,
    "the read fails": Case.fail_reads,
    "the round is full": Case.fill_round,
    "the log has lost it": lambda case: case.find(None),
    "the offset is reset": Case.reset_offset,
    "its topic is deleted": Case.delete_topic,
    "the log is flushed": Case.flush,
}

WAYS: Final[Mapping[InFlightState, Sequence[str]]] = {
    InFlightState.INVISIBLE: (),
    InFlightState.DUE: ("its time is up",),
    InFlightState.COPIED: ("its time is up", "the copy is appended"),
    InFlightState.ENDED: ("it is acknowledged",),
}


def test_every_event_of_the_table_is_tried() -> None:
    assert set(IN_FLIGHT_MESSAGE.events) == set(EVENTS)
    assert set(IN_FLIGHT_MESSAGE.states) == set(WAYS) == set(InFlightState)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", WAYS, ids=lambda state: state.name)
def test_message_does_what_the_table_says(
    state: InFlightState, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(monkeypatch)
    for step in WAYS[state]:
        EVENTS[step](case)
    assert case.state() is state
    EVENTS[event](case)
    table = IN_FLIGHT_MESSAGE
    assert case.state() is (table.next(state, event) if table.allows(state, event) else state)
