"""Tests how the broker checks and answers pulls, and commits the offset that comes along."""

import pytest

from gantrymq.broker.core.pull.pulls import begun, read_rest
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.brokers.pulls import (
    CLASS_FILTER,
    COMMITS,
    SUBSCRIBES,
    SUSPENDS,
    PulledBroker,
    bodies,
    place,
)
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import Pulled, PullQuery
from gantrymq.wire import javajson
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.heartbeat import BROADCASTING
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode


@pytest.fixture
def pulls() -> PulledBroker:
    return PulledBroker()


def test_pull_returns_the_records_of_the_log_unchanged(pulls: PulledBroker) -> None:
    pulls.store("a", "b", "c")
    answer = pulls.ask(1)
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, "FOUND")
    assert bodies(answer) == ["b", "c"]
    # The fields of Java 5.3.3, no more.
    assert answer.ext == {
        "suggestWhichBrokerId": "0",
        "nextBeginOffset": "3",
        "minOffset": "0",
        "maxOffset": "3",
        "topicSysFlag": "0",
        "groupSysFlag": "0",
    }


def test_no_more_messages_come_than_were_asked_for(pulls: PulledBroker) -> None:
    pulls.store("a", "b", "c")
    answer = pulls.ask(max_msg_nums=2)
    assert bodies(answer) == ["a", "b"]
    assert place(answer) == (2, 0, 3)


def test_a_lite_pull_is_a_pull(pulls: PulledBroker) -> None:
    pulls.store("a")
    assert bodies(pulls.ask(code=RequestCode.LITE_PULL_MESSAGE, sys_flag=22)) == ["a"]


@pytest.mark.parametrize(
    ("queue_id", "offset", "code", "remark", "next_offset"),
    [
        (0, 2, 19, "OFFSET_OVERFLOW_ONE", 2),
        (0, 9, 21, "OFFSET_OVERFLOW_BADLY", 2),
        (0, -5, 21, "OFFSET_TOO_SMALL", 0),
        (1, 0, 19, "NO_MESSAGE_IN_QUEUE", 0),
        (1, 7, 21, "NO_MESSAGE_IN_QUEUE", 0),
    ],
)
def test_pull_that_finds_nothing_returns_the_next_offset(
    pulls: PulledBroker, queue_id: int, offset: int, code: int, remark: str, next_offset: int
) -> None:
    pulls.store("a", "b")
    answer = pulls.ask(offset, queue_id=queue_id)
    assert (answer.code, answer.remark) == (code, remark)
    assert place(answer)[0] == next_offset
    assert answer.body == b""


def test_messages_that_the_filter_holds_back_are_passed_by(pulls: PulledBroker) -> None:
    pulls.store("a", "b", TAGS="A")
    answer = pulls.ask(subscription="B || C")
    assert (answer.code, answer.remark) == (20, "NO_MATCHED_MESSAGE")
    assert place(answer) == (2, 0, 2)


def test_filters_by_tag_and_by_properties_choose(pulls: PulledBroker) -> None:
    pulls.store("a", TAGS="A", price="3")
    pulls.store("b", TAGS="B", price="5")
    assert bodies(pulls.ask(subscription="B || C")) == ["b"]
    assert bodies(pulls.ask(subscription="price < 4", expression_type="SQL92")) == ["a"]


# ---------------------------------------------------------------------- checks


def test_a_broker_that_may_not_be_read_says_so_first(pulls: PulledBroker) -> None:
    pulls = PulledBroker(OpenedBroker(BrokerSettings(broker_permission=2)))
    answer = pulls.ask(consumer_group="not a name", topic="unknown")
    assert answer.code == ResponseCode.NO_PERMISSION
    assert answer.ext == {"forbiddenType": "1"}
    assert answer.remark is not None
    assert answer.remark.startswith("the broker[127.0.0.1] pulling message is forbidden")
    assert pulls.state.groups.find("not a name") is None


def test_a_group_is_made_by_its_first_pull_if_that_may_be(pulls: PulledBroker) -> None:
    pulls.ask()
    assert pulls.state.groups.find("G") is not None
    strict = PulledBroker(OpenedBroker(BrokerSettings(auto_create_subscription_group=False)))
    answer = strict.ask(topic="unknown")
    assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert answer.remark is not None
    assert answer.remark.startswith("subscription group [G] does not exist, ")


