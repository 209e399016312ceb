"""Tests requests that read and change topics."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping

import pytest

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.messages import AnsweredLater, File, Register, Request
from gantrymq.broker.core.processor.admin import topic_requests
from gantrymq.broker.core.replication.slave_synchronizer import OWN_MARK
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.replicas import FakeReplication, follower
from gantrymq.fakes.stores.store import message
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.topic import (
    CreateTopicRequest,
    DeleteTopicRequest,
    GetTopicConfigRequest,
)
from gantrymq.wire.javajson import dumps_fastjson, loads
from gantrymq.wire.jsonvalue import Json, object_of
from gantrymq.wire.version import V4_9_8, V5_0_0

SYSTEM = frozenset(OpenedBroker().state.topics.all)


def made(broker: OpenedBroker) -> set[str]:
    """The topics that are not the broker's own."""
    return set(broker.state.topics.all) - SYSTEM


def failed(error: Exception) -> None:
    raise error


def put(broker: OpenedBroker, topic: str) -> None:
    broker.state.task_runner.start(tasks.put(message(1, topic)), lambda _: None, failed)
    broker.settle()


def create(
    broker: OpenedBroker,
    topic: str = "T",
    *,
    queues: int = 4,
    perm: int = 6,
    filter_type: str = "SINGLE_TAG",
    order: bool = False,
    attributes: str | None = None,
) -> Command:
    header = CreateTopicRequest(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=queues,
        write_queue_nums=queues,
        perm=perm,
        topic_filter_type=filter_type,
        order=order,
        attributes=attributes,
    )
    return broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header)


def delete(broker: OpenedBroker, topic: str) -> Command:
    return broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequest(topic=topic))


def create_list(broker: OpenedBroker, *topics: TopicConfig) -> Command:
    body = dumps_fastjson({"topicConfigList": [topic.to_json() for topic in topics]})
    return broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body)


def test_created_topic_is_saved_and_registered() -> None:
    broker = OpenedBroker()
    assert create(broker, order=True).code == ResponseCode.SUCCESS
    config = TopicConfig("T", 4, 4, order=True)
    assert broker.state.topics.find("T") == config
    assert broker.registered == [Register(("T",))]
    again = OpenedBroker(files=broker.saved)
    assert again.state.topics.find("T") == config


def test_creation_is_answered_when_the_file_is_written() -> None:
    broker = OpenedBroker()
    header = CreateTopicRequest(
        topic="T",
        default_topic="TBW102",
        read_queue_nums=1,
        write_queue_nums=1,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        order=False,
    )
    request = Request(
        Command(RequestCode.UPDATE_AND_CREATE_TOPIC, ext=header.encode()), broker.channel
    )
    assert isinstance(broker.broker.handle(request, broker.now, broker.wall_ms), AnsweredLater)
    assert "T" in broker.state.topics.unsaved
    broker.settle()
    assert File.TOPICS in broker.saved
    assert broker.answer(request)
    assert "T" not in broker.state.topics.unsaved


def test_unchanged_topic_is_not_written_again() -> None:
    broker = OpenedBroker()
    create(broker)
    broker.saved.clear()
    assert create(broker).code == ResponseCode.SUCCESS
    assert not broker.saved
    assert len(broker.registered) == 1


def test_a_topic_shrinks_and_keeps_its_queues() -> None:
    broker = OpenedBroker()
    create(broker, queues=1)
    put(broker, "T")
    create(broker, queues=0)
    create(broker, queues=1)
    broker.settle()
    assert broker.bodies("T") == [b"body 1"]


def test_attributes_are_changed_one_by_one() -> None:
    broker = OpenedBroker()
    create(broker, attributes="+message.type=FIFO")
    create(broker, attributes="+reserve.time=5")
    found = broker.state.topics.find("T")
    assert found is not None
    assert found.attributes == {"message.type": "FIFO", "reserve.time": "5"}
    answer = create(broker, attributes="-color")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "attempt to delete a nonexistent key: color"
    assert broker.state.topics.find("T") == found


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("", "The specified topic is blank."),
        (
            "a b",
            "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        ),
        ("t" * 128, "The specified topic is longer than topic max length."),
        ("SCHEDULE_TOPIC_XXXX", "The topic[SCHEDULE_TOPIC_XXXX] is conflict with system topic."),
        ("DefaultCluster", "The topic[DefaultCluster] is conflict with system topic."),
    ],
)
def test_names_that_are_refused(topic: str, words: str) -> None:
    broker = OpenedBroker()
    answer = create(broker, topic)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert (answer.remark or "").startswith(words)
    assert not made(broker)


