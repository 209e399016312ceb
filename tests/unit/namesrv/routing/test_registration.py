"""Tests what a broker's registration changes in the name server's routes."""

from __future__ import annotations

import pytest

from gantrymq.base.tasks import run_to_end
from gantrymq.fakes.brokers.namesrv import MASTER, SLAVE, Broker, Desk, FakeChannel
from gantrymq.namesrv.core.messages import Reply, Request, Working
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire.bodies.registration import TOPICS_A_SLICE
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command


class TestFirst:
    def test_a_master_makes_its_topics_known(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        assert desk.addresses("T") == {"a": {0: MASTER.address}}
        assert desk.perms("U") == {"a": 6}
        assert desk.cluster().clusters == {"C": ("a",)}

    def test_the_log_says_what_java_says(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        info = "BrokerAddrInfo [clusterName=C, brokerAddr=10.0.0.1:10911]"
        assert f"new broker registered, {info} HAService: 10.0.0.1:109112" in desk.lines
        assert (
            "new topic registered, T QueueData [brokerName=a, readQueueNums=4, writeQueueNums=4,"
            " perm=6, topicSysFlag=0]" in desk.lines
        )

    def test_a_master_is_told_nothing_and_a_slave_of_its_master(self) -> None:
        desk = Desk()
        assert desk.register(MASTER).ext == {}
        assert desk.register(SLAVE).ext == {
            "haServerAddr": MASTER.address + "2",
            "masterAddr": MASTER.address,
        }

    def test_a_slave_without_a_master_is_told_nothing(self) -> None:
        assert Desk().register(SLAVE).ext == {}

    @pytest.mark.parametrize("compressed", [False, True])
    def test_both_body_forms(self, *, compressed: bool) -> None:
        desk = Desk()
        desk.register(MASTER, compressed=compressed)
        assert desk.addresses("T") == {"a": {0: MASTER.address}}

    def test_a_compressed_body_under_a_header_that_denies_it(self) -> None:
        desk = Desk()
        body = MASTER.body().encode_compressed()
        assert desk.ask(Code.REGISTER_BROKER, MASTER.header(), body).code == 0
        assert desk.addresses("T") != {}

    def test_no_body_registers_a_broker_without_topics(self) -> None:
        desk = Desk()
        assert desk.ask(Code.REGISTER_BROKER, MASTER.header()).code == 0
        assert set(desk.cluster().brokers) == {"a"}


class TestQueuesChange:
    def test_with_a_new_version(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.registered(MASTER.newer(perm=4))
        assert desk.perms("T") == {"a": 4}
        assert any(line.startswith("topic changed, T OLD: ") for line in desk.lines)

    def test_at_an_ids_first_registration_though_the_version_is_known(self) -> None:
        desk = Desk()
        desk.registered(SLAVE)
        desk.registered(SLAVE.but(id=0, perm=4))
        assert desk.perms("T") == {"a": 4}

    def test_not_with_the_version_known(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.registered(MASTER.but(perm=4))
        assert desk.perms("T") == {"a": 6}

    def test_where_they_are_unknown_with_any_version(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.registered(MASTER.but(topics=("T", "U", "V"), perm=4))
        assert (desk.perms("T"), desk.perms("V")) == ({"a": 6}, {"a": 4})

    def test_back_again_after_the_topic_was_deleted_here_though_the_body_is_the_same(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.ask(Code.DELETE_TOPIC_IN_NAMESRV, {"topic": "T"})
        assert desk.route("T") is None
        desk.registered(MASTER)
        assert desk.perms("T") == {"a": 6}

    def test_wiped_permissions_stay_wiped_while_nothing_changes(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.ask(Code.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "a"})
        desk.registered(MASTER)
        assert desk.perms("T") == {"a": 4}
        desk.registered(MASTER.newer())
        assert desk.perms("T") == {"a": 6}

    def test_topics_no_longer_listed_stay_unless_configured_otherwise(self) -> None:
        for delete, kept in ((False, {"T", "U"}), (True, {"T"})):
            desk = Desk(NameServerSettings(delete_topic_with_broker_registration=delete))
            desk.registered(MASTER)
            # Several topics: one alone would be an increment.
            desk.registered(MASTER.newer(topics=("T", "V")))
            topics = desk.topics(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
            assert topics == kept | {"V"}

    def test_an_increment_of_one_topic_removes_no_other_topic(self) -> None:
        desk = Desk(NameServerSettings(delete_topic_with_broker_registration=True))
        desk.registered(MASTER)
        desk.registered(MASTER.newer(topics=("V",)))
        assert desk.topics(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == {"T", "U", "V"}


class TestUnchanged:
    def test_the_same_body_again_is_not_even_decoded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        desk = Desk()
        desk.registered(MASTER)
        monkeypatch.setattr(
            "gantrymq.namesrv.core.routing.registration.RegisterBrokerBody.decode", lambda *_: 1 / 0
        )
        desk.registered(MASTER)
        assert desk.core.counters.registrations_unchanged == 1

    def test_it_still_counts_as_a_sign_of_life(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        for _ in range(10):
            desk.wait(30)
            desk.registered(MASTER)
        assert desk.addresses("T") == {"a": {0: MASTER.address}}

    def test_the_header_still_counts(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.registered(MASTER.but(ext={"gantryListeners": "external=1.2.3.4:1"}))
        assert desk.addresses("T", "external") == {"a": {0: "1.2.3.4:1"}}


class TestSlaves:
    def test_say_nothing_of_queues_while_there_is_a_master(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.registered(SLAVE.newer(topics=("T", "S"), perm=4))
        assert desk.perms("T") == {"a": 6}
        assert desk.route("S") is None

    def test_the_lowest_speaks_for_a_group_without_master(self) -> None:
        desk = Desk()
        desk.registered(SLAVE)
        other = SLAVE.but(id=2, address="10.0.0.3:10911", topics=("T", "S"))
        desk.registered(other)
        assert desk.addresses("T") == {"a": {1: SLAVE.address, 2: other.address}}
        assert desk.route("S") is None

    def test_of_4_9_never_speak(self) -> None:
        desk = Desk()
        desk.registered(SLAVE.but(acting=None))
        assert desk.route("T") is None

    def test_a_slave_that_becomes_the_lowest_is_heard_though_its_body_is_the_same(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        slave = desk.registered(SLAVE.but(topics=("T", "S")))
        desk.unregister(MASTER)
        desk.registered(slave)
        assert desk.perms("S") == {"a": 6}

    def test_one_that_acts_as_master_is_never_writable(self) -> None:
        desk = Desk()
        desk.registered(SLAVE.but(acting="true"))
        assert desk.perms("T") == {"a": 4}


class TestAddresses:
    def test_under_another_id_replaces_the_old_entry(self) -> None:
        desk = Desk()
        desk.registered(SLAVE)
        desk.registered(SLAVE.but(id=0))
        assert desk.addresses("T") == {"a": {0: SLAVE.address}}

    def test_another_takes_an_id_over_and_the_old_channel_no_longer_matters(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        moved = desk.registered(
            MASTER.but(address="10.0.0.9:10911", channel=FakeChannel("10.0.0.9:1"))
        )
        assert desk.addresses("T") == {"a": {0: moved.address}}
        desk.close(MASTER.channel)
        assert desk.addresses("T") == {"a": {0: moved.address}}
        desk.close(moved.channel)
        desk.assert_empty()

    def test_a_larger_state_version_keeps_its_id(self) -> None:
        desk = Desk()
        desk.registered(MASTER.but(version=DataVersion(1000, 1, 7)))
        late = MASTER.but(address="10.0.0.9:10911", version=DataVersion(2000, 9, 6))
        assert desk.register(late).code == 0
        assert desk.addresses("T") == {"a": {0: MASTER.address}}
        assert any("just ignore.: Cluster:C, BrokerName:a" in line for line in desk.lines)

    def test_a_broker_renamed_on_its_address_leaves_its_old_name(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.registered(MASTER.but(name="b"))
        assert desk.addresses("T") == {"b": {0: MASTER.address}}
        desk.unregister(MASTER.but(name="b"))
        desk.assert_empty()

    def test_a_name_in_two_clusters_leaves_both(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.registered(SLAVE.but(cluster="D"))
        assert desk.cluster().clusters == {"C": ("a",), "D": ("a",)}
        desk.close(MASTER.channel)
        assert desk.cluster().clusters == {"D": ("a",)}
        desk.close(SLAVE.channel)
        desk.assert_empty()

    def test_a_cluster_goes_when_its_last_broker_moves_to_another(self) -> None:
        desk = Desk()
        for number in range(50):
            desk.registered(MASTER.but(cluster=f"C{number}"))
        info = desk.cluster()
        assert info.clusters == {"C49": ("a",)}
        assert info.brokers["a"].cluster == "C49"

    def test_an_address_has_one_id_though_it_names_another_cluster(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.registered(MASTER.but(cluster="D", id=1))
        assert desk.addresses("T") == {"a": {1: MASTER.address}}
        desk.registered(MASTER.but(cluster="E", name="b"))
        assert desk.addresses("T") == {"b": {0: MASTER.address}}
        assert desk.cluster().clusters == {"E": ("b",)}


class TestOneTopic:
    def test_alone_is_refused_from_a_broker_unknown(self) -> None:
        desk = Desk()
        answer = desk.register(MASTER.but(topics=("T",)))
        assert answer.code == 1
        assert str(answer.remark).startswith("register broker failed")
        desk.assert_empty()

    def test_is_an_increment_from_one_that_is_known(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.registered(MASTER.newer(topics=("V",)))
        assert desk.topics(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == {"T", "U", "V"}

    def test_after_an_increment_the_old_body_is_read_again(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        desk.registered(MASTER.newer(topics=("T",), perm=4))
        desk.registered(MASTER)
        assert desk.perms("T") == {"a": 6}


class TestFilterServers:
    def test_a_list_replaces_none_leaves_and_empty_removes(self) -> None:
        desk = Desk()

        def shown() -> dict[str, tuple[str, ...]]:
            route = desk.route("T")
            assert route is not None
            return dict(route.filter_servers)

        desk.registered(MASTER.but(filters=("f:1",)))
        assert shown() == {MASTER.address: ("f:1",)}
        desk.registered(MASTER.but(filters=None))
        assert shown() == {MASTER.address: ("f:1",)}
        desk.registered(MASTER.but(filters=()))
        assert shown() == {}


def test_order_configuration_comes_with_the_answer_once_it_exists() -> None:
    desk = Desk(namespaces={"ORDER_TOPIC_CONFIG": {"T": "a:4"}})
    assert desk.register(MASTER).body == b'{"table":{"T":"a:4"}}'
    assert Desk().register(MASTER).body == b""
    silent = Desk(
        NameServerSettings(return_order_topic_config_to_broker=False),
        {"ORDER_TOPIC_CONFIG": {"T": "a:4"}},
    )
    assert silent.register(MASTER).body == b""


class TestPieces:
    """A long body is read with pauses, and applied as a whole."""

    topics = tuple(f"topic-{number:05}" for number in range(3_000))

    def begin(self, desk: Desk, broker: Broker) -> Working:
        command = Command(
            Code.REGISTER_BROKER,
            version=479,
            ext=dict(broker.header()),
            body=broker.body().encode(),
        )
        outcome = desk.core.handle(Request(command, broker.channel), desk.now, 0)
        assert isinstance(outcome, Working)
        return outcome

    def test_nothing_is_known_before_the_last_piece(self) -> None:
        desk = Desk()
        working = self.begin(desk, MASTER.newer(topics=self.topics))
        for _ in range(len(self.topics) // TOPICS_A_SLICE):
            next(working.task)
            assert desk.addresses("topic-00000") == {}
        reply = run_to_end(working.task)
        assert isinstance(reply, Reply)
        assert reply.command.code == 0
        assert desk.addresses("topic-02999") == {"a": {0: MASTER.address}}

    def test_a_newer_master_that_registers_in_a_pause_stays(self) -> None:
        desk = Desk()
        desk.registered(MASTER)
        working = self.begin(desk, MASTER.newer(topics=self.topics))
        next(working.task)
        rival = Broker(
            address="10.0.0.7:10911",
            channel=FakeChannel("10.0.0.7:40000"),
            ext={"gantryEpoch": "5"},
        )
        assert desk.register(rival).code == 0

        assert isinstance(reply := run_to_end(working.task), Reply)

        assert reply.command.code == 1
        assert "epoch" in (reply.command.remark or "")
        assert desk.addresses("T") == {"a": {0: rival.address}}

    def test_a_long_body_that_cannot_be_read_is_refused(self) -> None:
        desk = Desk()
        body = b'{"topicConfigSerializeWrapper":{"topicConfigTable":[' + b"1," * 40_000 + b"1]}}"
        answer = desk.ask(Code.REGISTER_BROKER, MASTER.header(), body)
        assert answer.code == 1
        assert "decode" in (answer.remark or "")
