"""Brokers' cores in memory and the name server that tells of them: a network for VirtualDriver.

cluster = Cluster({"T": 4})
driver = cluster.driver
cluster.brokers["a"].bodies("T", 0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import Identity
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.name_servers import NameServers
from gantrymq.client.core.settings import ClientSettings
from gantrymq.fakes.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.flows import Late, VirtualDriver
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import BrokerData, QueueData, TopicRouteData
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import GetRouteInfoRequest

NAME_SERVER = "names:9876"
TURN_S = 0.5

Fault = Callable[[str, Command], Command | Late | Exception | None]


class Cluster:
    """Masters by name; each has its own connection to the one client there is."""

    def __init__(
        self,
        topics: Mapping[str, int],
        names: Sequence[str] = ("a",),
        settings: BrokerSettings | None = None,
    ) -> None:
        self.brokers: dict[str, OpenedBroker] = {}
        self.channels: dict[str, FakeChannel] = {}
        self.heard: list[tuple[str, Command]] = []
        self.faults: dict[str, Fault] = {}
        """By address: what it does instead. One that gives back the command lets it pass."""
        for n, name in enumerate(names):
            address = f"10.0.0.{n + 1}:10911"
            identity = Identity(name, "DefaultCluster", 0, address, f"10.0.0.{n + 1}:10912")
            broker = OpenedBroker(settings, identity=identity)
            for topic, queues in topics.items():
                config = TopicConfig(topic, read_queue_nums=queues, write_queue_nums=queues)
                broker.state.topics.put(config, broker.wall_ms)
            self.brokers[name] = broker
            self.channels[address] = FakeChannel()
        self.driver = VirtualDriver(self.network)
        self.instance = self.client()

    def client(self, settings: ClientSettings | None = None, name: str = "me@1") -> Instance:
        names = NameServers((NAME_SERVER,), 0, 3.0)
        return Instance(settings or ClientSettings(), name, self.driver.ports, names)

    def network(
        self, address: str, command: Command, *, is_oneway: bool
    ) -> Command | Late | Exception | None:
        self.heard.append((address, command))
        if address in self.faults:
            answer = self.faults[address](address, command)
            if answer is not command:
                return answer
        if address == NAME_SERVER:
            return self._route(GetRouteInfoRequest.decode(command.ext).topic)
        broker = next(
            each for each in self.brokers.values() if each.state.identity.address == address
        )
        broker.now = max(broker.now, self.driver.clock.monotonic())
        request = broker.send(
            RequestCode(command.code),
            body=command.body,
            ext=command.ext,
            channel=self.channels[address],
            is_oneway=is_oneway,
        )
        self._serve(address, broker)
        return None if is_oneway else broker.answer(request)

    def pass_time(self, seconds: float) -> None:
        """For the brokers too: what one tells is answered within `TURN_S`."""
        end = self.driver.clock.monotonic() + seconds
        while (left_s := end - self.driver.clock.monotonic()) > 0:
            self.driver.pass_time(min(TURN_S, left_s))
            for name, broker in self.brokers.items():
                broker.pass_time(max(0.0, self.driver.clock.monotonic() - broker.now))
                self._serve(self.address(name), broker)
            self.driver.settle()

    def _serve(self, address: str, broker: OpenedBroker) -> None:
        """What the broker wants of its client."""
        channel = self.channels[address]
        while channel.told:
            self.driver.start(self._told(address, channel.told.pop(0)), "told")
        while channel.asked:
            asked = channel.asked.pop(0)
            flow = self.instance.serve(address, asked.command)
            try:
                flow.send(None)
            except StopIteration as stop:
                broker.client_answers(asked, stop.value)
            else:
                raise AssertionError("what brokers ask is answered at once")

    async def _told(self, address: str, command: Command) -> None:
        await self.instance.serve(address, command)

    def address(self, name: str) -> str:
        return self.brokers[name].state.identity.address

    def heard_of(self, code: RequestCode) -> list[tuple[str, Command]]:
        return [(address, command) for address, command in self.heard if command.code == code]

    def _route(self, topic: str) -> Command:
        queues, brokers = [], []
        for name, broker in self.brokers.items():
            config = broker.state.topics.find(topic)
            if config is None:
                continue
            queues.append(
                QueueData(name, config.read_queue_nums, config.write_queue_nums, config.perm)
            )
            brokers.append(BrokerData("DefaultCluster", name, {0: self.address(name)}))
        if not brokers:
            return Command(ResponseCode.TOPIC_NOT_EXIST, remark=f"no route of {topic}")
        data = TopicRouteData(tuple(queues), tuple(brokers))
        return Command(ResponseCode.SUCCESS, body=javajson.dumps_fastjson(data.to_json()))
