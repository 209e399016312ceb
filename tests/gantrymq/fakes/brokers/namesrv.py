"""Runs a name server's core in virtual time, with a disk that the test controls."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gantrymq.audit.record import AuditRecord
from gantrymq.base.memory_account import MemoryAccount
from gantrymq.base.tasks import run_to_end
from gantrymq.namesrv.core.config.kvconfig import Namespaces
from gantrymq.namesrv.core.limits import NameServerLimits
from gantrymq.namesrv.core.messages import (
    Audit,
    CloseChannel,
    DelayChannel,
    Effect,
    File,
    LogLine,
    Notify,
    Parked,
    Reply,
    Request,
    SaveKv,
    SaveSettings,
    Working,
)
from gantrymq.namesrv.core.nameserver import NameServer
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.namesrv.core.state import Configuration
from gantrymq.wire import javajson
from gantrymq.wire.bodies.cluster import ClusterInfo
from gantrymq.wire.bodies.registration import RegisterBrokerBody
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.bodies.shared import DataVersion, TopicConfig
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command

WALL_MS = 1_700_000_000_000
FIRST_VERSION = DataVersion(timestamp_ms=1000, counter=1)


@dataclass(eq=False)
class FakeChannel:
    """A connection, with its name and the listener that accepted it."""

    peer: str = "10.0.0.1:40000"
    listener: str = "internal"
    delays: list[float] = field(default_factory=list)


@dataclass
class Broker:
    """The registration of one broker."""

    name: str = "a"
    id: int = 0
    address: str = "10.0.0.1:10911"
    cluster: str = "C"
    topics: Iterable[str] = ("T", "U")
    version: DataVersion = FIRST_VERSION
    perm: int = 6
    acting: str | None = "false"
    filters: tuple[str, ...] | None = ()
    ext: Mapping[str, str] = field(default_factory=dict)
    channel: FakeChannel = field(default_factory=FakeChannel)

    def identity(self) -> dict[str, str]:
        return {
            "brokerName": self.name,
            "brokerAddr": self.address,
            "clusterName": self.cluster,
            "brokerId": str(self.id),
        }

    def header(self) -> dict[str, str]:
        ext = {**self.identity(), "haServerAddr": self.address + "2"}
        if self.acting is not None:
            ext["enableActingMaster"] = self.acting
        return {**ext, **self.ext}

    def body(self) -> RegisterBrokerBody:
        topics = {
            topic: TopicConfig(topic, read_queue_nums=4, write_queue_nums=4, perm=self.perm)
            for topic in self.topics
        }
        return RegisterBrokerBody(self.version, topics, self.filters)

    def but(self, **changes: object) -> Broker:
        """Return the same broker with changed fields, on the same connection."""
        return replace(self, **changes)  # type: ignore[arg-type]  # the test names the fields

    def newer(self, **changes: object) -> Broker:
        return self.but(version=self.version.next(2000), **changes)


MASTER = Broker()
SLAVE = Broker(id=1, address="10.0.0.2:10911", channel=FakeChannel("10.0.0.2:40000"))


class Desk:
    """Sends requests to the core and executes its effects. Writes succeed unless `disk_failure`
    is set."""

    def __init__(
        self,
        settings: NameServerSettings | None = None,
        namespaces: Namespaces | None = None,
        limits: NameServerLimits | None = None,
        memory: MemoryAccount | None = None,
    ) -> None:
        self.now = 1000.0
        configuration = Configuration(settings or NameServerSettings())
        self.core = NameServer(configuration, namespaces or {}, self.now, limits, memory)
        self.channel = FakeChannel("10.9.9.9:50000")
        self.disk_failure: str | None = None
        self.writes: list[SaveKv | SaveSettings] = []
        self.lines: list[str] = []
        self.audited: list[AuditRecord] = []
        self.closed: list[object] = []
        self.notices: list[Notify] = []

    # ------------------------------------------------------------------ asking

    def ask(
        self,
        code: int,
        ext: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        version: int = 479,
        channel: FakeChannel | None = None,
    ) -> Command:
        command = Command(code, version=version, ext=None if ext is None else dict(ext), body=body)
        request = Request(command, channel or self.channel)
        outcome = self.core.handle(request, self.now, WALL_MS)
        if isinstance(outcome, Working):
            outcome = run_to_end(outcome.task)
        answers = self.settle()
        if isinstance(outcome, Parked):
            return next(reply.command for asked, reply in answers if asked is request)
        assert isinstance(outcome, Reply)
        return outcome.command

    def tell(self, code: int, ext: Mapping[str, str], body: bytes = b"") -> object:
        """Send a oneway request."""
        command = Command(code, version=479, flag=FLAG_ONEWAY, ext=dict(ext), body=body)
        outcome = self.core.handle(Request(command, self.channel), self.now, WALL_MS)
        assert self.settle() == []
        return outcome

    def settle(self) -> list[tuple[Request, Reply]]:
        """Execute all effects; return the responses that finished writes released."""
        answers: list[tuple[Request, Reply]] = []
        while effects := self.core.take_effects():
            for effect in effects:
                answers += self._carry_out(effect)
        return answers

    def _carry_out(self, effect: Effect) -> list[tuple[Request, Reply]]:
        if isinstance(effect, LogLine):
            self.lines.append(effect.text)
        elif isinstance(effect, CloseChannel):
            self.closed.append(effect.channel)
        elif isinstance(effect, DelayChannel):
            assert isinstance(effect.channel, FakeChannel)
            effect.channel.delays.append(effect.seconds)
        elif isinstance(effect, Notify):
            self.notices.append(effect)
        elif isinstance(effect, Audit):
            self.audited.append(effect.record)
        else:
            return self._write(effect)
        return []

    def _write(self, write: SaveKv | SaveSettings) -> list[tuple[Request, Reply]]:
        file = File.KV if isinstance(write, SaveKv) else File.SETTINGS
        if self.disk_failure is None:
            self.writes.append(write)
        return self.core.written(file, self.disk_failure)

    # ------------------------------------------------------------------ time and connections

    def wait(self, seconds: float) -> None:
        """Let time pass and wake the core at each of its deadlines."""
        end = self.now + seconds
        while (due := self.core.deadline()) <= end:
            assert due >= self.now, "the core wants to be woken in the past"
            self.now = due
            self.core.expire(due)
            self.settle()
        self.now = end

    def close(self, channel: FakeChannel) -> None:
        self.core.closed(channel, self.now)
        self.settle()

    # ------------------------------------------------------------------ brokers

    def register(self, broker: Broker, *, compressed: bool = False, version: int = 479) -> Command:
        body = broker.body().encode_compressed() if compressed else broker.body().encode()
        ext = {**broker.header(), "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF)}
        if compressed:
            ext["compressed"] = "true"
        return self.ask(
            RequestCode.REGISTER_BROKER, ext, body, channel=broker.channel, version=version
        )

    def registered(self, broker: Broker) -> Broker:
        answer = self.register(broker)
        assert answer.code == 0, answer.remark
        return broker

    def unregister(self, broker: Broker) -> Command:
        return self.ask(RequestCode.UNREGISTER_BROKER, {**broker.identity(), **broker.ext})

    # ------------------------------------------------------------------ answers understood

    def route(self, topic: str, listener: str = "internal") -> TopicRouteData | None:
        """Return the route; None if there is none."""
        channel = FakeChannel(listener=listener)
        answer = self.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, channel=channel)
        if answer.code != 0:
            return None
        return TopicRouteData.from_json(javajson.loads(answer.body))

    def addresses(self, topic: str, listener: str = "internal") -> dict[str, dict[int, str]]:
        """Return broker name -> broker id -> address of the topic's route."""
        route = self.route(topic, listener)
        brokers = () if route is None else route.brokers
        return {broker.broker_name: dict(broker.addresses) for broker in brokers}

    def perms(self, topic: str) -> dict[str, int]:
        route = self.route(topic)
        return {} if route is None else {queue.broker_name: queue.perm for queue in route.queues}

    def topics(self, code: int, ext: Mapping[str, str] | None = None) -> set[str]:
        answer = self.ask(code, ext)
        assert answer.code == 0, answer.remark
        return set(TopicList.from_json(javajson.loads(answer.body)).topics)

    def cluster(self) -> ClusterInfo:
        answer = self.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
        return ClusterInfo.from_json(javajson.loads(answer.body))

    def assert_empty(self) -> None:
        """Assert that no table has an entry of a broker."""
        routes = self.core.state.routes
        assert len(routes.topics) == 0
        assert routes.topics.placements() == set()
        assert (routes.groups, routes.clusters, routes.members, routes.members_of) == ({},) * 4
