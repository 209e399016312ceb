"""Messages that come back from consumers: another try, or the dead letters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.broker.core.metadata.group_expiry import make_room
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import IDENTITY, OpenedBroker
from gantrymq.fakes.brokers.sends import BORN_MS, UNIQUE, add_topic, message
from gantrymq.wire import hosts
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import ConsumerSendMsgBackRequest
from gantrymq.wire.message import offset_id, properties
from gantrymq.wire.message.record import Record
from gantrymq.wire.version import V3_4_9

SEND = RequestCode.SEND_MESSAGE_V2
BACK = RequestCode.CONSUMER_SEND_MSG_BACK
SCHEDULE = "SCHEDULE_TOPIC_XXXX"


def opened(settings: BrokerSettings | None = None) -> OpenedBroker:
    """With one message in T, by a producer that is elsewhere than the consumer."""
    broker = OpenedBroker(settings)
    add_topic(broker)
    said = {"UNIQ_KEY": UNIQUE, "TAGS": "a", "WAIT": "true"}
    broker.ask(SEND, message(properties=said, sys_flag=0x301), b"zip")
    return broker


def only(broker: OpenedBroker, topic: str, queue_id: int = 0) -> Record:
    (record,) = broker.opened.records(topic, queue_id)
    return record


def sent_back(
    broker: OpenedBroker,
    position: int = 0,
    *,
    level: int = 0,
    times_max: int | None = None,
    unit_mode: bool = False,
    version: int = 479,
) -> Command:
    header = ConsumerSendMsgBackRequest(
        offset=position,
        group="G",
        delay_level=level,
        origin_msg_id=UNIQUE,
        origin_topic="T",
        unit_mode=unit_mode,
        max_reconsume_times=times_max,
    )
    return broker.ask(BACK, header, version=version)


# ---------------------------------------------------------------------- sent back


def test_a_message_sent_back_waits_for_another_try() -> None:
    broker = opened()
    answer = sent_back(broker)
    assert (answer.code, answer.remark, answer.ext) == (ResponseCode.SUCCESS, None, None)
    first, copy = only(broker, "T"), only(broker, SCHEDULE, 2)
    assert properties.parse(copy.properties) == {
        **properties.parse(first.properties),
        "RETRY_TOPIC": "T",
        "ORIGIN_MESSAGE_ID": offset_id.encode(IDENTITY.store_host, first.physical_offset),
        "DELAY": "3",
        "WAIT": "false",
        "REAL_TOPIC": "%RETRY%G",
        "REAL_QID": "0",
    }
    assert (copy.body, copy.flag, copy.sys_flag) == (b"zip", 7, 0x301)
    assert (copy.born_timestamp_ms, copy.born_host) == (BORN_MS, first.born_host)
    assert copy.reconsume_times == 1


def test_each_try_waits_a_level_longer_and_keeps_the_first_origin() -> None:
    broker = opened()
    sent_back(broker)
    broker.pass_time(11.0)
    second = only(broker, "%RETRY%G")
    sent_back(broker, second.physical_offset)
    third = only(broker, SCHEDULE, 3)
    said = properties.parse(third.properties)
    assert third.reconsume_times == 2
    assert (said["RETRY_TOPIC"], said["DELAY"]) == ("T", "4")
    assert said["ORIGIN_MESSAGE_ID"] == offset_id.encode(IDENTITY.store_host, 0)


def test_sent_back_messages_are_counted_by_topic() -> None:
    broker = opened()
    said = {"UNIQ_KEY": UNIQUE, "RETRY_TOPIC": "no topic at all"}
    broker.ask(SEND, message(properties=said), b"zip")
    sent_back(broker, broker.opened.records("T", 0)[1].physical_offset)
    assert broker.state.stats.returns("G", "no topic at all") is None
    assert broker.state.stats.returns("G", "T") is not None


def test_a_consumer_may_choose_the_level() -> None:
    broker = opened()
    sent_back(broker, level=5)
    assert only(broker, SCHEDULE, 4).body == b"zip"


@pytest.mark.parametrize(
    ("level", "times_max", "version", "is_dead"),
    [
        (-1, None, 479, True),
        (0, 0, 479, True),
        (0, 0, V3_4_9 - 1, False),
        (0, 1, 479, False),
        (5, 0, 479, True),
    ],
)
def test_message_without_further_tries_becomes_a_dead_letter(
    level: int, times_max: int | None, version: int, is_dead: bool
) -> None:
    broker = opened()
    sent_back(broker, level=level, times_max=times_max, version=version)
    assert len(broker.opened.records("%DLQ%G", 0)) == is_dead
    if is_dead:
        dead = only(broker, "%DLQ%G")
        assert properties.parse(dead.properties)["DELAY"] == "0"
        assert dead.reconsume_times == 1
        assert any(line.text.startswith("send msg to DLQ %DLQ%G") for line in broker.lines)


def test_a_group_says_how_often_it_tries() -> None:
    broker = opened()
    broker.state.groups.put(GroupConfig(group_name="G", retry_max_times=0), broker.wall_ms)
    sent_back(broker)
    assert only(broker, "%DLQ%G").body == b"zip"


def test_send_back_of_a_group_without_retry_queues_succeeds() -> None:
    broker = opened()
    broker.state.groups.put(GroupConfig(group_name="G", retry_queue_nums=0), broker.wall_ms)
    assert sent_back(broker).code == ResponseCode.SUCCESS
    assert broker.state.topics.find("%RETRY%G") is None


def test_retries_go_to_queues_that_consumers_read() -> None:
    broker = opened()
    add_topic(broker, "%RETRY%G", queues=1)
    broker.state.groups.put(GroupConfig(group_name="G", retry_queue_nums=8), broker.wall_ms)
    for _ in range(10):
        sent_back(broker)
    waiting = broker.opened.records(SCHEDULE, 2)
    assert {properties.parse(record.properties)["REAL_QID"] for record in waiting} == {"0"}


def test_a_retry_topic_has_as_many_queues_as_its_group_wants() -> None:
    broker = opened()
    broker.state.groups.put(GroupConfig(group_name="G", retry_queue_nums=3), broker.wall_ms)
    sent_back(broker, unit_mode=True)
    made = broker.state.topics.find("%RETRY%G")
    assert made is not None
    assert (made.read_queue_nums, made.perm, made.topic_sys_flag) == (3, 6, 2)


def test_a_message_that_claims_to_have_been_tried_for_ever_is_a_dead_letter() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    broker.ask(SEND, message(reconsume_times=2**31 - 1), b"x")
    assert sent_back(broker).code == ResponseCode.SUCCESS
    assert only(broker, "%DLQ%G").reconsume_times == 2**31 - 1


@pytest.mark.parametrize("position", [-1, 1, 10_000])
def test_where_no_message_lies_none_is_sent_back(position: int) -> None:
    broker = opened()
    answer = sent_back(broker, position)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").startswith(f"look message by offset failed, {position}")


def test_unknown_group_is_refused_when_groups_are_not_created() -> None:
    broker = opened(BrokerSettings(auto_create_subscription_group=False))
    answer = sent_back(broker)
    assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert (answer.remark or "").startswith("subscription group not exist, G ")
    assert "mqadmin updateSubGroup" in (answer.remark or "")


def test_permissions_are_asked_for() -> None:
    broker = opened(BrokerSettings(broker_permission=4))
    answer = sent_back(broker)
    assert answer.code == ResponseCode.NO_PERMISSION
    assert (answer.remark or "").startswith("the broker[127.0.0.1] sending message is forbidden")
    broker = opened()
    broker.state.topics.put(replace(add_topic(broker, "%RETRY%G"), perm=4), broker.wall_ms)
    answer = sent_back(broker)
    assert answer.code == ResponseCode.NO_PERMISSION
    assert (answer.remark or "").startswith("the topic[%RETRY%G] sending message is forbidden")


def test_a_slave_takes_nothing_back() -> None:
    broker = OpenedBroker(identity=replace(IDENTITY, broker_id=1))
    answer = sent_back(broker)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").startswith("no master available along with 127.0.0.1:10911")


# ---------------------------------------------------------------------- sent to %RETRY%group


def retried(
    broker: OpenedBroker, times: int | None, times_max: int | None = None, version: int = 479
) -> Command:
    header = message(
        "%RETRY%G",
        reconsume_times=times,
        max_reconsume_times=times_max,
        properties={"UNIQ_KEY": UNIQUE, "DELAY": "3", "RETRY_TOPIC": "T"},
    )
    return broker.ask(SEND, header, b"again", version=version)


def test_a_consumer_that_cannot_send_back_sends_for_another_try() -> None:
    broker = OpenedBroker()
    assert retried(broker, 1).code == ResponseCode.SUCCESS
    waiting = only(broker, SCHEDULE, 2)
    assert (waiting.body, waiting.reconsume_times) == (b"again", 1)
    assert properties.parse(waiting.properties)["REAL_TOPIC"] == "%RETRY%G"


@pytest.mark.parametrize(
    ("times", "times_max", "version", "is_dead"),
    [
        (16, None, 479, False),
        (17, None, 479, True),
        (3, 2, 479, True),
        (2, 2, 479, False),
        (3, 2, V3_4_9 - 1, False),
        (None, None, 479, False),
    ],
)
def test_beyond_its_tries_it_is_a_dead_letter(
    times: int | None, times_max: int | None, version: int, is_dead: bool
) -> None:
    broker = OpenedBroker()
    assert retried(broker, times, times_max, version).code == ResponseCode.SUCCESS
    assert broker.bodies("%DLQ%G") == ([b"again"] if is_dead else [])
    if is_dead:
        assert properties.parse(only(broker, "%DLQ%G").properties)["DELAY"] == "-1"


def test_message_sent_back_by_an_orderly_group_becomes_a_dead_letter() -> None:
    broker = OpenedBroker()
    broker.state.locks.lock("G", [MessageQueue("T", "broker-a", 0)], "c", broker.now)
    retried(broker, 1)
    assert broker.bodies("%DLQ%G") == [b"again"]
    broker.pass_time(61.0)
    retried(broker, 1)
    assert len(broker.bodies("%DLQ%G")) == 1


def test_the_copy_remembers_where_its_message_was_born() -> None:
    broker = opened()
    sent_back(broker)
    assert only(broker, SCHEDULE, 2).born_host == hosts.parse(broker.channel.peer)


def test_a_group_that_waits_for_another_try_does_not_give_way_to_new_groups() -> None:
    broker = opened()
    assert sent_back(broker, level=18).code == ResponseCode.SUCCESS
    assert broker.state.offsets.topics_of("G") == []
    make_room(broker.state)
    assert broker.state.groups.find("G") is not None
    assert broker.state.topics.find("%RETRY%G") is not None
