"""Questions for topics and clusters, and topics changed from outside."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.namesrv import Broker, Desk, FakeChannel
from gantrymq.namesrv.core.limits import NameServerLimits
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire import javajson
from gantrymq.wire.bodies.cluster import BrokerMemberGroup
from gantrymq.wire.bodies.route import QueueData, TopicRouteData
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import RequestCode as Code

A = Broker(name="a", topics=("T", "U"), channel=FakeChannel("a"))
B = Broker(
    name="b", address="10.0.0.3:10911", cluster="D", topics=("U", "V"), channel=FakeChannel("b")
)
HELP = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."


def desk_with_both(settings: NameServerSettings | None = None) -> Desk:
    desk = Desk(settings)
    desk.registered(A)
    desk.registered(B)
    return desk


@pytest.mark.parametrize(
    ("ext", "shown"), [({"topic": "X"}, "X"), ({"topic": ""}, ""), ({}, "null"), (None, "null")]
)
def test_an_unknown_topic_gets_the_help_text(ext: dict[str, str] | None, shown: str) -> None:
    desk = Desk()
    answer = desk.ask(Code.GET_ROUTEINFO_BY_TOPIC, ext)
    remark = f"No topic route info in name server for the topic: {shown}{HELP}"
    assert (answer.code, answer.remark, answer.body) == (17, remark, b"")
    assert desk.core.counters.route_misses == 1


class TestStart:
    def test_all_routes_can_wait_for_the_brokers_to_register(self) -> None:
        desk = desk_with_both(NameServerSettings(need_wait_for_service=True))
        desk.wait(44)
        answer = desk.ask(Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        assert (answer.code, answer.remark) == (1, "name server not ready")
        desk.wait(1)
        assert desk.route("T") is not None

    def test_only_unknown_topics_can_wait_for_the_brokers(self) -> None:
        desk = desk_with_both(NameServerSettings(warm_up_seconds=30))
        assert desk.route("T") is not None
        desk.wait(10)
        answer = desk.ask(Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "X"})
        assert answer.code == 1
        assert "name server not ready, it started 10 s ago" in str(answer.remark)
        assert "ask again in 20 s" in str(answer.remark)
        desk.wait(20)
        assert desk.ask(Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "X"}).code == 17


class TestLists:
    def test_all(self) -> None:
        assert desk_with_both().topics(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == {"T", "U", "V"}

    def test_by_cluster(self) -> None:
        desk = desk_with_both()
        assert desk.topics(Code.GET_TOPICS_BY_CLUSTER, {"cluster": "D"}) == {"U", "V"}
        for ext in ({"cluster": "X"}, None):
            assert desk.topics(Code.GET_TOPICS_BY_CLUSTER, ext) == set()

    def test_system(self) -> None:
        answer = desk_with_both().ask(Code.GET_SYSTEM_TOPIC_LIST_FROM_NS)
        listed = TopicList.from_json(javajson.loads(answer.body))
        assert listed.topics == ("C", "a", "D", "b")
        assert listed.broker_address in {A.address, B.address}

    def test_by_unit_flags(self) -> None:
        desk = desk_with_both()
        for topic, flags in (("unit", 1), ("sub", 2), ("both", 3)):
            route = TopicRouteData((QueueData("a", 1, 1, 6, flags),))
            body = javajson.dumps_fastjson(route.to_json())
            assert desk.ask(Code.REGISTER_TOPIC_IN_NAMESRV, {"topic": topic}, body).code == 0
        assert desk.topics(Code.GET_UNIT_TOPIC_LIST) == {"unit", "both"}
        assert desk.topics(Code.GET_HAS_UNIT_SUB_TOPIC_LIST) == {"sub", "both"}
        assert desk.topics(Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST) == {"sub"}

    @pytest.mark.parametrize(
        "code",
        [
            Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
            Code.GET_TOPICS_BY_CLUSTER,
            Code.GET_SYSTEM_TOPIC_LIST_FROM_NS,
            Code.GET_UNIT_TOPIC_LIST,
            Code.GET_HAS_UNIT_SUB_TOPIC_LIST,
            Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        ],
    )
    def test_empty(self, code: int) -> None:
        assert Desk().ask(code).body == b'{"topicList":[]}'

    def test_can_be_withheld(self) -> None:
        desk = Desk(NameServerSettings(enable_all_topic_list=False, enable_topic_list=False))
        for code in (
            Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
            Code.GET_TOPICS_BY_CLUSTER,
            Code.GET_UNIT_TOPIC_LIST,
        ):
            answer = desk.ask(code)
            assert (answer.code, answer.remark) == (1, "disable")


class TestCluster:
    def test_info_is_in_fastjsons_dialect_for_all_clients(self) -> None:
        desk = Desk()
        desk.registered(A)
        expected = (
            b'{"brokerAddrTable":{"a":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"a",'
            b'"cluster":"C","enableActingMaster":false}},"clusterAddrTable":{"C":["a"]}}'
        )
        assert desk.ask(Code.GET_BROKER_CLUSTER_INFO).body == expected

    def test_info_without_brokers(self) -> None:
        body = b'{"brokerAddrTable":{},"clusterAddrTable":{}}'
        assert Desk().ask(Code.GET_BROKER_CLUSTER_INFO).body == body

    def test_a_member_group_known_and_unknown(self) -> None:
        desk = desk_with_both()
        for name, addresses in (("a", {0: A.address}), ("x", {})):
            ext = {"clusterName": "C", "brokerName": name}
            body = desk.ask(Code.GET_BROKER_MEMBER_GROUP, ext).body
            group = BrokerMemberGroup.from_json(javajson.loads(body))
            assert group == BrokerMemberGroup("C", name, addresses)


class TestDeletedHere:
    def test_everywhere_without_a_cluster(self) -> None:
        desk = desk_with_both()
        assert desk.ask(Code.DELETE_TOPIC_IN_NAMESRV, {"topic": "U"}).code == 0
        assert desk.route("U") is None

    def test_of_one_cluster(self) -> None:
        desk = desk_with_both()
        desk.ask(Code.DELETE_TOPIC_IN_NAMESRV, {"topic": "U", "clusterName": "D"})
        assert desk.addresses("U") == {"a": {0: A.address}}
        desk.ask(Code.DELETE_TOPIC_IN_NAMESRV, {"topic": "U", "clusterName": "C"})
        assert desk.route("U") is None

    @pytest.mark.parametrize(
        "ext", [None, {"topic": "X"}, {"topic": "U", "clusterName": "X"}, {"clusterName": "C"}]
    )
    def test_nothing_where_there_is_nothing(self, ext: dict[str, str] | None) -> None:
        desk = desk_with_both()
        assert desk.ask(Code.DELETE_TOPIC_IN_NAMESRV, ext).code == 0
        assert desk.topics(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == {"T", "U", "V"}


class TestRegisteredHere:
    def register(self, desk: Desk, topic: str, *queues: QueueData) -> int:
        body = javajson.dumps_fastjson(TopicRouteData(queues).to_json())
        return desk.ask(Code.REGISTER_TOPIC_IN_NAMESRV, {"topic": topic}, body).code

    def test_on_brokers_known(self) -> None:
        desk = desk_with_both()
        assert self.register(desk, "X", QueueData("a", 1, 1, 4), QueueData("b", 1, 1, 6)) == 0
        assert desk.perms("X") == {"a": 4, "b": 6}

    def test_an_unknown_broker_refuses_the_registration(self) -> None:
        desk = desk_with_both()
        assert self.register(desk, "X", QueueData("a", 1, 1, 4), QueueData("x", 1, 1, 6)) == 0
        assert desk.route("X") is None

    def test_nothing_to_register(self) -> None:
        desk = desk_with_both()
        assert self.register(desk, "X") == 0
        assert desk.ask(Code.REGISTER_TOPIC_IN_NAMESRV, {"topic": "X"}).code == 0
        assert desk.route("X") is None

    def test_within_bounds(self) -> None:
        desk = Desk(limits=NameServerLimits(topics_max=2))
        desk.registered(A)
        assert self.register(desk, "X", QueueData("a", 1, 1, 4)) == 1
        assert self.register(desk, "T", QueueData("a", 1, 1, 4)) == 0

    def test_different_routes_are_bounded(self) -> None:
        desk = Desk(limits=NameServerLimits(placed_queues_max=5))
        for broker in (A, B):  # T on a, U on both, V on b: four
            desk.registered(broker)
        assert self.register(desk, "X", QueueData("a", 1, 1, 4)) == 0
        assert self.register(desk, "Y", QueueData("a", 1, 1, 6)) == 1
        answer = desk.ask(Code.DELETE_TOPIC_IN_NAMESRV, {"topic": "U", "clusterName": "D"})
        assert (answer.code, "too many different routes" in str(answer.remark)) == (1, True)
        assert desk.ask(Code.DELETE_TOPIC_IN_NAMESRV, {"topic": "X"}).code == 0
        assert desk.ask(Code.DELETE_TOPIC_IN_NAMESRV, {"topic": "U", "clusterName": "D"}).code == 0

    @pytest.mark.parametrize(
        "queue",
        [
            QueueData("a", -1, 1, 4),
            QueueData("a", 1, -1, 4),
            QueueData("a", 1, 1, -1),
            QueueData("a", 1, 1, 16),
        ],
    )
    def test_invalid_queues_are_refused(self, queue: QueueData) -> None:
        desk = desk_with_both()
        assert self.register(desk, "X", queue) == 1
        assert desk.route("X") is None

    def test_nonsense_is_refused(self) -> None:
        desk = desk_with_both()
        assert desk.ask(Code.REGISTER_TOPIC_IN_NAMESRV, {"topic": "X"}, b"nonsense").code == 1


class TestWritePermission:
    def test_is_wiped_and_added_on_one_broker(self) -> None:
        desk = desk_with_both()
        wiped = desk.ask(Code.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "a"})
        assert wiped.ext == {"wipeTopicCount": "2"}
        assert desk.perms("U") == {"a": 4, "b": 6}
        added = desk.ask(Code.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "a"})
        assert added.ext == {"addTopicCount": "2"}
        assert desk.perms("U") == {"a": 6, "b": 6}

    def test_adding_sets_read_and_write_outright(self) -> None:
        desk = Desk()
        desk.registered(A.but(perm=7))
        desk.ask(Code.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "a"})
        assert desk.perms("T") == {"a": 5}
        desk.ask(Code.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "a"})
        assert desk.perms("T") == {"a": 6}

    @pytest.mark.parametrize("ext", [None, {"brokerName": "x"}])
    def test_of_an_unknown_broker(self, ext: dict[str, str] | None) -> None:
        desk = desk_with_both()
        assert desk.ask(Code.WIPE_WRITE_PERM_OF_BROKER, ext).ext == {"wipeTopicCount": "0"}
        assert desk.ask(Code.ADD_WRITE_PERM_OF_BROKER, ext).ext == {"addTopicCount": "0"}