def test_a_group_that_may_not_consume_is_refused(pulls: PulledBroker) -> None:
    pulls.state.groups.put(GroupConfig(group_name="G", consume_enable=False), 0)
    answer = pulls.ask(topic="unknown")
    assert (answer.code, answer.ext) == (16, {"forbiddenType": "2"})
    assert answer.remark is not None
    assert answer.remark.startswith("subscription group no permission, G")


def test_a_topic_has_to_be_there_and_readable(pulls: PulledBroker) -> None:
    answer = pulls.ask(topic="unknown", queue_id=99)
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert answer.remark is not None
    assert answer.remark.startswith("topic[unknown] not exist, apply first please!")
    pulls.state.topics.put(TopicConfig("W", perm=2), 0)
    answer = pulls.ask(topic="W", queue_id=99)
    assert (answer.code, answer.ext) == (16, {"forbiddenType": "3"})
    assert answer.remark is not None
    assert answer.remark.startswith("the topic[W] pulling message is forbidden")


@pytest.mark.parametrize("queue_id", [-1, 4])
def test_a_queue_that_the_topic_does_not_have_is_refused(
    pulls: PulledBroker, queue_id: int
) -> None:
    answer = pulls.ask(queue_id=queue_id, subscription="||")
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert answer.remark is not None
    assert answer.remark.startswith(
        f"queueId[{queue_id}] is illegal, topic:[T] topicConfig.readQueueNums:[4] consumer:[/127"
    )


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        ("||", "TAG", "names no tag"),
        ("a >", "SQL92", "at character 4: the end"),
        ("a", "XPATH", "XPATH filters are unknown"),
    ],
)
def test_subscription_that_cannot_be_parsed_is_refused(
    pulls: PulledBroker, text: str, kind: str, why: str
) -> None:
    answer = pulls.ask(subscription=text, expression_type=kind)
    assert answer.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert answer.remark is not None
    assert answer.remark.startswith("parse the consumer's subscription failed")
    assert why in answer.remark


def test_filters_by_tag_are_read_up_to_a_length(pulls: PulledBroker) -> None:
    pulls.store("a", TAGS="A")
    for length in (1_000, 32_767):
        text = "A" + "|| B".rjust(length - 1)
        assert bodies(pulls.ask(subscription=text)) == ["a"]
    answer = pulls.ask(subscription="A" * 32_768)
    assert answer.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert "32768 characters" in (answer.remark or "")


def test_class_filter_is_refused_with_a_hint_at_sql92(pulls: PulledBroker) -> None:
    answer = pulls.ask(sys_flag=SUBSCRIBES | CLASS_FILTER)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark is not None
    assert "SQL92" in answer.remark


def test_filters_by_properties_can_be_switched_off() -> None:
    pulls = PulledBroker(OpenedBroker(BrokerSettings(enable_property_filter=False)))
    answer = pulls.ask(subscription="a = 1", expression_type="SQL92")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark is not None
    assert answer.remark.startswith(
        "The broker does not support consumer to filter message by SQL92"
    )


