"""Tests the lag of groups: in messages, in time, and the part that is in flight."""

from dataclasses import replace

import pytest

from gantrymq.broker.core.monitoring import lag
from gantrymq.broker.core.monitoring.lag import NONE_MS, UNKNOWN_MS, GroupLag
from gantrymq.broker.core.names.system_topics import TRANSACTION_GROUP
from gantrymq.fakes.brokers.broker import START_MS, OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.metrics import page_of
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import RequestCode


@pytest.fixture
def broker() -> OpenedBroker:
    """A topic with two queues, in which messages were stored at second 0, 1, 2 and 3."""
    opened = OpenedBroker()
    add_topic(opened, queues=2)
    for number in range(4):
        header = message(queue_id=number % 2)
        opened.ask(RequestCode.SEND_MESSAGE_V2, header, b"x")
        opened.pass_time(1.0)
    return opened


def commit(broker: OpenedBroker, queue_id: int, offset: int, group: str = "G") -> None:
    broker.state.groups.put(GroupConfig(group_name=group), broker.wall_ms)
    broker.state.offsets.commit(group, "T", queue_id, offset)


def lags(broker: OpenedBroker) -> list[GroupLag]:
    page_of(broker)
    return list(broker.services.store_values.lags)


def lag_of(broker: OpenedBroker) -> GroupLag:
    (found,) = lags(broker)
    return found


def test_a_group_is_behind_by_what_it_did_not_acknowledge(broker: OpenedBroker) -> None:
    commit(broker, 0, 1)
    commit(broker, 1, 0)
    found = lag_of(broker)
    assert (found.group, found.topic, found.is_retry) == ("G", "T", False)
    assert (found.lag, found.inflight, found.ready) == (3, 0, 3)
    assert found.lag_since_ms == found.ready_since_ms == START_MS + 1000, "queue 1 has the oldest"


def test_what_was_pulled_is_in_flight(broker: OpenedBroker) -> None:
    commit(broker, 0, 0)
    broker.state.offsets.note_pull("G", "T", 0, 1)
    found = lag_of(broker)
    assert (found.lag, found.inflight, found.ready) == (2, 1, 1)
    assert (found.lag_since_ms, found.ready_since_ms) == (START_MS, START_MS + 2000)


def test_a_group_that_is_not_behind_has_no_time(broker: OpenedBroker) -> None:
    commit(broker, 0, 2)
    commit(broker, 1, 2)
    found = lag_of(broker)
    assert (found.lag, found.lag_since_ms, found.ready_since_ms) == (0, NONE_MS, NONE_MS)


def test_queues_without_an_offset_count_as_consumed(broker: OpenedBroker) -> None:
    commit(broker, 0, 2)
    assert lag_of(broker).lag == 0


def test_an_offset_outside_the_queue_counts_as_its_end(broker: OpenedBroker) -> None:
    commit(broker, 0, 99)
    assert lag_of(broker).lag == 0


def test_popped_messages_are_in_flight_one_by_one(broker: OpenedBroker) -> None:
    commit(broker, 0, 0)
    place, now_ms = ("G", "T", 0), broker.wall_ms
    in_flight = broker.state.in_flight
    in_flight.take(place, [0, 1], 2, now_ms, now_ms + 60_000)
    acknowledged = in_flight.find(place, 0, now_ms)
    assert acknowledged is not None
    in_flight.drop(acknowledged)
    found = lag_of(broker)
    assert (found.lag, found.inflight, found.ready) == (1, 1, 0)
    assert found.lag_since_ms == START_MS + 2000


def test_the_retry_topic_of_pop_counts_for_its_topic(broker: OpenedBroker) -> None:
    commit(broker, 0, 2)
    add_topic(broker, "%RETRY%G_T", queues=1)
    plain, again = lags(broker)
    assert (plain.topic, plain.is_retry) == ("T", False)
    assert (again.topic, again.is_retry, again.lag) == ("T", True, 0)


def test_groups_and_topics_that_are_gone_have_no_lag(broker: OpenedBroker) -> None:
    commit(broker, 0, 0)
    commit(broker, 0, 0, group=TRANSACTION_GROUP)
    broker.state.offsets.commit("Deleted", "T", 0, 0)
    broker.state.offsets.commit("G", "Deleted", 0, 0)
    broker.state.offsets.commit("G", "%RETRY%G", 0, 0)
    assert [(each.group, each.topic) for each in lags(broker)] == [("G", "T")]


def test_times_beyond_those_of_one_pass_come_with_the_next(
    broker: OpenedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lag, "TIMES_A_PASS", 1)
    commit(broker, 0, 0)
    commit(broker, 1, 0)
    name = 'rocketmq_consumer_lag_latency_milliseconds{consumer_group="G",topic="T"'
    first = page_of(broker)
    assert lag_of_state(broker).lag_since_ms == UNKNOWN_MS
    assert not any(each.startswith(name) for each in first)
    second = page_of(broker)
    assert lag_of_state(broker).lag_since_ms == START_MS
    assert second[f'{name},is_retry="false",is_system="false"}}'] == 4000


def lag_of_state(broker: OpenedBroker) -> GroupLag:
    """The row of a group after the last pass."""
    (found,) = broker.services.store_values.lags
    return found


def test_the_page_shows_ages(broker: OpenedBroker) -> None:
    commit(broker, 0, 0)
    broker.state.offsets.note_pull("G", "T", 0, 1)
    page = page_of(broker)
    labels = '{consumer_group="G",topic="T",is_retry="false",is_system="false"}'
    assert page[f"rocketmq_consumer_lag_messages{labels}"] == 2
    assert page[f"rocketmq_consumer_lag_latency_milliseconds{labels}"] == 4000
    assert page[f"rocketmq_consumer_queueing_latency_milliseconds{labels}"] == 2000
    oldest = 'gantry_broker_oldest_unacknowledged_seconds{consumer_group="G",topic="T"}'
    assert page[oldest] == 4


def test_queues_are_shown_one_by_one_where_that_is_asked_for(broker: OpenedBroker) -> None:
    commit(broker, 0, 1)
    commit(broker, 1, 0)
    assert lag_of(broker).queues == ()
    assert not any(name.startswith("gantry_broker_queue_lag") for name in page_of(broker))
    settings = broker.state.settings
    broker.state.settings = replace(settings, metrics_queue_lag_enable=True)
    assert lag_of(broker).queues == [(0, 1), (1, 2)]
    labels = 'consumer_group="G",topic="T",is_retry="false",is_system="false"'
    page = page_of(broker)
    for queue, behind in (("0", 1.0), ("1", 2.0)):
        name = f'gantry_broker_queue_lag_messages{{{labels},queue="{queue}"}}'
        assert page[name] == behind


def test_of_queues_no_more_are_kept_than_a_page_shows(broker: OpenedBroker) -> None:
    commit(broker, 0, 1)
    commit(broker, 1, 0)
    settings = replace(
        broker.state.settings, metrics_queue_lag_enable=True, metrics_otel_cardinality_limit=1
    )
    broker.state.settings = settings
    assert lag_of(broker).queues == [(0, 1)]
