"""Rounds between real channels and a real core, on a disk and transports of the tests."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gantrymq.base.stalls import STALL_SECONDS
from gantrymq.broker.core.engine.tasks import Task, wait
from gantrymq.broker.core.messages import ANSWERED_LATER, AskBroker, CloseChannel, Effect, Request
from gantrymq.broker.turn_loop import REPLICATION, TurnLoop
from gantrymq.fakes.brokers.broker import START_MS, STORE_SETTINGS, FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.ha.lease.lease_deadline import LeaseDeadline
from gantrymq.remoting.events import Ended
from gantrymq.remoting.limits import SessionLimits
from gantrymq.remoting.session import Session
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net.channel import Channel, ChannelFeed
from gantrymq.runtime.net.deadline_timer import DeadlineTimer
from gantrymq.runtime.net.outbox import Outbox
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.settings import FlushDiskType
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader, encode
from gantrymq.wire.version import OWN_VERSION

SEND = RequestCode.SEND_MESSAGE_V2


class Transport:
    """What a channel wrote, write by write."""

    def __init__(self) -> None:
        self.is_closed = False
        self.writes: list[bytes] = []

    def get_extra_info(self, name: str) -> object:
        assert name == "peername"
        return "127.0.0.1", 5000

    def set_write_buffer_limits(self, high: int) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None: ...


class SteppingClock:
    """Each look at it takes its time, if told so."""

    def __init__(self) -> None:
        self.clock = VirtualClock(wall_ms=START_MS)
        self.step = 0.0

    def monotonic(self) -> float:
        self.clock.advance(self.step)
        return self.clock.monotonic()

    def wall_ms(self) -> int:
        return self.clock.wall_ms()


class Loop:
    """The owner of channels, whose sends go into rounds; nothing is left to the event loop."""

    def __init__(self, flush: FlushDiskType = FlushDiskType.ASYNC_FLUSH) -> None:
        self.clock = SteppingClock()
        self.monotonic = self.clock.monotonic
        self.disk = FaultyDisk()
        self.opened_broker = OpenedBroker(
            store_settings=replace(STORE_SETTINGS, flush_disk_type=flush), disk=self.disk
        )
        add_topic(self.opened_broker)
        self.opened_broker.ask(SEND, message(), b"first")  # which the kernel leaves to handlers
        self.outbox = Outbox()
        self.deadline_timer = DeadlineTimer(tuple, self.monotonic)
        self.effects: list[Effect] = []
        self.failures: list[Exception] = []
        self.has_more = False
        self.is_general = False
        self.turns = 0
        self.lease_deadline = LeaseDeadline()
        self.rounds = TurnLoop(
            self.opened_broker.broker,
            self.clock,
            self.outbox,
            self.carry_out,
            self.fail,
            self.after_turn,
            self.lease_deadline,
        )
        self.feed: ChannelFeed = self.rounds.feed
        self.breaks_effects = False

    def after_turn(self, now: float) -> bool:
        self.turns += 1
        has_more, self.has_more = self.has_more, False
        return has_more

    def carry_out(self, effect: Effect, now: float) -> None:
        assert not self.breaks_effects, "an effect that is broken"
        self.effects.append(effect)

    def fail(self, error: Exception) -> None:
        self.failures.append(error)
        self.rounds.end()

    def opened(self, channel: Channel, now: float) -> None: ...

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        assert self.is_general, "the kernel takes them all"
        for command in commands:
            outcome = self.opened_broker.broker.handle(Request(command, channel), now, START_MS)
            assert outcome is ANSWERED_LATER

    def held(self, channel: Channel, more_bytes: int) -> None: ...

    def closed(self, channel: Channel, ending: Ended, now: float) -> None: ...

    def channel(self) -> tuple[Channel, Transport]:
        channel = Channel(self, 1, "internal", Session(SessionLimits(), 0.0), None)
        transport = Transport()
        channel.connection_made(transport)
        return channel, transport


def frame(opaque: int, queue_id: int = 0) -> bytes:
    header = message(queue_id=queue_id).encode()
    made = Command(SEND, ext=header, body=b"hello", opaque=opaque, version=OWN_VERSION)
    return encode(made)


def answered(transport: Transport) -> list[int]:
    """The opaques of the answers, which all say that it is stored."""
    answers = FrameReader().decode(b"".join(transport.writes))
    assert {answer.code for answer in answers} <= {ResponseCode.SUCCESS}
    return [answer.opaque for answer in answers]


async def test_sends_are_answered_in_the_round_of_their_turn_with_one_write_each() -> None:
    loop = Loop()
    (first, to_first), (second, to_second) = loop.channel(), loop.channel()
    first.data_received(frame(1) + frame(2))
    second.data_received(frame(3))
    first.data_received(frame(4))
    assert to_first.writes == to_second.writes == []
    loop.rounds.turn()
    assert (answered(to_first), answered(to_second)) == ([1, 2, 4], [3])
    assert (len(to_first.writes), len(to_second.writes)) == (1, 1)
    assert not loop.outbox._is_scheduled, "nothing is left for another round"


async def test_a_read_that_brings_no_send_leaves_no_old_time_to_the_next() -> None:
    loop = Loop()
    channel, _ = loop.channel()
    assert loop.rounds.feed(channel, frame(1)[:20], 0, loop.clock.monotonic()) == 0
    loop.clock.clock.advance(0.5)
    channel.data_received(frame(2))
    loop.rounds.turn()
    stored = loop.opened_broker.opened.records("T", 0)[-1]
    assert stored.store_timestamp_ms == START_MS + 500


async def test_with_sync_flush_nothing_leaves_before_the_disk_has_it() -> None:
    loop = Loop(FlushDiskType.SYNC_FLUSH)
    channel, transport = loop.channel()
    channel.data_received(frame(1))
    loop.rounds.turn()
    loop.rounds.turn()
    assert transport.writes == []
    loop.opened_broker.opened.background.complete_all()
    loop.rounds.turn()
    assert answered(transport) == [1]


async def test_work_after_a_turn_may_request_another_turn() -> None:
    loop = Loop()
    loop.rounds.turn()
    loop.turns, loop.has_more = 0, True
    loop.rounds.turn()
    assert loop.turns == 1
    await asyncio.sleep(0)
    assert loop.turns == 2
    await asyncio.sleep(0)
    assert loop.turns == 2


async def test_core_that_failed_answers_no_requests() -> None:
    loop = Loop(FlushDiskType.SYNC_FLUSH)
    channel, transport = loop.channel()
    channel.data_received(frame(1))
    loop.rounds.turn()
    loop.disk.fail("sync", times=100)
    loop.opened_broker.opened.background.complete_all()
    loop.rounds.turn()
    loop.rounds.turn()
    assert [type(failure) for failure in loop.failures] == [SyncFailedError]
    assert transport.writes == []


async def test_failed_effect_does_not_stop_other_responses() -> None:
    loop = Loop()
    channel, transport = loop.channel()
    channel.data_received(frame(1))
    loop.opened_broker.state.effects.add(CloseChannel(FakeChannel(), "tested"))
    loop.breaks_effects = True
    with pytest.raises(AssertionError, match="an effect that is broken"):
        loop.rounds.turn()
    channel.notify(Command(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED))
    await asyncio.sleep(0)
    assert len(transport.writes) == 1, "the event loop writes what comes between turns"


# ---------------------------------------------------------------------- authority


async def test_without_authority_sends_are_cut_off_rather_than_answered() -> None:
    loop = Loop()
    (fed, to_fed), (asked, to_asked) = loop.channel(), loop.channel()
    fed.data_received(frame(1))
    loop.is_general = True
    asked.data_received(frame(2, queue_id=1))  # its queue is new: handlers take it
    loop.lease_deadline.until = loop.clock.monotonic()
    loop.rounds.turn()
    assert to_fed.writes == to_asked.writes == []
    assert to_fed.is_closed
    assert to_asked.is_closed


async def test_authority_is_judged_when_answers_leave() -> None:
    loop = Loop()
    channel, transport = loop.channel()
    channel.data_received(frame(1))
    loop.lease_deadline.until = loop.clock.monotonic() + 1.0
    loop.clock.step = 0.6
    loop.rounds.turn()
    assert transport.writes == []
    assert transport.is_closed


async def test_without_authority_everything_else_is_answered() -> None:
    loop = Loop()
    channel, transport = loop.channel()
    loop.is_general = True
    ext = {"topic": "T", "queueId": "0"}
    channel.data_received(encode(Command(RequestCode.GET_MAX_OFFSET, ext=ext, opaque=9)))
    loop.lease_deadline.until = 0.0
    loop.rounds.turn()
    loop.rounds.turn()
    assert answered(transport) == [9]
    assert not transport.is_closed


async def test_with_authority_all_is_as_ever() -> None:
    loop = Loop()
    channel, transport = loop.channel()
    channel.data_received(frame(1))
    loop.lease_deadline.until = loop.clock.monotonic() + 0.001
    loop.rounds.turn()
    assert answered(transport) == [1]


async def test_slave_passes_on_the_masters_response() -> None:
    loop = Loop()
    broker = loop.opened_broker.broker
    state = broker.state
    state.identity = replace(state.identity, broker_id=2, member=2)
    loop.rounds.turn()
    channel, transport = loop.channel()
    loop.is_general = True
    broker.master_is("127.0.0.1:20911", loop.monotonic(), START_MS)
    loop.lease_deadline.until = float("-inf")
    channel.data_received(frame(1))
    loop.rounds.turn()
    (asked,) = [effect for effect in loop.effects if isinstance(effect, AskBroker)]
    broker.broker_answered(asked.number, Command(0), loop.monotonic(), START_MS)
    loop.rounds.turn()
    assert answered(transport) == [1]


async def test_a_turn_that_holds_the_loop_is_counted_by_the_part_that_took_long() -> None:
    loop = Loop()
    stalls = loop.opened_broker.state.stalls
    stalls.clock = loop.clock.clock.monotonic

    def slow(now: float) -> bool:
        loop.clock.clock.advance(STALL_SECONDS)
        return False

    loop.rounds._after_turn = slow
    loop.rounds.turn()

    assert dict(stalls.counts) == {REPLICATION: 1}


async def test_stall_with_a_name_of_its_own_is_not_counted_for_its_turn_too() -> None:
    loop = Loop()
    stalls = loop.opened_broker.state.stalls
    stalls.clock = loop.clock.clock.monotonic

    def slow() -> Task[None]:
        yield from wait()
        loop.clock.clock.advance(2 * STALL_SECONDS)

    loop.opened_broker.state.task_runner.start(slow(), lambda _: None, lambda _: None)
    loop.rounds.turn()

    assert dict(stalls.counts) == {"work of the broker's own": 1}
