"""Tests which tables a slave copies from its master, and when they count."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.names.system_topics import HALF_TOPIC, TRANSACTION_GROUP
from gantrymq.broker.core.replication.slave_synchronizer import ROUND_SECONDS
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.pops import PoppedBroker
from gantrymq.fakes.brokers.replicas import (
    MASTER,
    NAME_SERVER,
    copy_log,
    opened_slave,
    pair,
    registered,
    warnings,
)
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.pops import RequestMode, TopicMode
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import RegisterBrokerResponse


def test_a_slave_has_the_masters_topics_and_groups_as_soon_as_it_finds_it() -> None:
    master, slave = OpenedBroker(), opened_slave()
    add_topic(master)
    master.state.groups.put(GroupConfig(group_name="G", retry_queue_nums=3), 5)
    slave.reachable[MASTER] = master
    slave.state.topics.put(TopicConfig("Old"), 5)
    registered(slave)
    assert dict(slave.state.topics.all) == dict(master.state.topics.all)
    assert dict(slave.state.groups.all) == dict(master.state.groups.all)
    assert slave.state.topics.data_version == master.state.topics.data_version
    assert slave.saved[File.TOPICS] == master.saved[File.TOPICS]
    assert slave.saved[File.GROUPS] == master.saved[File.GROUPS]


def test_changes_of_the_master_come_with_the_next_round() -> None:
    master, slave = pair()
    add_topic(master, "New")
    slave.pass_time(ROUND_SECONDS)
    assert slave.state.topics.find("New") is not None
    master.state.topics.remove("New", 9)
    master.state.groups.forbid("TOOLS_CONSUMER", "T", 4, 9)
    slave.pass_time(ROUND_SECONDS)
    assert slave.state.topics.find("New") is None
    assert slave.state.groups.forbidden("TOOLS_CONSUMER", "T") == 4


def test_equal_versions_are_equal_tables() -> None:
    _, slave = pair()
    slave.saved.clear()
    slave.pass_time(3 * ROUND_SECONDS)
    assert File.TOPICS not in slave.saved
    assert File.GROUPS not in slave.saved
    assert len(slave.asked_brokers) > 12


def test_offsets_are_the_masters_and_its_own_stay_where_the_master_has_none() -> None:
    master, slave = OpenedBroker(), opened_slave()
    master.state.offsets.commit("G", "T", 0, 7)
    slave.state.offsets.commit("G", "T", 0, 9)
    slave.state.offsets.commit("G", "T", 1, 9)
    slave.state.offsets.commit("Own", "T", 0, 3)
    slave.reachable[MASTER] = master
    registered(slave)
    assert dict(slave.state.offsets.queues("G", "T")) == {0: 7, 1: 9}
    assert dict(slave.state.offsets.queues("Own", "T")) == {0: 3}
    assert len(slave.state.offsets) == 3
    assert slave.state.offsets.backward_commits == 0
    slave.pass_time(6.0)
    assert b'"T@G":{0:7' in slave.saved[File.OFFSETS]


def test_slave_continues_at_the_first_unacknowledged_popped_message() -> None:
    """What is out is in no table of a slave's, and would be lost to the group with the master."""
    popped, slave = PoppedBroker(), opened_slave()
    popped.store("a", "b", "c")
    first, second, third = popped.popped()
    copy_log(slave, popped.broker)
    slave.reachable[MASTER] = popped.broker
    registered(slave)
    popped.ack(first)
    popped.ack(third)
    slave.pass_time(ROUND_SECONDS)
    popped.broker.pass_time(ROUND_SECONDS)
    slave.pass_time(ROUND_SECONDS)
    assert popped.stored() == 3
    assert slave.state.offsets.find("G", "T", 0) == second.offset == 1
    popped.ack(second)
    slave.pass_time(ROUND_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 3


def test_modes_of_consumption_are_the_masters() -> None:
    master, slave = OpenedBroker(), opened_slave()
    master.state.request_modes.put(TopicMode(topic="T", consumer_group="G", mode=RequestMode.POP))
    slave.state.request_modes.put(TopicMode(topic="Old", consumer_group="G", mode=RequestMode.POP))
    slave.reachable[MASTER] = master
    registered(slave)
    assert slave.state.request_modes.find("T", "G") is not None
    assert slave.state.request_modes.find("Old", "G") is None


# ---------------------------------------------------------------------- deliveries


def delays_of(saved: bytes) -> object:
    value = javajson.loads(saved)
    assert isinstance(value, dict)
    return value["offsetTable"]


def told(master_log_end: int) -> dict[RequestCode, bytes]:
    return {
        RequestCode.GET_ALL_DELAY_OFFSET: b'{"offsetTable":{3:8}}',
        RequestCode.GET_TIMER_CHECK_POINT: bytes.fromhex(
            f"{90_000:016x}{0:016x}{5:016x}{5:016x}{0:048x}"
        ),
        RequestCode.GET_BROKER_RUNTIME_INFO: b'{"table":{"commitLogMaxOffset":"%d"}}'
        % master_log_end,
    }


class ScriptedMaster(OpenedBroker):
    """A master of another make: it answers these bodies, and what else it is asked as here."""

    scripted: dict[RequestCode, bytes]
    refused: tuple[RequestCode, ...] = ()

    def ask(self, code: RequestCode, *arguments: object, **more: object) -> Command:
        if code in self.refused:
            return Command(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark="not supported")
        if code in self.scripted:
            return Command(ResponseCode.SUCCESS, body=self.scripted[code])
        return super().ask(code, *arguments, **more)  # type: ignore[arg-type]  # passed on


def scripted(bodies: dict[RequestCode, bytes]) -> tuple[ScriptedMaster, OpenedBroker]:
    master, slave = ScriptedMaster(), opened_slave()
    master.scripted = bodies
    slave.reachable[MASTER] = master
    return master, slave


def test_how_far_deliveries_came_is_written_when_the_log_is_here() -> None:
    _, slave = scripted(told(master_log_end=0))
    registered(slave)
    slave.pass_time(11.0)
    assert slave.services.delay_service.offset(3) == 8
    assert delays_of(slave.saved[File.DELAYS]) == {3: 8}
    timers = javajson.loads(slave.saved[File.TIMERS])
    assert timers == {"delivered": 89, "low": 0, "taken": 5}


def test_how_far_deliveries_came_is_not_written_before_the_log_is_here() -> None:
    _, slave = scripted(told(master_log_end=1_000))
    registered(slave)
    slave.pass_time(25.0)
    assert slave.services.delay_service.offset(3) == 8
    assert delays_of(slave.saved[File.DELAYS]) == {}
    timers = javajson.loads(slave.saved[File.TIMERS])
    assert timers == {"delivered": 0, "low": 0, "taken": 0}


@pytest.mark.parametrize("log_end", [0, 1_000])
def test_how_far_transactions_came_counts_when_the_log_is_here(log_end: int) -> None:
    """Else a half would count as decided whose decision was lost with the master."""
    table = b'{"offsetTable":{"%s@%s":{0:5}}}' % (HALF_TOPIC.encode(), TRANSACTION_GROUP.encode())
    _, slave = scripted(told(log_end) | {RequestCode.GET_ALL_CONSUMER_OFFSET: table})
    slave.pass_time(1.0)
    registered(slave)
    slave.pass_time(2 * ROUND_SECONDS)
    came_to = slave.state.offsets.find(TRANSACTION_GROUP, HALF_TOPIC, 0)
    assert came_to == (None if log_end else 5)


def test_a_log_end_of_thousands_of_digits_is_a_fault_of_the_master_and_no_defect() -> None:
    _, slave = scripted(told(master_log_end=10**4_000 + 1))
    registered(slave)
    said = [text.partition(" ")[0] for text in warnings(slave)]
    assert said == ["SyncConsumerOffset", "SyncDelayOffset", "syncTimerCheckPoint"]


def test_a_master_tells_how_far_its_timers_are() -> None:
    master, slave = pair()
    place = b'{"delivered":1700000000,"low":3,"taken":9}'
    master.broker.loaders[File.TIMERS](place)
    slave.pass_time(2 * ROUND_SECONDS + 1)
    assert javajson.loads(slave.saved[File.TIMERS]) == javajson.loads(place)


# ---------------------------------------------------------------------- faults


def test_an_older_master_has_fewer_tables_and_that_is_no_fault() -> None:
    master, slave = scripted({})
    master.refused = (
        RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
        RequestCode.GANTRY_LIST_QUOTAS,
        RequestCode.GET_TIMER_CHECK_POINT,
    )
    registered(slave)
    assert warnings(slave) == []
    assert slave.state.topics.data_version == master.state.topics.data_version


@pytest.mark.parametrize(
    ("code", "body", "line"),
    [
        (RequestCode.GET_ALL_TOPIC_CONFIG, b"[]", "SyncTopicConfig"),
        (RequestCode.GET_ALL_TOPIC_CONFIG, b"{}", "SyncTopicConfig"),
        (RequestCode.GET_ALL_CONSUMER_OFFSET, b'{"offsetTable":{"a@b":7}}', "SyncConsumerOffset"),
        (RequestCode.GET_ALL_DELAY_OFFSET, b"[", "SyncDelayOffset"),
        (RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, b"{}", "SyncSubscriptionGroup"),
        (RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, b"3", "SyncMessageRequestMode"),
        (RequestCode.GANTRY_LIST_QUOTAS, b"3", "SyncQuotas"),
        (RequestCode.GET_TIMER_CHECK_POINT, b"", "syncTimerCheckPoint"),
        (RequestCode.GET_TIMER_CHECK_POINT, b"\xff" * 56, "syncTimerCheckPoint"),
    ],
)
def test_each_table_is_a_try_of_its_own(code: RequestCode, body: bytes, line: str) -> None:
    master, slave = scripted({code: body})
    master.state.offsets.commit("G", "T", 0, 7)
    slave.state.groups.put(GroupConfig(group_name="Own"), 5)
    slave.state.topics.put(TopicConfig("Own"), 5)
    registered(slave)
    assert [text.partition(" ")[0] for text in warnings(slave)] == [line]
    topics_failed = code is RequestCode.GET_ALL_TOPIC_CONFIG
    assert (slave.state.topics.find("Own") is not None) is topics_failed
    groups_failed = code is RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
    assert (slave.state.groups.find("Own") is not None) is groups_failed
    offsets_failed = code is RequestCode.GET_ALL_CONSUMER_OFFSET
    assert (slave.state.offsets.find("G", "T", 0) is None) is offsets_failed


def test_unreachable_master_is_logged_once() -> None:
    master, slave = pair()
    del slave.reachable[MASTER]
    slave.pass_time(10 * ROUND_SECONDS)
    assert len(warnings(slave)) == 7
    add_topic(master, "New")
    slave.reachable[MASTER] = master
    slave.pass_time(ROUND_SECONDS)
    assert slave.state.topics.find("New") is not None
    assert "Update slave topic config from master" in slave.lines[-7].text


def test_tables_of_a_master_that_is_none_any_more_are_left_alone() -> None:
    master, slave = OpenedBroker(), opened_slave()
    registered(slave)
    registered(slave, None, None)
    slave.reachable[MASTER] = master
    asked = len(slave.asked_brokers)
    slave.pass_time(5 * ROUND_SECONDS)
    assert len(slave.asked_brokers) == asked


def test_tables_of_a_former_master_are_ignored() -> None:
    class Succeeded(OpenedBroker):
        """Another one is known to be master by the time it answers."""

        def ask(self, code: RequestCode, *arguments: object, **more: object) -> Command:
            answer = super().ask(code, *arguments, **more)  # type: ignore[arg-type]  # passed on
            told = RegisterBrokerResponse(master_addr="10.0.0.9:10911")
            slave.broker.registered(NAME_SERVER, told, slave.now, slave.wall_ms)
            return answer

    master, slave = Succeeded(), opened_slave()
    master.state.topics.put(TopicConfig("Old"), 5)
    slave.reachable[MASTER] = master
    registered(slave)
    assert [each.address for each in slave.asked_brokers].count(MASTER) >= 1
    assert slave.state.topics.find("Old") is None


def test_a_master_copies_nothing() -> None:
    master = OpenedBroker()
    registered(master)
    master.pass_time(5 * ROUND_SECONDS)
    assert master.asked_brokers == []
