"""Delay levels: away, back when due, in order, and on after a crash or a jump of the clock."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.schedule import delays
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import STORE_SETTINGS, OpenedBroker
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.unsynced import lose_all
from gantrymq.wire import javajson
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.message import properties, sys_flag
from gantrymq.wire.message.record import Record

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
LEVEL_SECONDS = {1: 1, 2: 5, 3: 10, 4: 30, 5: 60, 18: 7200}


def delayed(level: int | str, body: bytes = b"x", queue_id: int = 0, **others: str) -> Record:
    named = {"UNIQ_KEY": "U", **others, "DELAY": str(level)}
    return Record(
        b"T",
        body,
        properties=properties.encode(named),
        queue_id=queue_id,
        flag=7,
        born_timestamp_ms=5,
        born_host=HOST,
        store_host=HOST,
        reconsume_times=2,
    )


def accept(broker: OpenedBroker, record: Record) -> None:
    rewritten = delays.rewrite(broker.state, record)
    assert isinstance(rewritten, Record)
    put(broker, rewritten)


def put(broker: OpenedBroker, record: Record) -> None:
    state = broker.state
    state.task_runner.start(tasks.put(record, waits=False), lambda _: None, lambda _: None)


def test_delivered_message_counts_as_sent_to_its_topic() -> None:
    broker = OpenedBroker()
    accept(broker, delayed(1))
    broker.pass_time(2)
    assert broker.bodies("T") == [b"x"]
    assert broker.state.stats.totals.plain_puts == 1


def test_deliveries_count_for_javas_group_and_not_as_pulls() -> None:
    broker = OpenedBroker()
    accept(broker, delayed(1, b"a"))
    accept(broker, delayed(1, b"b"))
    broker.pass_time(20)
    series = broker.state.stats.group(delays.GROUP, delays.TOPIC)
    assert series is not None
    assert (series.count, series.size > 200) == (2, True)
    assert broker.state.stats.totals.transferred == 0


def test_delivery_that_fails_after_its_read_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = OpenedBroker()
    accept(broker, delayed(1))
    with monkeypatch.context() as patched:
        patched.setattr(delays, "restore", no_room)
        with pytest.raises(MemoryError):
            broker.pass_time(2)
    broker.pass_time(delays.PAUSE_SECONDS)
    assert broker.bodies("T") == [b"x"]


def no_room(_: Record) -> Record:
    raise MemoryError


def test_a_level_waits_its_time_and_not_less() -> None:
    broker = OpenedBroker()
    for level in LEVEL_SECONDS:
        accept(broker, delayed(level, b"%d" % level))
    broker.settle()
    for level, seconds in LEVEL_SECONDS.items():
        broker.pass_time(seconds - 0.01 - broker.now)
        assert b"%d" % level not in broker.bodies("T")
        broker.pass_time(seconds + 0.01 - broker.now)
        assert broker.bodies("T")[-1] == b"%d" % level


def test_delivered_message_has_all_its_properties() -> None:
    broker = OpenedBroker()
    accept(broker, delayed(1, b"body", queue_id=3, TAGS="A"))
    broker.pass_time(1.1)
    waited = broker.opened.records(delays.TOPIC, 0)[0]
    (back,) = broker.opened.records("T", 3)
    assert properties.parse(back.properties) == {
        "UNIQ_KEY": "U", "TAGS": "A", "DELAY": "1", "REAL_TOPIC": "T", "REAL_QID": "3",
    }  # fmt: skip
    assert (back.body, back.flag, back.born_timestamp_ms, back.reconsume_times) == (
        b"body",
        7,
        5,
        2,
    )
    assert back.born_host == waited.born_host
    assert back.prepared_transaction_offset == 0
    queue = broker.state.store.queues.find("T", 3)
    assert queue is not None
    assert queue.unit(0)[2] == 65  # the hash of its tag, not a time


def test_messages_of_a_level_keep_their_order() -> None:
    broker = OpenedBroker()
    for number in range(1000):
        accept(broker, delayed(2, b"%d" % number))
    broker.pass_time(6)
    assert broker.bodies("T") == [b"%d" % number for number in range(1000)]


def test_too_high_a_level_is_the_highest() -> None:
    broker = OpenedBroker()
    record = delays.rewrite(broker.state, delayed(99))
    assert isinstance(record, Record)
    assert record.queue_id == 17
    assert properties.get(record.properties, "DELAY") == "18"


@pytest.mark.parametrize("level", ["0", "-1"])
def test_no_level_is_no_delay(level: str) -> None:
    broker = OpenedBroker()
    record = delays.rewrite(broker.state, delayed(level))
    assert isinstance(record, Record)
    assert record.topic == b"T"


@pytest.mark.parametrize("level", ["x", "1.5", "99999999999", "²"])
def test_a_level_that_is_no_number_is_refused(level: str) -> None:
    refused = delays.rewrite(OpenedBroker().state, delayed(level))
    assert isinstance(refused, tuple)
    assert refused[0] == ResponseCode.MESSAGE_ILLEGAL


def test_a_half_message_is_not_diverted() -> None:
    record = delayed(3)
    record.sys_flag = sys_flag.TRANSACTION_PREPARED
    assert delays.rewrite(OpenedBroker().state, record) is record
    assert record.topic == b"T"


def test_a_level_goes_before_a_timer() -> None:
    record = delays.rewrite(
        OpenedBroker().state, delayed(1, TIMER_DELAY_MS="9", TIMER_DELIVER_MS="9")
    )
    assert isinstance(record, Record)
    assert b"TIMER" not in record.properties


def test_the_levels_are_those_of_the_configuration() -> None:
    settings = dataclasses.replace(STORE_SETTINGS, message_delay_level="3s 2m")
    broker = OpenedBroker(store_settings=settings)
    accept(broker, delayed(1, b"1"))
    accept(broker, delayed(7, b"2"))
    broker.pass_time(3.1)
    assert broker.bodies("T") == [b"1"]
    broker.pass_time(117)
    assert broker.bodies("T") == [b"1", b"2"]


def restarted(broker: OpenedBroker, settings: StoreSettings = STORE_SETTINGS) -> OpenedBroker:
    """The broker was killed; another one finds its disk, and its files as last written."""
    disk = broker.opened.disk
    assert isinstance(disk, MemoryDisk)
    disk.end_process()
    again = OpenedBroker(disk=disk, store_settings=settings, files=broker.saved)
    again.now = broker.now
    return again


def test_after_a_restart_the_rest_is_delivered_and_nothing_twice() -> None:
    broker = OpenedBroker()
    for number in range(10):
        accept(broker, delayed(2, b"%d" % number))
        broker.pass_time(1)
    broker.pass_time(0.5)
    assert len(broker.bodies("T")) == 6
    broker.pass_time(3600)
    accept(broker, delayed(2, b"last"))
    broker.settle()
    again = restarted(broker)
    again.pass_time(6)
    assert again.bodies("T") == [*(b"%d" % number for number in range(10)), b"last"]


def test_crash_repeats_only_deliveries_since_the_last_save() -> None:
    broker = OpenedBroker(BrokerSettings(flush_delay_offset_interval=10_000))
    accept(broker, delayed(1, b"old"))
    broker.pass_time(30)
    accept(broker, delayed(1, b"new"))
    broker.pass_time(1.5)
    assert broker.bodies("T") == [b"old", b"new"]
    again = restarted(broker)
    again.pass_time(1)
    assert again.bodies("T") == [b"old", b"new", b"new"]


def test_progress_is_not_written_before_the_messages_are_on_disk() -> None:
    broker = OpenedBroker(BrokerSettings(flush_delay_offset_interval=1))
    accept(broker, delayed(1))
    broker.settle()
    broker.pass_time(0.9)
    broker.state.store.queues.log_flushed = 0
    broker.now += 0.2
    broker.broker.turn(broker.now, broker.wall_ms)
    level = javajson.loads(broker.services.delay_service.content(), 10_000)
    assert isinstance(level, dict)
    assert level["offsetTable"] == {}
    broker.pass_time(60)
    assert b"1:1" in broker.saved[File.DELAYS]


def test_a_power_cut_loses_no_message_that_was_on_disk_when_it_waited() -> None:
    """What was delivered is lost with the log's end; a file that was ahead of it would skip it."""
    # The log is flushed while the message waits, and not again soon after it was delivered.
    settings = dataclasses.replace(STORE_SETTINGS, flush_commit_log_thorough_interval=25_000)
    for cut_after in (0.1, 2, 9, 40):
        disk = FaultyDisk(lose_all)
        broker = OpenedBroker(BrokerSettings(flush_delay_offset_interval=1), settings, disk=disk)
        accept(broker, delayed(4))
        broker.pass_time(29.9)
        broker.pass_time(0.2 + cut_after)
        assert broker.bodies("T") == [b"x"]
        again = OpenedBroker(disk=disk.crash(), files=broker.saved)
        again.now = broker.now
        again.pass_time(40)
        assert b"x" in again.bodies("T"), cut_after


