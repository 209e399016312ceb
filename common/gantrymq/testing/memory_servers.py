"""Runs the cores of a broker and a name server on a disk in memory and a virtual clock.

Both answer without delay. `BrokerInMemory` registers with the name server whenever its core says so
and every 30 seconds; its store flushes together with other work, as memory loses nothing.
Invariant: after each call no work is left that is due at that moment.
"""

from __future__ import annotations

import itertools
import logging
import random
import zlib
from typing import Final, Protocol, cast, final

from gantrymq.base.errors import LocalError
from gantrymq.broker.core import messages as of_broker
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.context import Identity
from gantrymq.broker.core.figures.stats import Stats
from gantrymq.broker.core.monitoring.write_health_log import WriteHealthLog
from gantrymq.broker.core.names.system_topics import DEFAULT_TOPIC
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import State
from gantrymq.namesrv.core import messages as of_names
from gantrymq.namesrv.core.nameserver import NameServer
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.namesrv.core.state import Configuration
from gantrymq.store.engine import Store
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.timeline import Timeline
from gantrymq.wire.bodies.shared import Permission, TopicFilterType
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import RegisterBrokerRequest
from gantrymq.wire.headers.topic import CreateTopicRequest
from gantrymq.wire.version import OWN_VERSION

log: Final = logging.getLogger("gantrymq.testing")

# Small, because each broker of each test creates some of these files; the largest message fits.
STORE_SETTINGS: Final = StoreSettings(
    mapped_file_size_commit_log=5 << 20,
    mapped_file_size_consume_queue=200_000,
    max_hash_slot_num=500,
    max_index_num=2_000,
)
DISK_BYTES: Final = 1 << 28
MEMORY_BYTES: Final = 1 << 30
REGISTER_SECONDS: Final = 30.0

# These are polled every second, which changes nothing for clients. A test that advances by hours
# would pay a turn a second for it, so they are polled only when other work is due.
_HOUSEKEEPING: Final = (Stats, WriteHealthLog)
ROUNDS_MAX: Final = 100_000
_TELLING: Final = (of_broker.SaveFile, of_broker.AwaitRegistration, of_broker.AskNameServers)
_LEVELS: Final = {
    of_broker.Level.INFO: logging.INFO,
    of_broker.Level.WARNING: logging.WARNING,
    of_broker.Level.ERROR: logging.ERROR,
}


class Peer(Protocol):
    """A client's connection, as servers in memory see it."""

    @property
    def listener(self) -> str: ...

    @property
    def peer(self) -> str: ...

    @property
    def certificate_names(self) -> tuple[str, ...]: ...

    @property
    def is_closing(self) -> bool: ...

    def answered(self, request: Command, answer: Command | None) -> None:
        """Called with the response to a request of the client; None if there will be none."""

    def told(self, command: Command) -> None:
        """Called with a oneway request of the server."""

    def asked(self, number: int, command: Command, timeout_s: float) -> None:
        """Called with a request of the server; `client_answered` takes the response."""

    def cut(self, reason: str) -> None:
        """The server closes the connection."""


