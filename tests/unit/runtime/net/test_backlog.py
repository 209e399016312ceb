"""Tests that requests which do not fit into a turn wait in order, fairly and within bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

from gantrymq.base.memory_account import MemoryAccount
from gantrymq.base.stalls import STALL_SECONDS, StallWatch
from gantrymq.base.tasks import SlicedTask
from gantrymq.remoting.events import Reason
from gantrymq.remoting.limits import REQUEST_OVERHEAD_BYTES
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net.backlog import (
    FIELD_BYTES,
    LONG_BYTES,
    SEVERAL,
    SLICE_SECONDS,
    STRIDE,
    Backlog,
)
from gantrymq.wire.command import Command

BYTES_MAX = 64 << 20
SHORT = Command(105)
LONG = Command(103, body=bytes(LONG_BYTES))
ALL_TOPICS = 206
HEART_BEAT = Command(34)
# This one is carried out in pieces.
CUT = Command(103, body=bytes(LONG_BYTES))
# Serving this one takes the time of a whole slice.
SLOW = Command(100)


@dataclass(eq=False)
class Sender:
    peer: str = "10.0.0.1:1"
    is_closing: bool = False
    is_held_up: bool = False
    closings: list[Reason] = field(default_factory=list)

    def hold_up(self) -> None:
        self.is_held_up = True

    def go_on(self) -> None:
        self.is_held_up = False

    def close(self, reason: Reason, detail: str) -> None:
        assert detail
        self.is_closing = True
        self.closings.append(reason)


class Bench:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.served: list[tuple[Sender, Command]] = []
        self.closes_at: int | None = None
        self.stalls = StallWatch(self.clock.monotonic)
        self.stalling_code = 0
        self.pieces = self.ended = self.closed = 0
        self.piece_seconds = 0.0
        self.memory = MemoryAccount(4 * BYTES_MAX, share_min=0)
        self.backlog: Backlog[Sender] = Backlog(
            self._serve,
            self.clock.monotonic,
            frozenset({ALL_TOPICS}),
            memory=self.memory,
            stalls=self.stalls,
        )

    def _serve(self, sender: Sender, command: Command, now: float) -> SlicedTask[None] | None:
        self.served.append((sender, command))
        if command is CUT:
            return self._pieces()
        if command.code == SLOW.code:
            self.clock.advance(SLICE_SECONDS)
        if command.code == self.stalling_code:
            self.clock.advance(STALL_SECONDS)
        if len(self.served) == self.closes_at:
            sender.is_closing = True
        return None

    def _pieces(self) -> SlicedTask[None]:
        """The further work of CUT: three more slices, the last of which ends it."""
        try:
            for _ in range(2):
                self.pieces += 1
                self.clock.advance(self.piece_seconds)
                yield
            self.ended += 1
        finally:
            self.closed += 1

    def take(self, sender: Sender, *commands: Command) -> None:
        self.backlog.take(sender, commands, self.clock.monotonic())


def test_short_requests_are_served_at_once() -> None:
    bench, sender = Bench(), Sender()

    bench.take(sender, *[SHORT] * 1000)

    assert len(bench.served) == 1000
    assert bench.backlog.is_empty
    assert not sender.is_held_up


def test_requests_beyond_the_time_share_of_a_read_wait_for_later_turns() -> None:
    bench, sender = Bench(), Sender()
    bench.take(sender, *[SLOW] * (3 * STRIDE))
    assert len(bench.served) == STRIDE
    assert sender.is_held_up

    bench.backlog.serve_next()
    assert len(bench.served) == 2 * STRIDE
    assert sender.is_held_up
    bench.backlog.serve_next()

    assert len(bench.served) == 3 * STRIDE
    assert bench.backlog.is_empty
    assert not sender.is_held_up


def test_connections_take_turns() -> None:
    bench, first, second = Bench(), Sender(), Sender()
    for sender in (first, second):
        bench.take(sender, *[SLOW] * (3 * STRIDE))
    bench.served.clear()

    while not bench.backlog.is_empty:
        bench.backlog.serve_next()

    assert [sender for sender, _ in bench.served[::STRIDE]] == [first, second, first, second]


def test_a_short_request_of_another_connection_does_not_wait() -> None:
    bench, flooding, other = Bench(), Sender(), Sender()
    bench.take(flooding, *[SLOW] * 100)

    bench.take(other, SHORT)

    assert bench.served[-1] == (other, SHORT)


def test_long_request_waits_and_later_requests_wait_behind_it() -> None:
    bench, sender = Bench(), Sender()
    bench.take(sender, SHORT, LONG, SHORT)
    bench.take(sender, SLOW)
    assert bench.served == [(sender, SHORT)]

    bench.backlog.serve_next()
    assert bench.served[1:] == [(sender, LONG)]
    bench.backlog.serve_next()

    assert bench.served[2:] == [(sender, SHORT), (sender, SLOW)]


def test_one_long_request_is_served_per_turn() -> None:
    bench, sender = Bench(), Sender()
    bench.take(sender, LONG, LONG)

    bench.backlog.serve_next()

    assert bench.served == [(sender, LONG)]


def test_request_over_all_topics_counts_as_long() -> None:
    bench, askers = Bench(), [Sender(), Sender()]
    for asker in askers:
        bench.take(asker, Command(206))
    assert bench.served == []
    bench.backlog.serve_next()
    assert len(bench.served) == 1


def test_a_connection_that_closes_is_served_no_more() -> None:
    bench, sender = Bench(), Sender()
    bench.closes_at = STRIDE
    bench.take(sender, *[SHORT] * (STRIDE + 1))

    assert len(bench.served) == STRIDE
    assert bench.backlog.is_empty


def test_waiting_requests_of_a_closing_connection_are_dropped() -> None:
    bench, gone, closing = Bench(), Sender(), Sender()
    bench.take(gone, LONG, SHORT)
    bench.take(closing, LONG, SHORT)
    bench.backlog.drop(gone)
    closing.is_closing = True

    bench.backlog.serve_next()

    assert bench.served == []
    assert bench.backlog.is_empty
    assert bench.backlog.weight == 0


def test_waiting_requests_are_accounted_until_they_are_served() -> None:
    bench, sender = Bench(), Sender()
    bench.take(sender, LONG, Command(105, ext={"topic": "T"}))
    assert bench.backlog.weight == 2 * REQUEST_OVERHEAD_BYTES + LONG_BYTES + FIELD_BYTES

    bench.backlog.serve_next()
    assert bench.backlog.weight == REQUEST_OVERHEAD_BYTES + FIELD_BYTES
    bench.backlog.serve_next()

    assert bench.backlog.weight == 0


def test_connection_with_most_waiting_bytes_is_closed_beyond_the_bound() -> None:
    bench, modest, greedy = Bench(), Sender(), Sender()
    bench.take(modest, LONG)
    flood = [LONG, *[SHORT] * (BYTES_MAX // 2 // REQUEST_OVERHEAD_BYTES)]
    bench.take(greedy, *flood)
    assert not greedy.is_closing

    bench.take(Sender(), *flood[:-50])

    assert greedy.closings == [Reason.MEMORY_BUDGET]
    assert not modest.is_closing
    assert bench.backlog.weight <= BYTES_MAX
    bench.backlog.serve_next()
    assert bench.served == [(modest, LONG)]


def test_stall_of_a_request_is_counted_by_name_and_logged_with_its_peer() -> None:
    bench, sender = Bench(), Sender()
    told: list[tuple[str, str]] = []
    bench.stalls.report = lambda work, peer, seconds: told.append((work, peer))
    bench.stalling_code = HEART_BEAT.code

    bench.take(sender, HEART_BEAT)

    assert dict(bench.stalls.counts) == {"HEART_BEAT": 1}
    assert told == [("HEART_BEAT", sender.peer)]


def test_a_stall_of_a_long_request_that_waited_is_counted_alone() -> None:
    bench, sender = Bench(), Sender()
    bench.stalling_code = ALL_TOPICS
    bench.take(sender, SHORT, Command(ALL_TOPICS), SHORT)
    assert not bench.stalls.counts

    bench.backlog.serve_next()

    assert dict(bench.stalls.counts) == {"GET_ALL_TOPIC_LIST_FROM_NAMESERVER": 1}


def test_requests_that_share_a_stall_are_all_named_and_have_one_label() -> None:
    bench, sender = Bench(), Sender()
    told: list[str] = []
    bench.stalls.report = lambda work, peer, seconds: told.append(work)
    bench.stalling_code = HEART_BEAT.code

    bench.take(sender, SHORT, HEART_BEAT, Command(99_999))

    assert dict(bench.stalls.counts) == {SEVERAL: 1}
    assert told == ["GET_ROUTEINFO_BY_TOPIC,HEART_BEAT,unknown request"]


def test_others_are_served_between_the_pieces_of_a_long_request() -> None:
    bench, sender, other = Bench(), Sender(), Sender()
    bench.take(sender, CUT, SHORT)
    bench.take(other, LONG)

    bench.backlog.serve_next()
    bench.backlog.serve_next()
    assert bench.served == [(sender, CUT), (other, LONG)]
    while not bench.backlog.is_empty:
        bench.backlog.serve_next()

    assert (bench.pieces, bench.ended) == (2, 1)
    assert bench.served[2:] == [(sender, SHORT)], "what follows it waits for its end"
    assert not sender.is_held_up
    assert bench.backlog.weight == 0


def test_request_in_progress_ends_with_its_connection() -> None:
    for closes_itself in (False, True):
        bench, sender = Bench(), Sender()
        bench.take(sender, CUT)
        bench.backlog.serve_next()
        bench.backlog.serve_next()
        assert bench.backlog.weight > 0

        if closes_itself:
            sender.is_closing = True
            bench.backlog.serve_next()
        else:
            bench.backlog.drop(sender)

        assert (bench.ended, bench.closed) == (0, 1)
        assert bench.backlog.is_empty
        assert bench.backlog.weight == 0


def test_a_piece_that_stalls_is_counted_by_the_name_of_its_request() -> None:
    bench, sender = Bench(), Sender()
    bench.piece_seconds = STALL_SECONDS
    bench.take(sender, CUT)

    while not bench.backlog.is_empty:
        bench.backlog.serve_next()

    assert dict(bench.stalls.counts) == {"REGISTER_BROKER": 2}
