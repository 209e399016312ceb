"""What topics, groups and offsets take of the memory account, and what is refused beyond it."""

from __future__ import annotations

import pytest

from gantrymq.base.memory_account import Kind, MemoryAccount
from gantrymq.broker.core.metadata.topic_creation import create_by_send
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.tables.table_memory import (
    GROUP_BYTES,
    LOOK_SECONDS,
    OFFSET_BYTES,
    PLACE_BYTES,
    TOPIC_BYTES,
)
from gantrymq.fakes.brokers.broker import FakeChannel
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.brokers.pulls import PulledBroker
from gantrymq.wire import javajson
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.offset import UpdateConsumerOffsetRequest
from gantrymq.wire.headers.topic import CreateTopicRequest


@pytest.fixture
def pulls() -> PulledBroker:
    return PulledBroker()


def held(pulls: PulledBroker) -> int:
    pulls.broker.pass_time(LOOK_SECONDS)
    return pulls.state.memory.held_of(Kind.TABLES)


def leave_room_for(pulls: PulledBroker, more: int) -> None:
    """The share of the tables has room for so many bytes more."""
    share = held(pulls) + more
    account = MemoryAccount(share * 4, share_min=share)
    assert account.limit_of(Kind.TABLES) == share
    pulls.state.table_memory._memory = account


def commit(pulls: PulledBroker, group: str, queue_id: int = 0) -> Command:
    header = UpdateConsumerOffsetRequest(
        consumer_group=group, topic="T", queue_id=queue_id, commit_offset=0
    )
    return pulls.broker.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header)


def create_topic(pulls: PulledBroker, topic: str) -> Command:
    header = CreateTopicRequest(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=1,
        write_queue_nums=1,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        order=False,
    )
    return pulls.broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header)


def create_group(pulls: PulledBroker, group: str) -> Command:
    body = javajson.dumps_fastjson(GroupConfig(group_name=group).to_json())
    return pulls.broker.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)


def test_tables_are_counted_as_they_are(pulls: PulledBroker) -> None:
    before = held(pulls)
    create_topic(pulls, "more")
    create_group(pulls, "g")
    commit(pulls, "g", 0)
    commit(pulls, "g", 1)
    more = TOPIC_BYTES + GROUP_BYTES + PLACE_BYTES + 2 * OFFSET_BYTES
    assert held(pulls) == before + more
    pulls.state.topics.remove("more", 1)
    pulls.state.groups.remove("g", 1)
    pulls.state.offsets.remove(group="g")
    assert held(pulls) == before


def test_refusal_names_the_setting_that_bounds_topics_and_groups(
    pulls: PulledBroker,
) -> None:
    leave_room_for(pulls, TOPIC_BYTES + GROUP_BYTES)
    assert create_topic(pulls, "fits").code == ResponseCode.SUCCESS
    assert create_group(pulls, "fits").code == ResponseCode.SUCCESS
    for answer in (create_topic(pulls, "more"), create_group(pulls, "more")):
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert "topics and groups for all connections takes" in (answer.remark or "")
        assert "allowed by maxPeerMemory=" in (answer.remark or "")
        assert "mqadmin deleteTopic" in (answer.remark or "")
    assert create_topic(pulls, "fits").code == ResponseCode.SUCCESS  # it is there already
    pulls.state.topics.remove("fits", 1)
    assert create_topic(pulls, "more").code == ResponseCode.SUCCESS


def test_a_new_group_takes_the_room_of_unused_ones(pulls: PulledBroker) -> None:
    pulls.ask(consumer_group="invented")
    leave_room_for(pulls, 0)
    assert pulls.ask(consumer_group="real").code == ResponseCode.PULL_NOT_FOUND
    assert pulls.state.groups.find("invented") is None


def test_a_new_group_is_refused_where_all_are_used(pulls: PulledBroker) -> None:
    beat(pulls.broker, FakeChannel(), consumer("used", "T"))
    leave_room_for(pulls, 0)
    refused = pulls.ask(consumer_group="real")
    assert refused.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert "no room for it: topics and groups" in (refused.remark or "")
    assert "maxPeerMemory=" in (refused.remark or "")


def test_offsets_of_new_queues_are_refused_and_known_ones_go_on(pulls: PulledBroker) -> None:
    create_group(pulls, "g")
    assert commit(pulls, "g").code == ResponseCode.SUCCESS
    leave_room_for(pulls, 0)
    refused = commit(pulls, "g", 1)
    assert refused.code == ResponseCode.INVALID_PARAMETER
    assert "maxPeerMemory=" in (refused.remark or "")
    assert commit(pulls, "g").code == ResponseCode.SUCCESS


def test_offsets_have_room_when_clients_use_all_memory(pulls: PulledBroker) -> None:
    create_group(pulls, "g")
    leave_room_for(pulls, PLACE_BYTES + OFFSET_BYTES)
    memory = pulls.state.memory
    memory.add(FakeChannel(), Kind.CONNECTIONS, memory.limit)
    assert create_topic(pulls, "more").code == ResponseCode.SYSTEM_ERROR
    assert commit(pulls, "g").code == ResponseCode.SUCCESS


def test_a_topic_is_not_created_by_a_send_without_room() -> None:
    pulls = PulledBroker()
    pulls.state.settings = BrokerSettings(auto_create_topic_enable=True)
    pulls.state.topics.put(TopicConfig("TBW102", perm=7), 1)
    leave_room_for(pulls, 0)
    created = create_by_send(pulls.state, "new", "TBW102", 1, 0, "10.0.0.1:1")
    assert isinstance(created, str)
    assert "maxPeerMemory=" in created
