"""Topics say for how many hours their messages are found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.metadata.reserve_times import age_ms
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.stores.store import message
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

HOUR = 3600


def create(broker: OpenedBroker, topic: str = "T", attributes: str = "") -> Command:
    ext = {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": "1",
        "writeQueueNums": "1",
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "order": "false",
        "attributes": attributes,
    }
    answer = broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, ext=ext)
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    return answer


def put(broker: OpenedBroker, topic: str, number: int) -> None:
    broker.state.task_runner.start(tasks.put(message(number, topic)), lambda _: None, failed)
    broker.settle()


def jump(broker: OpenedBroker, seconds: float) -> None:
    """So long nothing happened, and then whatever is due."""
    broker.now += seconds
    broker.settle()


def failed(error: Exception) -> None:
    raise error


def fill(broker: OpenedBroker, topic: str = "T") -> None:
    """Five messages, one an hour; it is the hour behind the last."""
    for number in range(5):
        put(broker, topic, number)
        jump(broker, HOUR)


def found(broker: OpenedBroker, topic: str = "T") -> tuple[int, int]:
    """From which offset on, and up to which."""
    ext = {"topic": topic, "queueId": "0"}
    first, past = (
        broker.ask(code, ext=ext).ext
        for code in (RequestCode.GET_MIN_OFFSET, RequestCode.GET_MAX_OFFSET)
    )
    assert first is not None
    assert past is not None
    return int(first["offset"]), int(past["offset"])


def test_older_messages_are_hidden_and_others_topics_keep_theirs() -> None:
    broker = OpenedBroker()
    create(broker, attributes="+reserve.time=2")
    create(broker, "U")
    for topic in "TU":
        fill(broker, topic)

    assert found(broker, "U") == (0, 5)
    assert found(broker, "T") == (5, 5)


def test_a_time_given_later_counts_at_once_and_may_be_taken_back() -> None:
    broker = OpenedBroker()
    create(broker)
    fill(broker)
    create(broker, attributes="+reserve.time=2")
    assert found(broker) == (3, 5)
    create(broker, attributes="+reserve.time=4")
    assert found(broker) == (1, 5)
    create(broker, attributes="-reserve.time")
    assert found(broker) == (0, 5)


def test_it_counts_after_a_restart() -> None:
    broker = OpenedBroker()
    create(broker, attributes="+reserve.time=2")
    fill(broker)
    broker.opened.close()

    again = OpenedBroker(disk=broker.opened.disk, files={File.TOPICS: broker.saved[File.TOPICS]})
    jump(again, broker.now)
    assert found(again) == (3, 5)


def test_a_topic_made_again_shows_what_it_gets() -> None:
    broker = OpenedBroker()
    create(broker, attributes="+reserve.time=2")
    fill(broker)
    broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, ext={"topic": "T"})
    create(broker)
    fill(broker)

    assert found(broker) == (0, 5)


def test_what_the_broker_reads_itself_is_never_hidden() -> None:
    settings = replace(BrokerSettings(), validate_system_topic_when_update_topic=False)
    broker = OpenedBroker(settings)
    create(broker, "SCHEDULE_TOPIC_XXXX", "+reserve.time=1")
    put(broker, "SCHEDULE_TOPIC_XXXX", 1)
    jump(broker, 3 * HOUR)

    assert found(broker, "SCHEDULE_TOPIC_XXXX") == (0, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", HOUR * 1000), ("0", None), ("-1", None), ("soon", None), ("", None)],
)
def test_what_hours_mean(text: str, expected: int | None) -> None:
    assert age_ms(TopicConfig("T", attributes={"reserve.time": text})) == expected
    assert age_ms(TopicConfig("T")) is None