def test_system_topics_change_where_the_settings_allow_it() -> None:
    broker = OpenedBroker(BrokerSettings(validate_system_topic_when_update_topic=False))
    assert create(broker, "BenchmarkTest").code == ResponseCode.SUCCESS
    assert delete(broker, "BenchmarkTest").code == ResponseCode.SUCCESS


def test_absurd_numbers_are_refused() -> None:
    broker = OpenedBroker()
    for answer in (
        create(broker, queues=-1),
        create(broker, queues=topic_requests.QUEUES_MAX + 1),
        create(broker, perm=8),
        create(broker, perm=-1),
        create(broker, attributes="+message.type=MIXED"),
    ):
        assert answer.code == ResponseCode.INVALID_PARAMETER
    assert create(broker, filter_type="TRIPLE").code == ResponseCode.SYSTEM_ERROR
    assert not made(broker)


def test_a_header_without_a_topic_is_a_system_error() -> None:
    assert OpenedBroker().ask(RequestCode.UPDATE_AND_CREATE_TOPIC).code == ResponseCode.SYSTEM_ERROR


def test_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_requests, "TOPICS_MAX", len(SYSTEM) + 1)
    broker = OpenedBroker()
    assert create(broker, "A").code == ResponseCode.SUCCESS
    assert "at most" in (create(broker, "B").remark or "")
    assert create(broker, "A", queues=5).code == ResponseCode.SUCCESS


def test_of_a_list_all_topics_are_made_or_none() -> None:
    broker = OpenedBroker()
    same = TopicConfig("A")
    broker.state.topics.put(same, 1)
    answer = create_list(broker, TopicConfig("B"), TopicConfig("bad name"))
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert made(broker) == {"A"}
    assert create_list(broker, same, TopicConfig("B"), TopicConfig("C")).code == 0
    assert made(broker) == {"A", "B", "C"}
    assert broker.registered == [Register(("B", "C"))]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"topicConfigList":[{}]}'])
def test_a_list_that_is_none_is_refused(body: bytes) -> None:
    answer = OpenedBroker().ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body)
    assert answer.code == ResponseCode.SYSTEM_ERROR


def test_deletion_removes_queues_offsets_resets_and_retry_topics() -> None:
    broker = OpenedBroker()
    state = broker.state
    for topic in ("T", "%RETRY%g_T", "%RETRY%h_T", "U"):
        state.topics.put(TopicConfig(topic, 1, 1), 1)
    state.groups.put(GroupConfig(group_name="g"), 1)
    for topic in ("T", "U"):
        put(broker, topic)
        state.offsets.commit("g", topic, 0, 1)
        state.resets.assign("g", topic, 0, 0)
    broker.settle()
    assert delete(broker, "T").code == ResponseCode.SUCCESS
    broker.settle()
    assert made(broker) == {"%RETRY%h_T", "U"}
    assert state.offsets.topics_of("g") == ["U"]
    assert state.resets.pending("g", "T", 0) is None
    assert state.resets.pending("g", "U", 0) == 0
    assert state.store.queues.topics() == ["U"]
    assert broker.registered == [Register()]
    again = OpenedBroker(files=broker.saved)
    assert again.state.offsets.topics_of("g") == ["U"]


def test_deletion_of_an_unknown_topic_succeeds() -> None:
    broker = OpenedBroker()
    assert delete(broker, "T").code == ResponseCode.SUCCESS
    assert delete(broker, " ").remark == "The specified topic is blank."
    assert delete(broker, "TBW102").code == ResponseCode.INVALID_PARAMETER


def test_one_topic_is_described() -> None:
    broker = OpenedBroker()
    create(broker)
    answer = broker.ask(RequestCode.GET_TOPIC_CONFIG, GetTopicConfigRequest(topic="T"))
    assert TopicConfig.from_json(loads(answer.body)) == TopicConfig("T", 4, 4)
    answer = broker.ask(RequestCode.GET_TOPIC_CONFIG, GetTopicConfigRequest(topic="U"))
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert (answer.remark or "").startswith("No topic in this broker. topic: U")


