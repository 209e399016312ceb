"""Routes and heartbeats of one client, in virtual time."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gantrymq.client.core.errors import RouteError, StateError
from gantrymq.client.core.flow.flow_steps import All
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.name_servers import NameServers
from gantrymq.client.core.instance.routes import Route, Routes
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.fakes.flows import VirtualDriver
from gantrymq.remoting.failures import ConnectError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import ConsumerData, HeartbeatData
from gantrymq.wire.bodies.route import BrokerData, QueueData, TopicRouteData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

ROUTE = TopicRouteData(
    (QueueData("a", 2, 3, 6), QueueData("b", 1, 1, 4)),
    (
        BrokerData("C", "a", {0: "a0:1", 1: "a1:1"}),
        BrokerData("C", "b", {1: "b1:1"}),
    ),
)


class World:
    """Name servers with one topic, and brokers that note what they hear."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Command]] = []
        self.dead: set[str] = set()
        self.topics = {"T": ROUTE}
        self.driver = VirtualDriver(self._network)
        names = NameServers(("n1:1", "n2:1"), 0, 3.0)
        self.instance = Instance(ClientSettings(), "me@1", self.driver.ports, names)

    def _network(self, address: str, command: Command, *, is_oneway: bool) -> Command | Exception:
        del is_oneway
        self.heard.append((address, command))
        if address in self.dead:
            return ConnectError("connection refused")
        if command.code != RequestCode.GET_ROUTEINFO_BY_TOPIC:
            return Command(ResponseCode.SUCCESS)
        route = self.topics.get((command.ext or {})["topic"])
        if route is None:
            return Command(ResponseCode.TOPIC_NOT_EXIST)
        return Command(ResponseCode.SUCCESS, body=javajson.dumps_fastjson(route.to_json()))

    def heard_of(self, code: RequestCode) -> list[str]:
        return [address for address, command in self.heard if command.code == code]


class Producer:
    topics: Iterable[str] = ("T",)


def test_a_route_is_fetched_once() -> None:
    world = World()
    route = world.driver.run(world.instance.route("T"))
    assert [(queue.broker_name, queue.queue_id) for queue in route.publish] == [
        ("a", 0),
        ("a", 1),
        ("a", 2),
    ]
    assert [(queue.broker_name, queue.queue_id) for queue in route.subscribe] == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
    ]
    world.driver.run(world.instance.route("T"))
    assert world.heard_of(RequestCode.GET_ROUTEINFO_BY_TOPIC) == ["n1:1"]


def test_a_dead_name_server_is_replaced_by_the_next() -> None:
    world = World()
    world.dead = {"n1:1"}
    world.driver.run(world.instance.route("T"))
    world.driver.run(world.instance.refresh_route("T"))
    assert world.heard_of(RequestCode.GET_ROUTEINFO_BY_TOPIC) == ["n1:1", "n2:1", "n2:1"]


def test_concurrent_requests_leave_a_dead_name_server_together() -> None:
    world = World()
    world.dead = {"n1:1"}

    async def both() -> list[object]:
        routes = [world.instance.refresh_route("T") for _ in range(2)]
        return [*await All(routes)]

    answers = world.driver.run(both())
    assert [type(each) for each in answers] == [Route, Route]


def test_unknown_routes_raise_route_error() -> None:
    world = World()
    with pytest.raises(RouteError, match="No route info of this topic: other"):
        world.driver.run(world.instance.route("other"))
    world.dead = {"n1:1", "n2:1"}
    with pytest.raises(RouteError, match=r"n1:1: connection refused; n2:1: connection refused"):
        world.driver.run(world.instance.route("other"))


def test_routes_and_heartbeats_are_repeated() -> None:
    world = World()
    world.instance.add_producer("G", Producer())
    world.driver.run(world.instance.route("T"))
    world.instance.start()
    world.driver.pass_time(65.0)
    assert world.heard_of(RequestCode.GET_ROUTEINFO_BY_TOPIC) == ["n1:1"] * 3
    assert world.heard_of(RequestCode.HEART_BEAT) == ["a0:1"] * 2
    world.instance.stop()
    world.driver.pass_time(300.0)
    assert len(world.heard_of(RequestCode.HEART_BEAT)) == 2


class Consumer:
    """A member to which something happens that was not foreseen."""

    topics: Iterable[str] = ()

    def __init__(self, group: str, error: Exception | None) -> None:
        self.data = ConsumerData(group_name=group)
        self.balanced = self.persisted = 0
        self._error = error

    async def rebalance(self) -> bool:
        self.balanced += 1
        if self._error is not None:
            raise self._error
        return True

    async def persist_offsets(self) -> None:
        self.persisted += 1
        if self._error is not None:
            raise self._error


def test_a_failure_of_one_member_does_not_affect_others() -> None:
    world = World()
    odd, even = Consumer("odd", ZeroDivisionError("odd")), Consumer("even", None)
    world.instance.add_consumer("odd", odd)
    world.instance.add_consumer("even", even)
    world.instance.start()
    world.driver.pass_time(100.0)
    assert min(odd.balanced, even.balanced) >= 5
    assert (odd.persisted, even.persisted) == (20, 20)
    assert any("rebalance failed" in line and "odd" in line for line in world.driver.lines)


def test_periodic_tasks_survive_unexpected_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.instance.add_producer("G", Producer())
    world.driver.run(world.instance.route("T"))
    world.instance.start()
    with monkeypatch.context() as patched:
        patched.setattr(Routes, "forget_offline", lambda _: 1 / 0)
        world.driver.pass_time(65.0)
    world.driver.pass_time(60.0)
    assert world.heard_of(RequestCode.HEART_BEAT) == ["a0:1"] * 2
    assert any("heartbeats" in line for line in world.driver.lines)


def test_brokers_that_know_a_member_hear_of_its_removal() -> None:
    world = World()
    world.instance.add_producer("G", Producer())
    world.driver.run(world.instance.route("T"))
    world.driver.run(world.instance.heartbeat())
    (sent,) = [command for _, command in world.heard if command.code == RequestCode.HEART_BEAT]
    data = HeartbeatData.from_json(javajson.loads(sent.body))
    assert (data.client_id, data.producer_groups) == ("me@1", ("G",))
    world.driver.run(world.instance.remove_producer("G", world.instance.producers["G"]))
    assert world.heard_of(RequestCode.UNREGISTER_CLIENT) == ["a0:1"]


def test_a_member_is_not_removed_by_another_of_its_group() -> None:
    world = World()
    first = Producer()
    world.instance.add_producer("G", first)
    world.driver.run(world.instance.remove_producer("G", Producer()))
    assert world.instance.producers == {"G": first}


def test_a_second_producer_of_a_group_is_refused() -> None:
    world = World()
    world.instance.add_producer("G", Producer())
    with pytest.raises(StateError, match=r"group\[G\] has been created before"):
        world.instance.add_producer("G", Producer())


def test_a_broker_that_no_route_names_is_forgotten() -> None:
    world = World()
    world.instance.add_producer("G", Producer())
    world.driver.run(world.instance.route("T"))
    world.instance.start()
    world.topics["T"] = TopicRouteData(
        (QueueData("c", 1, 1, 6),), (BrokerData("C", "c", {0: "c:1"}),)
    )
    world.driver.pass_time(61.0)
    assert world.heard_of(RequestCode.HEART_BEAT)[-1] == "c:1"
    assert world.instance.master("a") is None