@final
class NameServerInMemory:
    """The real core of the name server. Its files are not kept."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.core = NameServer(Configuration(NameServerSettings()), {}, timeline.now)

    def handle(self, peer: Peer, command: Command) -> None:
        """Carry out a request; the peer has its answer before this returns."""
        timeline = self._timeline
        outcome = self.core.handle(
            of_names.Request(command, peer), timeline.now, timeline.clock.wall_ms()
        )
        if isinstance(outcome, of_names.Reply):
            peer.answered(command, outcome.command)
        elif isinstance(outcome, of_names.Silent):
            peer.answered(command, None)
        self._settle()

    def closed(self, peer: Peer) -> None:
        self.core.closed(peer, self._timeline.now)
        self._settle()

    def deadline(self) -> float:
        return self.core.deadline()

    def turn(self) -> None:
        """Do the work that is due."""
        self.core.expire(self._timeline.now)
        self._settle()

    def _settle(self) -> None:
        while effects := self.core.take_effects():
            for effect in effects:
                if isinstance(effect, of_names.SaveKv | of_names.SaveSettings):
                    is_kv = isinstance(effect, of_names.SaveKv)
                    file = of_names.File.KV if is_kv else of_names.File.SETTINGS
                    for request, reply in self.core.written(file, None):
                        _peer(request.channel).answered(request.command, reply.command)
                elif isinstance(effect, of_names.LogLine):
                    log.debug("name server: %s", effect.text)


@final
class LocalPeer:
    """The peer by which code of the same process sends requests: brokers register, tests query."""

    listener = of_names.LISTENER_DEFAULT
    is_closing = False

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.certificate_names: tuple[str, ...] = ()
        self._answer: Command | None = None

    def take_answer(self) -> Command:
        """The response to the last request."""
        answer, self._answer = self._answer, None
        assert answer is not None, "servers in memory answer this at once"
        return answer

    def answered(self, request: Command, answer: Command | None) -> None:
        del request
        self._answer = answer

    def told(self, command: Command) -> None:
        """Ignored: this peer serves no requests."""

    def asked(self, number: int, command: Command, timeout_s: float) -> None:
        """Ignored: this peer serves no requests."""

    def cut(self, reason: str) -> None:
        """Ignored: the next request registers again."""


@final
class BrokerInMemory:
    """The real core of the broker on the real store.

    The owner calls `handle` with requests, and `turn` at `deadline`.
    """

    def __init__(
        self,
        timeline: Timeline,
        names: NameServerInMemory,
        identity: Identity,
        settings: BrokerSettings,
        store_settings: StoreSettings = STORE_SETTINGS,
    ) -> None:
        self._timeline = timeline
        self._names = names
        self._channel = LocalPeer(identity.address)
        disk = MemoryDisk(total_bytes=DISK_BYTES)
        self._background = MemoryBackground(disk)
        self.store = Store(
            disk,
            self._background,
            store_settings,
            new_index_name=map(str, itertools.count(20_260_101_000_000_000)).__next__,
            local_hour=lambda _: 12,
        )
        self.state = State(
            settings,
            identity,
            self.store,
            chance=random.Random(0).randrange,  # noqa: S311 - the same in every run
            memory_bytes=MEMORY_BYTES,
            now=timeline.now,
            wall_ms=timeline.clock.wall_ms(),
        )
        self.core = Broker(self.state)
        self._register_at = timeline.now
        for _ in self.store.open(timeline.now):
            pass
        self.core.begin(timeline.now, timeline.clock.wall_ms())
        self.turn()

    @property
    def identity(self) -> Identity:
        return self.state.identity

    # ------------------------------------------------------------------ what comes in

    def handle(self, peer: Peer, command: Command) -> None:
        """Carry out a request; the peer is answered now, or when the core has the response."""
        now, wall_ms = self._times()
        outcome = self.core.handle(of_broker.Request(command, peer), now, wall_ms)
        if isinstance(outcome, of_broker.Reply):
            peer.answered(command, outcome.command)
        elif isinstance(outcome, of_broker.Silent):
            peer.answered(command, None)
        self._settle()

    def create_topic(self, topic: str, queues: int, attributes: str = "") -> None:
        """Create a topic as an administrator does."""
        header = CreateTopicRequest(
            topic=topic,
            default_topic=DEFAULT_TOPIC,
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=Permission.READ | Permission.WRITE,
            topic_filter_type=TopicFilterType.SINGLE_TAG.value,
            order=False,
            attributes=attributes or None,
        )
        self.handle(
            self._channel, Command(RequestCode.UPDATE_AND_CREATE_TOPIC, ext=header.encode())
        )
        answer = self._channel.take_answer()
        if answer.code != ResponseCode.SUCCESS:
            raise LocalError(f"topic {topic} cannot be created: {answer.remark}")

    def client_answered(self, number: int, response: Command | None) -> None:
        self.core.client_answered(number, response, *self._times())
        self._settle()

    def closed(self, peer: Peer) -> None:
        """The peer's connection ended."""
        self.core.closed(peer, *self._times())
        self._settle()

    def deadline(self) -> float:
        """When work is due that clients may notice; all other work is done together with it."""
        periodic = self.core.services.periodic
        deadlines = [each.deadline() for each in periodic if not isinstance(each, _HOUSEKEEPING)]
        state = self.state
        deadlines += [state.task_runner.deadline(), state.files.deadline(), self._register_at]
        return min(deadlines)

    def turn(self) -> None:
        """Do the work that is due."""
        if self._register_at <= self._timeline.now:
            self._register()
        self._settle()

    # ------------------------------------------------------------------ what goes out

    def _times(self) -> tuple[float, int]:
        return self._timeline.now, self._timeline.clock.wall_ms()

    def _settle(self) -> None:
        now, wall_ms = self._times()
        for _ in range(ROUNDS_MAX):
            self.core.turn(now, wall_ms)
            is_told = False
            for effect in self.core.take_effects():
                is_told = self._carry_out(effect) or is_told
            if self._background.jobs:
                self._background.complete_all()
            elif not is_told and self.core.deadline() > now:
                return
        raise AssertionError("the broker's work does not end: a defect of Gantry")

    def _carry_out(self, effect: of_broker.Effect) -> bool:
        """Carry out an effect; True if the core learns something from it."""
        if isinstance(effect, of_broker.SaveFile):
            self.core.written(effect.file, None, *self._times())
        elif isinstance(effect, of_broker.Register):
            self._register()
        elif isinstance(effect, of_broker.AwaitRegistration):
            self.core.client_answered(effect.number, None, *self._times())
        elif isinstance(effect, of_broker.AskNameServers):
            self._names.handle(self._channel, effect.command)
            self.core.client_answered(effect.number, self._channel.take_answer(), *self._times())
        elif isinstance(effect, of_broker.LogLine):
            log.log(_LEVELS[effect.level], "broker: %s", effect.text, exc_info=effect.cause)
        elif not isinstance(effect, of_broker.Spread | of_broker.DelayChannel):
            # There is no other broker, and no connection on which reading could be paused.
            _reach(effect)
        return isinstance(effect, _TELLING)

    def _register(self) -> None:
        identity, topics = self.identity, self.state.topics
        body = b'{"filterServerList":[],"topicConfigSerializeWrapper":%b}' % topics.content()
        header = RegisterBrokerRequest(
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
            ha_server_addr=identity.ha_address,
            broker_id=identity.broker_id,
            compressed=False,
            body_crc32=zlib.crc32(body) & 0x7FFFFFFF,
        )
        command = Command(
            RequestCode.REGISTER_BROKER, version=OWN_VERSION, ext=header.encode(), body=body
        )
        self._names.handle(self._channel, command)
        answer = self._channel.take_answer()
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        self._register_at = self._timeline.now + REGISTER_SECONDS


def _reach(effect: of_broker.Effect) -> None:
    """Pass an effect on to the peer that it concerns."""
    if isinstance(effect, of_broker.Answer):
        _peer(effect.request.channel).answered(effect.request.command, effect.command)
    elif isinstance(effect, of_broker.Release):
        _peer(effect.request.channel).answered(effect.request.command, None)
    elif isinstance(effect, of_broker.Tell):
        _peer(effect.channel).told(effect.command)
    elif isinstance(effect, of_broker.AskClient):
        _peer(effect.channel).asked(effect.number, effect.command, effect.timeout_seconds)
    elif not isinstance(effect, of_broker.Audit):  # peers do not see the audit trail
        assert isinstance(effect, of_broker.CloseChannel), f"{effect!r} is of sends by sockets"
        _peer(effect.channel).cut(effect.reason)


def _peer(channel: object) -> Peer:
    # Only these peers reach servers in memory, and a check against the protocol would take as long
    # as answering a request.
    return cast("Peer", channel)