def test_slaves_get_all_topics_in_one_answer() -> None:
    broker = OpenedBroker()
    create(broker)
    bean = object_of(loads(broker.ask(RequestCode.GET_ALL_TOPIC_CONFIG).body), "body")
    assert list(bean) == [
        "dataVersion",
        "topicConfigTable",
        "mappingDataVersion",
        "topicQueueMappingDetailMap",
        "topicQueueMappingInfoMap",
    ]
    table = object_of(bean["topicConfigTable"], "table")
    assert table["T"] == TopicConfig("T", 4, 4).to_json()
    assert table.keys() - {"T"} == SYSTEM


def test_slaves_of_java5_get_attributes_as_changes() -> None:
    """Slaves of Java 5 end their round of synchronization at attributes in another form."""
    broker = OpenedBroker()
    create(broker, attributes="+message.type=FIFO,+reserve.time=3")
    replication = FakeReplication()
    broker.state.replication = replication

    def told(version: int = V5_0_0, ext: Mapping[str, str] | None = None) -> object:
        fields = dict(ext or {})
        answer = broker.ask(RequestCode.GET_ALL_TOPIC_CONFIG, ext=fields, version=version)
        table = object_of(object_of(loads(answer.body), "body")["topicConfigTable"], "table")
        assert table.keys() == {*SYSTEM, "T"}
        return object_of(table["T"], "T")["attributes"]

    plain = {"message.type": "FIFO", "reserve.time": "3"}
    assert told() == plain
    replication.slaves = [follower("127.0.0.1:5")]
    assert told() == {"+message.type": "FIFO"}
    assert told(V4_9_8) == plain
    assert told(ext=OWN_MARK) == plain
    replication.slaves = [follower("127.0.0.2:5")]
    assert told() == plain


def test_system_topics_are_listed() -> None:
    answer = OpenedBroker().ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
    assert "TBW102" in json.loads(answer.body)["topicList"]


def test_a_topic_whose_queues_would_be_too_many_in_all_is_refused_by_name_of_the_setting() -> None:
    broker = OpenedBroker()
    known = broker.state.topics.queue_count
    broker.state.settings = BrokerSettings(max_queues_of_topics=known + 10)
    assert create(broker, "A", queues=10).code == ResponseCode.SUCCESS
    answer = create(broker, "B", queues=1)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert f"maxQueuesOfTopics={known + 10}" in (answer.remark or "")
    assert made(broker) == {"A"}
    assert create(broker, "A", queues=4).code == ResponseCode.SUCCESS
    assert create(broker, "B", queues=6).code == ResponseCode.SUCCESS


def test_topic_keeps_its_queues_when_the_limit_is_lowered_below_their_number() -> None:
    broker = OpenedBroker()
    create(broker, "A", queues=10)
    broker.state.settings = BrokerSettings(max_queues_of_topics=1)
    assert create(broker, "A", queues=10, perm=4).code == ResponseCode.SUCCESS
    assert create(broker, "A", queues=11).code == ResponseCode.SYSTEM_ERROR


def test_lists_at_the_same_time_make_no_more_topics_than_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(topic_requests, "TOPICS_A_TURN", 2)
    broker = OpenedBroker()
    monkeypatch.setattr(topic_requests, "TOPICS_MAX", len(SYSTEM) + 8)
    lists: list[list[Json]] = [
        [TopicConfig(topic_name=f"{letter}{number}").to_json() for number in range(6)]
        for letter in "AB"
    ]
    answers: list[object] = []
    for wanted in lists:
        body = dumps_fastjson({"topicConfigList": wanted})
        command = Command(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body)
        request = Request(command, broker.channel)
        work = topic_requests.update_and_create_topic_list(broker.state, request)
        assert isinstance(work, Generator)
        broker.state.task_runner.start(work, answers.append, failed)
    broker.settle()
    for _ in range(20):
        broker.pass_time(0.1)

    assert len(made(broker)) == 8
    assert sorted(type(each).__name__ for each in answers) == ["Reply", "Reply"]
