"""What a slave refuses, what it serves, and what rests on it."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.messages import File
from gantrymq.fakes.brokers.broker import IDENTITY, OpenedBroker
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.brokers.pops import PoppedBroker
from gantrymq.fakes.brokers.replicas import MASTER, SLAVE, opened_slave, registered
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.fakes.stores.store import message
from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.offset import (
    GetMaxOffsetRequest,
    QueryConsumerOffsetRequest,
    UpdateConsumerOffsetRequest,
)

CHANGES = [
    RequestCode.UPDATE_AND_CREATE_TOPIC,
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
    RequestCode.DELETE_TOPIC_IN_BROKER,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
    RequestCode.DELETE_SUBSCRIPTIONGROUP,
    RequestCode.SET_MESSAGE_REQUEST_MODE,
]
POPS = [
    RequestCode.POP_MESSAGE,
    RequestCode.ACK_MESSAGE,
    RequestCode.BATCH_ACK_MESSAGE,
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
]


@pytest.mark.parametrize("code", CHANGES)
def test_tables_are_changed_at_the_master(code: RequestCode) -> None:
    slave = opened_slave()
    registered(slave)
    answer = slave.ask(code)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    remark = answer.remark or ""
    assert remark.startswith("Can't modify topic or subscription group from slave broker")
    assert MASTER in remark


@pytest.mark.parametrize("code", POPS)
def test_messages_are_popped_at_the_master(code: RequestCode) -> None:
    answer = opened_slave().ask(code)
    assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert (answer.remark or "").endswith("The name servers know no master of broker-a now")


def test_nothing_of_its_own_is_stored() -> None:
    slave = opened_slave()
    answers: list[object] = []
    for put in (tasks.put(message(1)), tasks.put_batch([message(1), message(1)])):
        slave.state.task_runner.start(put, answers.append, _raise)
    slave.settle()
    assert slave.state.store.log.end == 0
    for answer in answers:
        assert isinstance(answer, PutAnswer)
        assert "slave" in answer.remark
        assert not answer.status.is_stored


def test_a_consumer_creates_its_group_on_a_slave_but_no_topic() -> None:
    slave = opened_slave()
    assert beat(slave, slave.channel, consumer("G", "T")).code == ResponseCode.SUCCESS
    assert slave.state.groups.find("G") is not None
    assert slave.state.topics.find("%RETRY%G") is None


def test_a_slave_takes_offsets_as_they_are() -> None:
    """Its log is behind the one that was read."""
    slave = opened_slave()
    add_topic(slave)
    slave.state.groups.put(GroupConfig(group_name="G"), 5)
    place = {"consumer_group": "G", "topic": "T", "queue_id": 0}
    commit = UpdateConsumerOffsetRequest(**place, commit_offset=9)  # type: ignore[arg-type]  # by name
    assert slave.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit).code == ResponseCode.SUCCESS
    asked = QueryConsumerOffsetRequest(**place)  # type: ignore[arg-type]  # by name
    answer = slave.ask(RequestCode.QUERY_CONSUMER_OFFSET, asked)
    assert answer.ext == {"offset": "9"}


def test_a_slave_forgets_no_offset_after_a_crash() -> None:
    """What a master keeps as its queue's end, for messages were lost, may still come here."""
    files = {File.OFFSETS: b'{"offsetTable":{"T@G":{0:7}}}'}
    slave = OpenedBroker(files=files, identity=SLAVE)
    assert slave.state.offsets.find("G", "T", 0) == 7


def test_queries_are_served() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    broker.state.task_runner.start(tasks.put(message(1)), lambda _: None, _raise)
    broker.settle()
    broker.state.identity = SLAVE
    topic = message(1).topic.decode()
    asked = GetMaxOffsetRequest(topic=topic, queue_id=message(1).queue_id)
    assert broker.ask(RequestCode.GET_MAX_OFFSET, asked).ext == {"offset": "1"}


def test_slave_does_not_redeliver_in_flight_messages() -> None:
    broker = PoppedBroker()
    broker.store("a")
    assert broker.popped(invisible_time=1_000)
    end = broker.state.store.log.end
    broker.state.identity, broker.state.serves = SLAVE, False
    broker.broker.pass_time(60.0)
    assert broker.state.store.log.end == end
    assert len(broker.state.in_flight) == 1
    broker.state.identity, broker.state.serves = IDENTITY, True
    broker.broker.pass_time(60.0)
    assert broker.state.store.log.end > end


def _raise(error: Exception) -> None:
    raise error
