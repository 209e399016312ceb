"""A name server, brokers and clients in one virtual time: real cores, no sockets.

    cluster = Cluster()                       one broker, broker-a; every broker has a topic T
    cluster = Cluster("a", "b", topics={"T": 1})
    cluster.run(producer.start())             by the client `me@1`
    other = cluster.client("other@1")
    other.run(other.instance.route("T"))
    cluster.store("hello", queue_id=1)
    cluster.faults[RequestCode.PULL_MESSAGE] = gone
    cluster.pass_time(5.0)

The servers are those of `gantrymq.testing`. What brokers do by themselves happens when it is due;
what they ask of clients reaches the instance of that client.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.broker.core.context import Identity
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import State
from gantrymq.client.core.admin.administration import Administration
from gantrymq.client.core.flow.flow_steps import Flow
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.name_servers import NameServers
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.fakes.brokers import pulls
from gantrymq.fakes.flows import Held, Late, VirtualDriver
from gantrymq.remoting.failures import ConnectError, ConnectionLostError
from gantrymq.testing.memory_links import MemoryServer, travelled
from gantrymq.testing.memory_servers import BrokerInMemory, LocalPeer, NameServerInMemory
from gantrymq.testing.stored_messages import records_of
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.header import Header
from gantrymq.wire.message.record import Record
from gantrymq.wire.version import OWN_VERSION

T = TypeVar("T")

NAME_SERVER = "127.0.0.1:9876"
ME = "me@1"

Answer: TypeAlias = Command | Late | Held | Exception | None
Fault: TypeAlias = Callable[[str, Command], Answer]
"""Decides the outcome of a request to an address; returning the command lets it pass."""


def gone(address: str, command: Command) -> ConnectError:
    """A fault: no server listens at the address."""
    del command
    return ConnectError(f"no server listens at {address}")


class ClusterBroker:
    """A master of the cluster."""

    def __init__(self, server: BrokerInMemory) -> None:
        self.server = server
        self.is_stopped = False

    @property
    def state(self) -> State:
        return self.server.state

    @property
    def address(self) -> str:
        return self.server.identity.address

    def ask(
        self,
        code: RequestCode,
        header: Header | None = None,
        body: bytes = b"",
        *,
        channel: LocalPeer | None = None,
    ) -> Command:
        """The response to a request that no client of the cluster sends."""
        peer = channel or LocalPeer("10.9.9.9:50000")
        ext = None if header is None else header.encode()
        self.server.handle(peer, Command(code, version=OWN_VERSION, ext=ext, body=body))
        return peer.take_answer()

    def store(self, *bodies: str, topic: str, queue_id: int = 0, **properties: str) -> None:
        """Store messages in one queue."""
        pulls.put(self.state, *bodies, topic=topic, queue_id=queue_id, **properties)
        self.server.turn()

    def records(self, topic: str, queue_id: int = 0) -> list[Record]:
        queue = self.server.store.queues.find(topic, queue_id)
        return [] if queue is None else list(records_of(self.server.store, queue))

    def bodies(self, topic: str, queue_id: int = 0) -> list[bytes]:
        """The bodies of the messages that consumers find in a queue."""
        return [record.body for record in self.records(topic, queue_id)]


class ClusterClient:
    """A client with its id and its instance."""

    def __init__(self, cluster: Cluster, client_id: str, settings: ClientSettings) -> None:
        self.id = client_id
        self._driver = cluster.driver
        names = NameServers((NAME_SERVER,), 0, settings.api_timeout_s)
        ports = cluster.driver.ports_of(client_id)
        self.instance = Instance(settings, client_id, ports, names)

    def run(self, flow: Flow[T]) -> T:
        return self._driver.run(flow, owner=self.id)


class ClusterLink:
    """The connection of one client to one server."""

    listener = "internal"
    certificate_names = ()
    is_closing = False

    def __init__(self, cluster: Cluster, client_id: str, address: str, peer: str) -> None:
        self._cluster = cluster
        self._client_id = client_id
        self._address = address
        self._opaques = itertools.count()
        self._held: dict[int, Held] = {}
        self.peer = peer

    def ask(self, server: MemoryServer, command: Command) -> Command | Exception | Held:
        answers: list[Command | Exception] = []
        held = Held()
        held.give = answers.append
        command.opaque = next(self._opaques)
        self._held[command.opaque] = held
        server.handle(self, _arrived(command))
        return answers[0] if answers else held

    def tell(self, server: MemoryServer, command: Command) -> None:
        command.flag |= FLAG_ONEWAY
        server.handle(self, _arrived(command))

    def lose(self) -> None:
        """Drop the responses to all requests in flight."""
        held, self._held = self._held, {}
        for each in held.values():
            each.give(ConnectionLostError("the connection is lost"))

    # ------------------------------------------------------------------ what the server calls

    def answered(self, request: Command, answer: Command | None) -> None:
        held = self._held.pop(request.opaque, None)
        if held is not None and answer is not None and not request.is_oneway:
            held.give(answer)

    def told(self, command: Command) -> None:
        instance = self._cluster.reached(self._client_id, self._address)
        if instance is not None:
            flow = _told(instance, self._address, command)
            self._cluster.driver.start(flow, "told", self._client_id)

    def asked(self, number: int, command: Command, timeout_s: float) -> None:
        broker = self._cluster.broker_at(self._address).server
        timeline = self._cluster.driver.timeline
        expiry = timeline.now + timeout_s
        alarm = timeline.call_at(expiry, lambda: broker.client_answered(number, None))

        async def answer(instance: Instance) -> None:
            answered = await instance.serve(self._address, command)
            alarm.cancel()
            broker.client_answered(number, answered)

        instance = self._cluster.reached(self._client_id, self._address)
        if instance is not None:
            self._cluster.driver.start(answer(instance), "asked", self._client_id)

    def cut(self, reason: str) -> None:
        """Close the connection; the next request opens another one."""
        del reason
        self.lose()
        self._cluster.forget(self._client_id, self._address)


def _arrived(command: Command) -> Command:
    command.version = OWN_VERSION
    return travelled(command)


async def _told(instance: Instance, address: str, command: Command) -> None:
    await instance.serve(address, command)


class Cluster:
    """The simulated servers and clients. Every request is in `asked`, with its address; `faults`,
    by address or by code, decide the outcome of some."""

    def __init__(
        self,
        *brokers: str,
        topics: Mapping[str, int] | None = None,
        settings: BrokerSettings | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        """`topics` have so many queues on every broker; by default T has 4. Clients sign their
        requests with the credentials, if there are any."""
        self.credentials = credentials
        self.driver = VirtualDriver(self._network)
        timeline = self.driver.timeline
        self.name_server = NameServerInMemory(timeline)
        self.asked: list[tuple[str, Command]] = []
        self.faults: dict[str | RequestCode, Fault] = {}
        self.brokers: dict[str, ClusterBroker] = {}
        self._clients: dict[str, ClusterClient] = {}
        self._links: dict[tuple[str, str], ClusterLink] = {}
        self._ports = itertools.count(40_000)
        for number, name in enumerate(brokers or ["broker-a"]):
            port = 10_911 + 10 * number
            place = Identity(
                name, "DefaultCluster", 0, f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"
            )
            server = BrokerInMemory(timeline, self.name_server, place, settings or BrokerSettings())
            self.brokers[name] = ClusterBroker(server)
        self.driver.servers = [
            self.name_server,
            *(broker.server for broker in self.brokers.values()),
        ]
        for topic, queues in ({"T": 4} if topics is None else topics).items():
            self.add_topic(topic, queues=queues)

    # ------------------------------------------------------------------ clients

    def client(self, client_id: str = ME, settings: ClientSettings | None = None) -> ClusterClient:
        """Add a client."""
        client = ClusterClient(self, client_id, settings or ClientSettings())
        self._clients[client_id] = client
        return client

    @property
    def me(self) -> ClusterClient:
        """The client of tests that need only one."""
        return self._clients.get(ME) or self.client()

    @property
    def instance(self) -> Instance:
        return self.me.instance

    @property
    def admin(self) -> Administration:
        return Administration(self.instance)

    def run(self, flow: Flow[T]) -> T:
        return self.me.run(flow)

    def die(self, client_id: str) -> None:
        """Kill the client's process and close its connections."""
        for flow in self.driver.flows:
            if flow.owner == client_id:
                flow.cancel()
        del self._clients[client_id]
        for address in (NAME_SERVER, *self.addresses):
            self.forget(client_id, address)

    # ------------------------------------------------------------------ brokers

    @property
    def broker(self) -> ClusterBroker:
        """The first broker."""
        return next(iter(self.brokers.values()))

    @property
    def addresses(self) -> list[str]:
        return [broker.address for broker in self.brokers.values()]

    def address(self, broker_name: str) -> str:
        return self.brokers[broker_name].address

    def add_topic(self, topic: str, *, queues: int = 4) -> None:
        """Create a topic on every broker."""
        for broker in self.brokers.values():
            broker.server.create_topic(topic, queues, "")

    def add_group(self, group: str) -> None:
        """Create a group on every broker, as its first consumer does."""
        wall_ms = self.driver.clock.wall_ms()
        for broker in self.brokers.values():
            broker.state.groups.put(GroupConfig(group_name=group), wall_ms)

    def store(
        self,
        *bodies: str,
        topic: str = "T",
        queue_id: int = 0,
        broker_name: str = "broker-a",
        **properties: str,
    ) -> None:
        """Store messages in one queue."""
        broker = self.brokers[broker_name]
        broker.store(*bodies, topic=topic, queue_id=queue_id, **properties)

    def stop(self, broker_name: str) -> None:
        """Make the broker unreachable."""
        broker = self.brokers[broker_name]
        broker.is_stopped = True
        for (_, address), link in self._links.items():
            if address == broker.address:
                link.lose()

    def restart(self, broker_name: str) -> None:
        self.brokers[broker_name].is_stopped = False

    # ------------------------------------------------------------------ time, and what was asked

    def pass_time(self, seconds: float) -> None:
        self.driver.pass_time(seconds)

    def asked_of(self, code: RequestCode) -> Sequence[Command]:
        return [command for _, command in self.asked if command.code == code]

    # ------------------------------------------------------------------ the network

    def served(self, address: str, command: Command, *, is_oneway: bool = False) -> Answer:
        """The server's response, regardless of `faults`."""
        broker = next((each for each in self.brokers.values() if each.address == address), None)
        if address != NAME_SERVER and (broker is None or broker.is_stopped):
            return gone(address, command)
        place = self.driver.owner, address
        link = self._links.get(place)
        if link is None:
            peer = f"127.0.0.1:{next(self._ports)}"
            link = self._links[place] = ClusterLink(self, *place, peer)
        if is_oneway:
            link.tell(self._server(address), command)
            return None
        return link.ask(self._server(address), command)

    def broker_at(self, address: str) -> ClusterBroker:
        return next(each for each in self.brokers.values() if each.address == address)

    def reached(self, client_id: str, address: str) -> Instance | None:
        """The client that a broker's request reaches at this address."""
        client = self._clients.get(client_id)
        if client is None or self.broker_at(address).is_stopped:
            return None
        return client.instance

    def cut(self, client_id: str, address: str) -> None:
        """Cut the connection; both ends notice."""
        self._links[client_id, address].lose()
        self.forget(client_id, address)

    def forget(self, client_id: str, address: str) -> None:
        """Forget a closed connection."""
        link = self._links.pop((client_id, address), None)
        if link is not None:
            link.is_closing = True
            self._server(address).closed(link)

    def _network(self, address: str, command: Command, *, is_oneway: bool) -> Answer:
        if self.credentials is not None:
            command = signed(command, self.credentials)
        self.asked.append((address, command))
        fault = self.faults.get(address) or self.faults.get(RequestCode(command.code))
        if fault is not None:
            answer = fault(address, command)
            if answer is not command:
                return answer
        return self.served(address, command, is_oneway=is_oneway)

    def _server(self, address: str) -> MemoryServer:
        return self.name_server if address == NAME_SERVER else self.broker_at(address).server
