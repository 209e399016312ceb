"""A name server, brokers and clients in one virtual time: real cores, no sockets.

    cluster = Cluster()                                   one broker; every broker has a topic T
    cluster = Cluster(opened("broker-a"), opened("broker-b"))
    client = cluster.client("me@1")
    client.run(client.instance.route("T"))
    cluster.store("hello", queue_id=1)
    cluster.pass_time(5.0)

What brokers do by themselves happens when it is due; what they ask of clients reaches the instance
of that client.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TypeVar

from gantrymq.broker.core.messages import AskClient, Request
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import Identity
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.name_servers import NameServers
from gantrymq.client.core.settings import ClientSettings
from gantrymq.client.core.steps import FOREVER, Flow
from gantrymq.fakes import namesrv
from gantrymq.fakes.broker import IDENTITY, FakeChannel, OpenedBroker
from gantrymq.fakes.flows import Held, VirtualDriver
from gantrymq.fakes.pulls import PulledBroker
from gantrymq.fakes.sends import add_topic
from gantrymq.remoting.failures import ConnectError
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

T = TypeVar("T")

NAME_SERVER = "127.0.0.1:9876"


def opened(
    name: str, settings: BrokerSettings | None = None, *, broker_id: int = 0
) -> OpenedBroker:
    """A broker of this name; those of different names have different addresses."""
    port = 11_000 + zlib.crc32(f"{name}/{broker_id}".encode()) % 20_000
    identity = Identity(
        name, IDENTITY.cluster, broker_id, f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"
    )
    return OpenedBroker(settings, identity=identity)


class Member:
    """A broker of the cluster."""

    def __init__(self, broker: OpenedBroker) -> None:
        self.broker = broker
        self.pulled = PulledBroker(broker)
        self.held: list[tuple[Request, Held]] = []
        self.alarm = FOREVER
        self.is_stopped = False
        self.channels: dict[str, FakeChannel] = {}

    @property
    def identity(self) -> Identity:
        return self.broker.state.identity


class ClusterClient:
    """One client id."""

    def __init__(self, cluster: Cluster, client_id: str, settings: ClientSettings) -> None:
        self.id = client_id
        self._driver = cluster.driver
        names = NameServers((NAME_SERVER,), 0, settings.api_timeout_s)
        ports = cluster.driver.ports_of(client_id)
        self.instance = Instance(settings, client_id, ports, names)

    def run(self, flow: Flow[T]) -> T:
        return self._driver.run(flow, owner=self.id)


class Cluster:
    """Every request is in `asked`, with the address it went to."""

    def __init__(self, *brokers: OpenedBroker) -> None:
        self.driver = VirtualDriver(self._network)
        self.desk = namesrv.Desk()
        self.asked: list[tuple[str, Command]] = []
        self.members = {
            broker.state.identity.address: Member(broker) for broker in brokers or [OpenedBroker()]
        }
        self._clients: dict[str, ClusterClient] = {}
        for member in self.members.values():
            self._register(member)
            self._watch(member)

    # ------------------------------------------------------------------ for tests

    def client(self, client_id: str, settings: ClientSettings | None = None) -> ClusterClient:
        client = ClusterClient(self, client_id, settings or ClientSettings())
        self._clients[client_id] = client
        return client

    def member(self, broker_name: str = "broker-a") -> Member:
        """The master of that name."""
        return next(
            member
            for member in self.members.values()
            if member.identity.name == broker_name and member.identity.is_master
        )

    @property
    def broker(self) -> OpenedBroker:
        """The first one."""
        return next(iter(self.members.values())).broker

    def add_topic(self, topic: str, *, queues: int = 4) -> None:
        """On every broker."""
        for member in self.members.values():
            add_topic(member.broker, topic, queues=queues)
            self._register(member)

    def add_group(self, group: str) -> None:
        """On every broker, as its first consumer would."""
        for member in self.members.values():
            member.broker.state.groups.put(GroupConfig(group_name=group), member.broker.wall_ms)

    def store(
        self,
        *bodies: str,
        topic: str = "T",
        queue_id: int = 0,
        broker_name: str = "broker-a",
        **properties: str,
    ) -> None:
        """Messages in one queue."""
        member = self.member(broker_name)
        self._catch_up(member)
        member.pulled.store(*bodies, topic=topic, queue_id=queue_id, **properties)
        self._after(member)

    def pass_time(self, seconds: float) -> None:
        self.driver.pass_time(seconds)

    def stop(self, broker_name: str) -> None:
        """Nobody reaches it any more."""
        for member in self.members.values():
            if member.identity.name == broker_name:
                member.is_stopped = True
                for _, held in member.held:
                    held.give(ConnectError("the connection is lost"))
                member.held = []

    def restart(self, broker_name: str) -> None:
        for member in self.members.values():
            if member.identity.name == broker_name:
                member.is_stopped = False

    def die(self, client_id: str) -> None:
        """The client's process ends where it is, and its connections with it."""
        for flow in self.driver.flows:
            if flow.owner == client_id:
                flow.cancel()
        del self._clients[client_id]
        for member in self.members.values():
            channel = member.channels.pop(client_id, None)
            if channel is not None:
                self._catch_up(member)
                member.broker.close(channel)
                self._after(member)

    def asked_of(self, code: RequestCode) -> Sequence[Command]:
        return [command for _, command in self.asked if command.code == code]

    # ------------------------------------------------------------------ inside

    def _network(
        self, address: str, command: Command, *, is_oneway: bool
    ) -> Command | Held | Exception | None:
        self.asked.append((address, command))
        if address == NAME_SERVER:
            return self.desk.ask(command.code, command.ext or {}, command.body)
        member = self.members.get(address)
        if member is None or member.is_stopped:
            return ConnectError(f"nobody listens at {address}")
        self._catch_up(member)
        request = member.broker.send(
            RequestCode(command.code),
            body=command.body,
            channel=member.channels.setdefault(self.driver.owner, FakeChannel()),
            is_oneway=is_oneway,
            ext=command.ext,
        )
        if not member.broker.is_held(request):
            answer = member.broker.answer(request)
            self._after(member)
            return answer
        held = Held()
        member.held.append((request, held))
        self.driver.at(self.driver.clock.monotonic(), lambda: self._after(member, held))
        return held

    def _catch_up(self, member: Member) -> None:
        member.broker.pass_time(max(0.0, self.driver.clock.monotonic() - member.broker.now))

    def _after(self, member: Member, just_held: Held | None = None) -> None:
        """What the broker has to say now, and when it is to be looked after again."""
        still_held = []
        for request, held in member.held:
            if held is just_held or member.broker.is_held(request):
                still_held.append((request, held))
            else:
                answer = member.broker.answer(request)
                if answer is not None:
                    held.give(answer)
        member.held = still_held
        for client_id, channel in member.channels.items():
            self._reach(member, client_id, channel)
        if member.broker.registered:
            member.broker.registered.clear()
            self._register(member)
        self._watch(member)

    def _watch(self, member: Member) -> None:
        due = max(member.broker.broker.deadline(), self.driver.clock.monotonic() + 0.001)
        if due < member.alarm:
            member.alarm = due
            self.driver.at(due, lambda: self._tick(member))

    def _tick(self, member: Member) -> None:
        member.alarm = FOREVER
        self._catch_up(member)
        self._after(member)

    def _reach(self, member: Member, client_id: str, channel: FakeChannel) -> None:
        told, channel.told = channel.told, []
        asked, channel.asked = channel.asked, []
        if member.is_stopped or client_id not in self._clients:
            return
        for command in told:
            self.driver.start(self._tell(member, client_id, command), "told", client_id)
        for ask in asked:
            self.driver.start(self._ask(member, client_id, ask), "asked", client_id)

    async def _tell(self, member: Member, client_id: str, command: Command) -> None:
        await self._clients[client_id].instance.serve(member.identity.address, command)

    async def _ask(self, member: Member, client_id: str, ask: AskClient) -> None:
        instance = self._clients[client_id].instance
        answer = await instance.serve(member.identity.address, ask.command)
        self._catch_up(member)
        member.broker.client_answers(ask, answer)
        self._after(member)

    def _register(self, member: Member) -> None:
        identity, topics = member.identity, member.broker.state.topics
        registering = namesrv.Broker(
            identity.name, identity.broker_id, identity.address, identity.cluster
        )
        body = b'{"filterServerList":[],"topicConfigSerializeWrapper":%b}' % topics.content()
        ext = {**registering.header(), "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF)}
        answer = self.desk.ask(RequestCode.REGISTER_BROKER, ext, body)
        assert answer.code == 0, answer.remark