def test_a_clock_that_went_back_lets_all_that_waits_go() -> None:
    broker = OpenedBroker()
    for level in (3, 4):
        accept(broker, delayed(level))
    broker.pass_time(2)
    broker.broker.turn(broker.now, broker.wall_ms - 7_200_000)
    assert broker.broker.deadline() <= broker.now
    for _ in range(4):
        broker.broker.turn(broker.now, broker.wall_ms - 7_200_000)
    assert len(broker.bodies("T")) == 2


def test_clock_that_jumps_forward_delivers_due_messages() -> None:
    broker = OpenedBroker()
    accept(broker, delayed(5))
    broker.settle()
    broker.now += 3600
    broker.settle()
    assert len(broker.bodies("T")) == 1


def test_it_wakes_when_the_first_message_is_due_and_not_before() -> None:
    broker = OpenedBroker()
    accept(broker, delayed(18))
    broker.settle()
    assert broker.services.delay_service.deadline() == pytest.approx(7200, abs=0.01)


def test_delayed_message_without_a_queue_is_logged_and_skipped() -> None:
    broker = OpenedBroker()
    record = delayed(1, b"lost")
    record.topic = b"SCHEDULE_TOPIC_XXXX"
    put(broker, record)
    accept(broker, delayed(1, b"next"))
    broker.pass_time(1.1)
    assert broker.bodies("T") == [b"next"]
    assert broker.services.delay_service.counters == {"delivered": 1, "lost": 1}
    assert "names no queue" in broker.lines[-1].text


