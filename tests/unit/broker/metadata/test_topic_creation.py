"""Topics that messages create: when, how, and that none is lost with its messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.broker.core.messages import ANSWERED_LATER, File, Register, Request, SaveFile
from gantrymq.broker.core.metadata import topic_creation
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

SEND = RequestCode.SEND_MESSAGE_V2
INHERITED = TopicConfig("TBW102", read_queue_nums=8, write_queue_nums=8, perm=7)


def creating() -> OpenedBroker:
    broker = OpenedBroker(BrokerSettings(auto_create_topic_enable=True))
    broker.state.topics.put(INHERITED, broker.wall_ms)
    broker.settle()
    return broker


@pytest.mark.parametrize(("wanted", "made"), [(4, 4), (8, 8), (16, 8)])
def test_the_first_message_creates_its_topic(wanted: int, made: int) -> None:
    broker = creating()
    answer = broker.ask(SEND, message("new", queues=wanted), b"first")
    assert answer.code == ResponseCode.SUCCESS
    assert broker.bodies("new") == [b"first"]
    assert broker.state.topics.find("new") == TopicConfig(
        "new", read_queue_nums=made, write_queue_nums=made, perm=6
    )
    assert broker.registered == [Register(("new",))]
    assert [each.config for each in broker.spread] == [broker.state.topics.find("new")]


def test_any_topic_may_be_inherited_that_says_so() -> None:
    broker = OpenedBroker()
    broker.state.topics.put(replace(INHERITED, topic_name="mine", perm=5), broker.wall_ms)
    assert broker.ask(SEND, message("new", default_topic="mine"), b"x").code == 0
    new = broker.state.topics.find("new")
    assert new is not None
    assert new.perm == 4


@pytest.mark.parametrize(
    ("enabled", "perm", "queues", "default_topic", "words"),
    [
        (False, 7, 4, "TBW102", "autoCreateTopicEnable is false"),
        (True, 6, 4, "TBW102", "may not be inherited, its perm is 6"),
        (True, 7, 0, "TBW102", "defaultTopicQueueNums is 0"),
        (True, 7, -1, "TBW102", "defaultTopicQueueNums is -1"),
        (True, 7, 4, "other", "neither is the default topic other"),
    ],
)
def test_where_nothing_may_be_inherited_no_topic_is_created(
    enabled: bool, perm: int, queues: int, default_topic: str, words: str
) -> None:
    broker = OpenedBroker(BrokerSettings(auto_create_topic_enable=enabled))
    broker.state.topics.put(replace(INHERITED, perm=perm), broker.wall_ms)
    answer = broker.ask(SEND, message("new", queues=queues, default_topic=default_topic))
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert words in (answer.remark or "")
    assert broker.state.topics.find("new") is None


def test_messages_create_a_bounded_number_of_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = creating()
    most = len(broker.state.topics) + 1
    monkeypatch.setattr(topic_creation, "TOPICS_MAX", most)
    assert broker.ask(SEND, message("one"), b"x").code == ResponseCode.SUCCESS
    for topic in ("two", "%RETRY%G"):
        answer = broker.ask(SEND, message(topic), b"x")
        assert answer.code == ResponseCode.TOPIC_NOT_EXIST
        assert f"messages create {most} topics at most" in (answer.remark or "")


def test_units_are_marked() -> None:
    broker = creating()
    broker.ask(SEND, message("new", unit_mode=True), b"x")
    new = broker.state.topics.find("new")
    assert new is not None
    assert new.topic_sys_flag == topic_creation.UNIT


def test_a_groups_topic_is_created_by_what_is_sent_to_it() -> None:
    broker = OpenedBroker()
    assert broker.ask(SEND, message("%RETRY%G"), b"x").code == ResponseCode.SUCCESS
    assert broker.state.topics.find("%RETRY%G") == TopicConfig(
        "%RETRY%G", read_queue_nums=1, write_queue_nums=1
    )
    assert not broker.spread  # each master has it when a consumer comes


def test_a_groups_topic_that_is_there_stays_as_it_is() -> None:
    broker = OpenedBroker()
    made = add_topic(broker, "%RETRY%G", queues=3)
    assert topic_creation.create_retry_topic(broker.state, "G", 1) == made


def test_a_message_is_acknowledged_when_the_name_servers_know_its_topic() -> None:
    broker = creating()
    broker.name_servers_hang = True
    request = broker.send(SEND, message("new"), b"x")
    assert broker.is_held(request)
    assert broker.registered == [Register(("new",))]
    broker.name_servers_know(*broker.awaited_registrations)
    broker.settle()
    answer = broker.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SUCCESS


# ---------------------------------------------------------------------- crashes


def begin(broker: OpenedBroker) -> tuple[Request, list[File]]:
    """A send to a new topic, and the files to write for it, which are not written yet."""
    header = message("new").encode()
    request = Request(Command(SEND, ext=header, body=b"x"), broker.channel)
    assert broker.broker.handle(request, broker.now, broker.wall_ms) is ANSWERED_LATER
    broker.broker.turn(broker.now, broker.wall_ms)
    effects = broker.broker.take_effects()
    return request, [effect.file for effect in effects if isinstance(effect, SaveFile)]


def test_no_message_is_stored_before_its_topic_is_safe() -> None:
    broker = creating()
    assert begin(broker)[1] == [File.TOPICS]
    assert begin(broker)[1] == []  # the topic is there by now, but no safer
    assert not broker.bodies("new")
    broker.broker.written(File.TOPICS, None, broker.now, broker.wall_ms)
    broker.settle()
    assert broker.bodies("new") == [b"x", b"x"]


def test_a_message_is_refused_while_its_topic_cannot_be_made_safe() -> None:
    broker = creating()
    request, _ = begin(broker)
    broker.broker.written(File.TOPICS, "the disk is full", broker.now, broker.wall_ms)
    broker.settle()
    answer = broker.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "a failover could forget it: the disk is full" in (answer.remark or "")
    assert not broker.bodies("new")
    broker.pass_time(1.0)
    assert broker.ask(SEND, message("new"), b"x").code == ResponseCode.SUCCESS


def test_a_message_makes_no_topic_beyond_the_bound_of_queues() -> None:
    broker = creating()
    count = broker.state.topics.queue_count
    broker.state.settings = replace(broker.state.settings, max_queues_of_topics=count + 4)
    assert broker.ask(SEND, message("one", queues=4), b"x").code == ResponseCode.SUCCESS
    answer = broker.ask(SEND, message("two", queues=4), b"x")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert f"maxQueuesOfTopics={count + 4}" in (answer.remark or "")
