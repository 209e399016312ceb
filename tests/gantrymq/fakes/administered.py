"""A name server and brokers in one process, as a client's flows reach them, in virtual time.

cluster = Cluster()
cluster.create_topic("T", 4)
cluster.admin.run(...)
"""

from __future__ import annotations

from gantrymq.broker.core.state import Identity
from gantrymq.client.core.admin.administration import Administration
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.name_servers import NameServers
from gantrymq.client.core.settings import ClientSettings
from gantrymq.client.core.steps import Flow
from gantrymq.fakes.broker import START_MS, FakeChannel, OpenedBroker
from gantrymq.fakes.flows import T, VirtualDriver
from gantrymq.fakes.namesrv import Desk
from gantrymq.remoting.failures import ConnectError
from gantrymq.runtime.clock import VirtualClock
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import RegisterBrokerRequest

NAME_SERVER = "127.0.0.1:9876"


class Cluster:
    """`brokers` by address; each is registered anew after every request, as it would be soon."""

    def __init__(self, names: tuple[str, ...] = ("broker-a",)) -> None:
        self.name_servers = {NAME_SERVER: Desk()}
        self.brokers: dict[str, OpenedBroker] = {}
        self.dead: set[str] = set()
        for number, name in enumerate(names):
            address = f"127.0.0.1:{10911 + 10 * number}"
            identity = Identity(name, "DefaultCluster", 0, address, "127.0.0.1:10912")
            self.brokers[address] = OpenedBroker(identity=identity)
        self.channel = FakeChannel()
        self.driver = VirtualDriver(self._network, VirtualClock(wall_ms=START_MS))
        names_known = NameServers((NAME_SERVER,), 0, 3.0)
        self.instance = Instance(ClientSettings(), "admin@1", self.driver.ports, names_known)
        self.admin = Administration(self.instance)
        self.register()

    def run(self, flow: Flow[T]) -> T:
        return self.driver.run(flow)

    @property
    def addresses(self) -> list[str]:
        return list(self.brokers)

    def create_topic(self, topic: str, queues: int = 4) -> None:
        config = TopicConfig(topic, read_queue_nums=queues, write_queue_nums=queues)
        self.run(self.admin.topics.create(self.brokers, config)).all()

    def register(self) -> None:
        """Let the name servers know what the brokers have."""
        for address, broker in self.brokers.items():
            identity = broker.state.identity
            header = RegisterBrokerRequest(
                broker_name=identity.name,
                broker_addr=address,
                cluster_name=identity.cluster,
                ha_server_addr="127.0.0.1:10912",
                broker_id=0,
            )
            body = b'{"filterServerList":[],"topicConfigSerializeWrapper":%b}' % (
                broker.state.topics.content()
            )
            for desk in self.name_servers.values():
                answer = desk.ask(RequestCode.REGISTER_BROKER, header.encode(), body)
                assert answer.code == 0, answer.remark

    def _network(
        self, address: str, command: Command, *, is_oneway: bool
    ) -> Command | Exception | None:
        del is_oneway
        if address in self.dead:
            return ConnectError(f"nobody listens at {address}")
        desk = self.name_servers.get(address)
        if desk is not None:
            return desk.ask(command.code, command.ext, command.body)
        broker = self.brokers.get(address)
        if broker is None:
            return ConnectError(f"nobody listens at {address}")
        request = broker.send(
            RequestCode(command.code), ext=command.ext, body=command.body, channel=self.channel
        )
        self.register()
        return None if broker.is_held(request) else broker.answer(request)