def test_a_half_message_that_waits_is_discarded() -> None:
    broker = OpenedBroker()
    record = delayed(1)
    record.topic = b"RMQ_SYS_TRANS_HALF_TOPIC"
    accept(broker, record)
    broker.pass_time(1.1)
    assert broker.bodies("RMQ_SYS_TRANS_HALF_TOPIC") == []


def test_messages_of_a_level_that_is_not_configured_any_more_are_delivered() -> None:
    broker = OpenedBroker()
    accept(broker, delayed(18))
    broker.settle()
    shorter = dataclasses.replace(STORE_SETTINGS, message_delay_level="1s 5s")
    again = restarted(broker, shorter)
    again.pass_time(6)
    assert len(again.bodies("T")) == 1


def test_levels_that_are_not_configured_any_more_are_not_delivered_again_by_each_start() -> None:
    broker = OpenedBroker()
    accept(broker, delayed(4))
    broker.pass_time(60)
    shorter = dataclasses.replace(STORE_SETTINGS, message_delay_level="1s 5s")
    for _ in range(2):
        broker = restarted(broker, shorter)
        accept(broker, delayed(1, b"saves the file"))
        broker.pass_time(60)
        assert broker.bodies("T").count(b"x") == 1
    broker = restarted(broker)
    broker.pass_time(60)
    assert broker.bodies("T").count(b"x") == 1


def test_a_copy_keeps_how_far_levels_are_that_only_its_master_has() -> None:
    master = OpenedBroker()
    accept(master, delayed(4))
    master.pass_time(60)
    shorter = dataclasses.replace(STORE_SETTINGS, message_delay_level="1s")
    for took_at_once in (True, False):
        copy = OpenedBroker(store_settings=shorter)
        if took_at_once:
            copy.services.delay_service.take_table(master.services.delay_service.table())
        else:
            copy.services.delay_service.copy(master.services.delay_service.table(), 0)
        assert b"4:1" in copy.services.delay_service.content()
        assert copy.services.delay_service.table().endswith(b'"offsetTable":{4:1}}')


def test_offsets_of_unknown_levels_are_not_kept() -> None:
    broker = OpenedBroker()
    broker.services.delay_service.load(b'{"offsetTable":{0:1,2:7,10001:1,-3:1}}')
    assert broker.services.delay_service.table().endswith(b'"offsetTable":{2:7}}')


def test_all_delay_offsets_are_returned() -> None:
    broker = OpenedBroker()
    accept(broker, delayed(2))
    accept(broker, delayed(2))
    broker.pass_time(20)
    answer = broker.ask(RequestCode.GET_ALL_DELAY_OFFSET)
    assert answer.body.endswith(b'"offsetTable":{2:2}}')


def test_a_slave_delivers_nothing() -> None:
    identity = dataclasses.replace(OpenedBroker().state.identity, broker_id=1)
    broker = OpenedBroker(identity=identity)
    accept(broker, delayed(1))
    broker.pass_time(10)
    assert broker.bodies("T") == []
