"""Fuzzes a broker with requests of every kind, in any order.

Each request is answered once or held in bounds, a refused one is not stored, stored messages can be
read, and the next start finds files that it can read.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator

from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.fakes.hostile import Hostile, HostileClients, is_send
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire import frames
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

REQUESTS_A_BROKER = 3_000
CHANNELS = 4
# Response codes of stored sends; the last three wait for a disk or a slave.
STORED = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
    }
)
PUSHED = frozenset({RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2})
LONGER_THAN_ANY_HOLD = 400.0
# Far more than so few requests can leave, and far less than all of them would leave together.
HELD_MAX = 1_000


class Siege:
    """One broker, and the clients that send damaged requests."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.clients = HostileClients(rng)
        self.settings = BrokerSettings(auto_create_topic_enable=True)
        self.broker = OpenedBroker(self.settings)
        self.channels = [FakeChannel() for _ in range(CHANNELS)]
        self.open: dict[Request, Hostile] = {}
        self.refused: set[bytes] = set()
        self.slowest: Counter[int] = Counter()
        for topic in "TU":
            add_topic(self.broker, topic)

    def step(self) -> None:
        rng, broker = self.rng, self.broker
        kind = rng.random()
        if kind < 0.02:
            broker.pass_time(rng.choice((0.001, 0.5, 3.0, 3.0, 30.0)))
        elif kind < 0.025:
            self._reconnect()
        elif kind < 0.03:
            broker.disk_is_stuck = not broker.disk_is_stuck
        elif kind < 0.05:
            self._answer_questions()
        elif kind < 0.06:
            for topic in "TU":
                add_topic(broker, topic)
        else:
            self._send()
        self._settled()

    def _send(self) -> None:
        hostile = self.clients.request()
        if _forbids_everything(hostile):
            return
        began = time.perf_counter_ns()
        try:
            request = self.broker.send(
                RequestCode(hostile.code),
                body=hostile.body,
                ext=hostile.ext,
                is_oneway=hostile.is_oneway,
                channel=self.rng.choice(self.channels),
                version=hostile.version,
                language=hostile.language,
            )
        except BaseException as error:
            error.add_note(f"{hostile}"[:3000])
            raise
        took = time.perf_counter_ns() - began
        self.slowest[hostile.code] = max(self.slowest[hostile.code], took)
        self.open[request] = hostile

    def _settled(self) -> None:
        """Checks the answered requests; every other request must be held by a service."""
        broker = self.broker
        for request in [each for each in self.open if not broker.is_held(each)]:
            self._answered(self.open.pop(request), broker.answer(request))
        state, services = broker.state, broker.services
        held = len(services.pull_request_hold) + len(services.pops.waiting)
        assert len(self.open) <= held + len(state.task_runner) <= HELD_MAX

    def _answered(self, hostile: Hostile, answer: Command | None) -> None:
        assert not (hostile.is_oneway and answer), hostile
        if answer is None:
            assert hostile.is_oneway or hostile.code == RequestCode.END_TRANSACTION, hostile
            return
        (read,) = frames.FrameReader().decode(frames.encode(answer))
        assert read.code == answer.code
        if is_send(hostile.code) and answer.code in STORED:
            self.clients.stored(answer.ext or {})
        # A reply is stored whether or not it could be pushed.
        if is_send(hostile.code) and answer.code not in STORED and hostile.code not in PUSHED:
            self.refused.add(hostile.mark)

    def _reconnect(self) -> None:
        at = self.rng.randrange(CHANNELS)
        self.broker.close(self.channels[at])
        for asked in self.channels[at].asked:
            self.broker.client_answers(asked, None)
        for request in [each for each in self.open if each.channel is self.channels[at]]:
            self.open.pop(request)
        self.channels[at] = FakeChannel()

    def _answer_questions(self) -> None:
        """Answer the broker's requests with any response, or not at all."""
        for channel in self.channels:
            for asked in channel.asked:
                nonsense = Command(self.rng.choice((0, 1, -5)), body=self.rng.randbytes(5))
                self.broker.client_answers(asked, self.rng.choice((None, nonsense)))
            channel.asked.clear()

    def end(self) -> None:
        """Every request gets an answer, and the next start continues with the files."""
        broker = self.broker
        broker.disk_is_stuck = False
        for _ in range(3):
            broker.pass_time(LONGER_THAN_ANY_HOLD)
            self._answer_questions()
        self._settled()
        assert not self.open
        self._assert_no_state_is_left()
        kept = self._bodies()
        assert not [mark for mark in self.refused if any(mark in body for body in kept)]
        broker.opened.close()
        disk = broker.opened.disk
        assert isinstance(disk, MemoryDisk)
        again = OpenedBroker(self.settings, disk=_next_process(disk), files=broker.saved)
        again.pass_time(1.0)
        assert dict(again.state.topics.all) == dict(broker.state.topics.all)
        assert dict(again.state.groups.all) == dict(broker.state.groups.all)
        assert len(again.state.offsets) == len(broker.state.offsets)

    def _assert_no_state_is_left(self) -> None:
        """Assert that all state of requests and connections is gone."""
        broker, state = self.broker, self.broker.state
        services = broker.services
        for channel in self.channels:
            broker.close(channel)
        assert (len(state.task_runner), len(state.clients)) == (0, 0)
        assert len(services.pull_request_hold) == 0
        assert len(services.pops.waiting) == 0
        assert state.admission.waiting == 0
        assert not state.clients.consumers
        assert not state.clients.producers
        assert not state.conflicts.lasting
        assert not state.open_halves._claimed
        assert state.topics.unsaved <= state.topics.all.keys()

    def _bodies(self) -> list[bytes]:
        """The bodies of all readable messages, queue by queue, without a gap."""
        opened = self.broker.opened
        places = [
            (topic, queue_id)
            for topic in opened.store.queues.topics()
            for queue_id in opened.store.queues.queue_ids(topic)
        ]
        return [record.body for place in places for record in opened.records(*place)]


def _next_process(disk: MemoryDisk) -> MemoryDisk:
    disk.end_process()
    return MemoryDisk(disk.storage)


def _forbids_everything(hostile: Hostile) -> bool:
    """Whether an administrator's request forbids everything, so that the round ends."""
    forbids = (b"Permission", b"rejectTransaction", b"startAccept")
    return hostile.code == RequestCode.UPDATE_BROKER_CONFIG and any(
        word in hostile.body for word in forbids
    )


def test_any_requests_in_any_order(rounds: Iterator[random.Random]) -> None:
    requests, slowest = 0, Counter[int]()
    for rng in rounds:
        siege = Siege(rng)
        for _ in range(REQUESTS_A_BROKER):
            siege.step()
        siege.end()
        requests += REQUESTS_A_BROKER
        slowest |= siege.slowest
    shown = ", ".join(f"{code} {took / 1e6:.1f} ms" for code, took in slowest.most_common(8))
    sys.stdout.write(f"\n{requests} requests; slowest: {shown}\n")
