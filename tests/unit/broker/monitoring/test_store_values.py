"""Tests StoreValues: one pass over the store serves all pages that wait for it."""

from gantrymq.base.errors import CorruptionError
from gantrymq.fakes.brokers.broker import START_MS, OpenedBroker
from gantrymq.fakes.brokers.sends import BORN_MS, UNIQUE, add_topic, message
from gantrymq.fakes.metrics import page_of
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message.sys_flag import TRANSACTION_PREPARED


def test_the_oldest_message_and_the_oldest_open_transaction_have_an_age() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    half = {"UNIQ_KEY": UNIQUE, "TRAN_MSG": "true", "PGROUP": "PG"}
    header = message(properties=half, sys_flag=TRANSACTION_PREPARED)
    broker.ask(RequestCode.SEND_MESSAGE_V2, header, b"x")
    broker.pass_time(2.0)
    page = page_of(broker)
    assert broker.services.store_values.first_stored_ms == START_MS
    assert broker.services.store_values.oldest_half_ms == BORN_MS
    assert page["gantry_broker_oldest_half_message_seconds"] == (START_MS - BORN_MS) / 1000 + 2
    labels = '{storage_type="local",storage_medium="disk"}'
    assert page[f"rocketmq_storage_message_reserve_time_milliseconds{labels}"] == 2000


def test_an_empty_store_has_no_ages() -> None:
    page = page_of(OpenedBroker())
    assert page["gantry_broker_oldest_half_message_seconds"] == 0


def test_a_caller_that_asks_during_a_pass_waits_for_its_end() -> None:
    broker = OpenedBroker()
    ended: list[int] = []
    values = broker.services.store_values
    values.refresh(lambda: ended.append(1))
    values.refresh(lambda: ended.append(2))
    broker.settle()
    assert ended == [1, 2]
    assert len(broker.state.task_runner) == 0


def test_a_pass_that_fails_is_told_and_ends_too() -> None:
    broker = OpenedBroker()
    ended: list[int] = []
    values = broker.services.store_values
    values._failed(CorruptionError("a record is damaged"))
    values.refresh(lambda: ended.append(1))
    broker.settle()
    assert ended == [1]
    assert any("reading metrics from the store failed" in line.text for line in broker.lines)
