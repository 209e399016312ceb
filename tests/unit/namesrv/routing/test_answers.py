"""The bytes of routes: dialects, listeners, order, zones, acting masters, the cache."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.namesrv import Broker, Desk, FakeChannel
from gantrymq.namesrv.core.limits import NameServerLimits
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.codes import RequestCode as Code

A = Broker(channel=FakeChannel("a"))
A_SLAVE = A.but(id=1, address="10.0.0.2:10911", channel=FakeChannel("as"))
B = Broker(name="b", address="10.0.0.3:10911", channel=FakeChannel("b"))

STANDARD = (
    b'{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"a","cluster":"C",'
    b'"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"a",'
    b'"perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}'
)


def ask(
    desk: Desk, ext: dict[str, str] | None = None, version: int = 479, listener: str = "internal"
) -> bytes:
    answer = desk.ask(
        Code.GET_ROUTEINFO_BY_TOPIC,
        {"topic": "T", **(ext or {})},
        version=version,
        channel=FakeChannel(listener=listener),
    )
    assert answer.code == 0, answer.remark
    return answer.body


@pytest.mark.parametrize(
    ("version", "ext", "standard"),
    [
        (401, {}, True),
        (479, {}, True),
        (400, {}, False),
        (0, {"acceptStandardJsonOnly": "true"}, True),
        (0, {"acceptStandardJsonOnly": "maybe"}, False),
        (479, {"acceptStandardJsonOnly": "false"}, True),
    ],
)
def test_the_dialect_suits_the_asker(version: int, ext: dict[str, str], *, standard: bool) -> None:
    desk = Desk()
    desk.registered(A)
    expected = STANDARD if standard else STANDARD.replace(b'{"0":', b"{0:")
    assert ask(desk, ext, version) == expected


def test_every_composed_route_reads_as_one() -> None:
    desk = Desk()
    odd = A.but(name='a"\\é', filters=("f:1",), cluster="C\n", ext={"__ZONE_NAME": "z"})
    for broker in (odd, B.but(filters=("f:2", "f:3"))):
        desk.registered(broker)
    for version in (400, 479):
        route = TopicRouteData.from_json(javajson.loads(ask(desk, version=version)))
        assert {broker.broker_name for broker in route.brokers} == {'a"\\é', "b"}
        assert route.filter_servers == {A.address: ("f:1",), B.address: ("f:2", "f:3")}
        assert {broker.zone_name for broker in route.brokers} == {"z", None}


class TestListeners:
    OUT = A.but(ext={"gantryListeners": "external=203.0.113.1:31911;vpc=172.16.0.1:10911"})

    def test_the_one_asked_on_picks_the_address(self) -> None:
        desk = Desk()
        for broker in (self.OUT, A_SLAVE, B):
            desk.registered(broker)
        assert desk.addresses("T", "external") == {
            "a": {0: "203.0.113.1:31911", 1: A_SLAVE.address},
            "b": {0: B.address},
        }
        assert desk.addresses("T", "vpc")["a"][0] == "172.16.0.1:10911"
        assert desk.addresses("T", "internal")["a"][0] == A.address
        assert desk.addresses("T", "unheard-of")["a"][0] == A.address

    def test_cluster_system_topics_and_member_group_answer_likewise(self) -> None:
        desk = Desk()
        desk.registered(self.OUT)
        outside = FakeChannel(listener="external")
        for code, ext in (
            (Code.GET_BROKER_CLUSTER_INFO, None),
            (Code.GET_SYSTEM_TOPIC_LIST_FROM_NS, None),
            (Code.GET_BROKER_MEMBER_GROUP, {"brokerName": "a", "clusterName": "C"}),
        ):
            assert b"203.0.113.1:31911" in desk.ask(code, ext, channel=outside).body
            assert A.address.encode() in desk.ask(code, ext).body

    def test_slaves_are_told_the_normal_address(self) -> None:
        desk = Desk()
        desk.registered(self.OUT)
        assert (desk.register(A_SLAVE).ext or {})["masterAddr"] == A.address


class TestOrder:
    KV = {"ORDER_TOPIC_CONFIG": {"T": 'a:4;"é'}}  # noqa: RUF012 - read only

    def test_an_ordered_topics_queues_are_listed_when_that_is_on(self) -> None:
        desk = Desk(NameServerSettings(order_message_enable=True), self.KV)
        desk.registered(A)
        for version in (400, 479):
            body = ask(desk, version=version)
            route = TopicRouteData.from_json(javajson.loads(body))
            assert route.order_topic_conf == 'a:4;"é'
            assert body.index(b"filterServerTable") < body.index(b"orderTopicConf")
            assert body.index(b"orderTopicConf") < body.index(b"queueDatas")

    def test_and_not_when_it_is_off_or_the_topic_is_not_ordered(self) -> None:
        off = Desk(namespaces=self.KV)
        other = Desk(NameServerSettings(order_message_enable=True))
        for desk in (off, other):
            desk.registered(A)
            assert ask(desk) == STANDARD


class TestZones:
    NEAR = {"__ZONE_MODE": "true", "__ZONE_NAME": "East"}  # noqa: RUF012 - read only

    def brokers(self, ext: dict[str, str]) -> set[str]:
        desk = Desk()
        desk.registered(A.but(ext={"__ZONE_NAME": "east"}))
        desk.registered(B.but(ext={"__ZONE_NAME": "west"}))
        desk.registered(A_SLAVE.but(name="c", ext={"__ZONE_NAME": "west"}))
        route = TopicRouteData.from_json(javajson.loads(ask(desk, ext)))
        names = {broker.broker_name for broker in route.brokers}
        assert {queue.broker_name for queue in route.queues} == names
        return names

    def test_near_masters_only_and_slaves_of_lost_masters_anywhere(self) -> None:
        assert self.brokers(self.NEAR) == {"a", "c"}

    @pytest.mark.parametrize(
        "ext", [{}, {"__ZONE_NAME": "east"}, {"__ZONE_MODE": "true", "__ZONE_NAME": " "}]
    )
    def test_all_brokers_without_the_mode_or_a_name(self, ext: dict[str, str]) -> None:
        assert self.brokers(ext) == {"a", "b", "c"}


class TestActingMaster:
    def test_the_lowest_slave_is_shown_as_master_when_that_is_on(self) -> None:
        desk = Desk(NameServerSettings(support_acting_master=True))
        desk.registered(A_SLAVE.but(acting="true"))
        desk.registered(A_SLAVE.but(id=2, address="10.0.0.4:1", acting="true"))
        assert desk.addresses("T") == {"a": {0: A_SLAVE.address, 2: "10.0.0.4:1"}}
        assert desk.perms("T") == {"a": 4}

    def test_not_when_it_is_off_nor_where_no_group_asked_for_it(self) -> None:
        for setting, acting in ((False, "true"), (True, "false")):
            desk = Desk(NameServerSettings(support_acting_master=setting))
            desk.registered(A_SLAVE.but(acting=acting))
            assert desk.addresses("T") == {"a": {1: A_SLAVE.address}}

    def test_not_in_the_topic_that_members_find_each_other_by(self) -> None:
        desk = Desk(NameServerSettings(support_acting_master=True))
        topic = "rmq_sys_SYNC_BROKER_MEMBER_a"
        desk.registered(A_SLAVE.but(acting="true", topics=("T", topic)))
        assert desk.addresses(topic) == {"a": {1: A_SLAVE.address}}


class TestCache:
    def test_topics_of_a_placement_share_one_answer(self) -> None:
        desk = Desk()
        desk.registered(A)
        first = desk.ask(Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        second = desk.ask(Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "U"})
        assert first.body is second.body

    def test_it_is_bounded_by_bytes(self) -> None:
        bound = 2000
        desk = Desk(limits=NameServerLimits(answer_cache_bytes_max=bound))
        for n in range(20):
            desk.registered(A.but(name=f"b{n}", address=f"h:{n}", topics=(f"T{n}", f"U{n}")))
        for n in range(20):
            assert desk.addresses(f"T{n}") == {f"b{n}": {0: f"h:{n}"}}
            assert desk.core.state.answers.bytes_kept <= bound

    def test_a_broker_that_leaves_is_gone_from_the_next_answer(self) -> None:
        desk = Desk()
        for broker in (A, A_SLAVE, B):
            desk.registered(broker)
        assert desk.addresses("T")["a"] == {0: A.address, 1: A_SLAVE.address}
        desk.close(A_SLAVE.channel)
        assert desk.addresses("T")["a"] == {0: A.address}