def test_a_field_that_is_no_number_is_named(pulls: PulledBroker) -> None:
    answer = pulls.broker.ask(RequestCode.PULL_MESSAGE, ext={"consumerGroup": "G", "topic": "T"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark is not None
    assert "queueId" in answer.remark


# ---------------------------------------------------------------------- heartbeats' subscriptions


def test_a_pull_without_subscription_goes_by_the_heartbeat(pulls: PulledBroker) -> None:
    pulls.store("a", TAGS="A")
    channel = pulls.broker.channel
    answer = pulls.ask(sys_flag=0)
    assert answer.code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    assert answer.remark is not None
    assert answer.remark.startswith("the consumer's group info not exist")
    beat(pulls.broker, channel, consumer("G", "other"))
    answer = pulls.ask(sys_flag=0)
    assert answer.code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    assert answer.remark is not None
    assert answer.remark.startswith("the consumer's subscription not exist")
    assert "other" in answer.remark
    beat(pulls.broker, channel, consumer("G", "T", sub_version=5))
    assert bodies(pulls.ask(sys_flag=0, sub_version=5)) == ["a"]
    answer = pulls.ask(sys_flag=0, sub_version=6)
    assert answer.code == ResponseCode.SUBSCRIPTION_NOT_LATEST
    assert answer.remark is not None
    assert answer.remark.startswith("the consumer's subscription not latest")


def test_broadcasting_can_be_forbidden(pulls: PulledBroker) -> None:
    pulls.state.groups.put(GroupConfig(group_name="G", consume_broadcast_enable=False), 0)
    beat(pulls.broker, pulls.broker.channel, consumer("G", "T", model=BROADCASTING))
    answer = pulls.ask(sys_flag=0)
    assert (answer.code, answer.ext) == (16, {"forbiddenType": "4"})
    assert answer.remark is not None
    assert answer.remark.startswith("the consumer group[G] can not consume by broadcast way")


def test_a_group_can_be_forbidden_a_topic(pulls: PulledBroker) -> None:
    beat(pulls.broker, pulls.broker.channel, consumer("G", "T"))
    pulls.state.groups.forbid("G", "T", 4, 0)
    answer = pulls.ask(sys_flag=0)
    assert (answer.code, answer.ext) == (16, {"forbiddenType": "5"})
    assert answer.remark == "the consumer group[G] is forbidden for topic[T]"


# ---------------------------------------------------------------------- offsets


def test_the_offset_that_comes_along_is_committed(pulls: PulledBroker) -> None:
    pulls.store("a", "b")
    pulls.ask(1, sys_flag=SUBSCRIBES, commit_offset=1)
    assert pulls.state.offsets.find("G", "T", 0) is None
    pulls.ask(1, sys_flag=SUBSCRIBES | COMMITS, commit_offset=1)
    assert pulls.state.offsets.find("G", "T", 0) == 1
    assert pulls.state.offsets.pulled("G", "T", 0) == 2


def test_refused_pull_commits_no_offset(pulls: PulledBroker) -> None:
    pulls.ask(1, sys_flag=COMMITS, commit_offset=0)
    assert pulls.state.offsets.find("G", "T", 0) is None


def test_reset_is_returned_once_and_overrides_the_commit_offset_of_the_pull(
    pulls: PulledBroker,
) -> None:
    pulls.store("a", "b", "c")
    pulls.state.offsets.commit("G", "T", 0, 1)
    pulls.state.resets.assign("G", "T", 0, 1)
    answer = pulls.ask(3, sys_flag=SUBSCRIBES | COMMITS, commit_offset=3)
    assert (answer.code, answer.remark) == (21, "OFFSET_RESET")
    assert place(answer) == (1, 0, 3)
    assert pulls.state.offsets.find("G", "T", 0) == 1
    assert bodies(pulls.ask(1)) == ["b", "c"]


# ---------------------------------------------------------------------- statistics


def test_pulled_messages_are_counted(pulls: PulledBroker) -> None:
    pulls.store("a", "b")
    pulls.ask()
    pulls.ask(2)
    pulls.send(2, sys_flag=SUBSCRIBES | SUSPENDS)
    totals = pulls.state.stats.totals
    assert (totals.found, totals.transferred, totals.missed) == (1, 2, 2)


def test_how_long_the_disk_takes_is_counted(pulls: PulledBroker) -> None:
    pulls.store("a")

    def reading() -> ReadTask[Pulled]:
        return pull(pulls.state.store, PullQuery("T", 0, 0, 32), 1 << 30)

    read = read_rest(pulls.state, reading())
    next(read)
    pulls.state.now += 0.25
    with pytest.raises(StopIteration):
        read.send(begun(reading()))
    assert pulls.state.stats.longest_read_ms == 250


# ---------------------------------------------------------------------- CHECK_CLIENT_CONFIG


@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [
        ("TAG", "a >", ResponseCode.SUCCESS),
        ("SQL92", "a > 1", ResponseCode.SUCCESS),
        ("SQL92", "a >", ResponseCode.SUBSCRIPTION_PARSE_FAILED),
        ("XPATH", "a", ResponseCode.SUBSCRIPTION_PARSE_FAILED),
    ],
)
def test_a_client_may_ask_whether_its_expression_means_something(
    pulls: PulledBroker, kind: str, text: str, code: ResponseCode
) -> None:
    body = javajson.dumps_standard(
        {
            "clientId": "c",
            "group": "G",
            "subscriptionData": {"topic": "T", "subString": text, "expressionType": kind},
        }
    )
    assert pulls.broker.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body).code == code


@pytest.mark.parametrize("body", [b"", b"{}", b'{"subscriptionData":null}'])
def test_empty_check_of_a_client_configuration_succeeds(pulls: PulledBroker, body: bytes) -> None:
    assert pulls.broker.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body).code == 0
