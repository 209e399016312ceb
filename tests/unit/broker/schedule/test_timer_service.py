"""Timers come back within a second of their moment, whatever happens in between."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.schedule import timer_messages, timer_service
from gantrymq.broker.core.schedule.timer_progress import TimerProgress
from gantrymq.broker.core.schedule.timer_service import ROLL_LOOK_SECONDS
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import START_MS, STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.timers import HOST, accept, disk_of, jump, put
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.unsynced import lose_all
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_table_from_json
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.send import RecallMessageRequest, SendMessageV2Request
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record

HOUR = 3600


class ClockedBroker(OpenedBroker):
    """Its wall clock may be set back."""

    behind_seconds = 0

    @property
    def wall_ms(self) -> int:
        return super().wall_ms - self.behind_seconds * 1000


def restarted(broker: OpenedBroker, *, has_file: bool = True) -> ClockedBroker:
    """The broker was killed; another one finds its disk, and its files as last written."""
    disk = disk_of(broker)
    disk.end_process()
    again = ClockedBroker(disk=disk, files=broker.saved if has_file else {})
    again.saved |= broker.saved
    again.now = broker.now
    again.behind_seconds = broker.behind_seconds if isinstance(broker, ClockedBroker) else 0
    return again


def recall(broker: OpenedBroker, handle: str | None) -> str:
    assert handle is not None
    broker.state.topics.put(TopicConfig("T"), broker.wall_ms)
    answer = broker.ask(
        RequestCode.RECALL_MESSAGE, RecallMessageRequest(topic="T", recall_handle=handle)
    )
    assert answer.code == 0, answer.remark
    assert answer.ext is not None
    return answer.ext["msgId"]


def no_room(_: Record) -> Record:
    raise MemoryError


def figures(broker: OpenedBroker) -> dict[str, str]:
    answer = broker.ask(RequestCode.GET_BROKER_RUNTIME_INFO)
    table = kv_table_from_json(javajson.loads(answer.body))
    return {key.removeprefix("timer"): table[key] for key in table if key.startswith("timer")}


def test_runtime_info_says_how_many_wait_and_how_fast_they_go() -> None:
    broker = ClockedBroker()
    accept(broker, 2.0, b"a")
    accept(broker, 100.0, b"b")
    broker.pass_time(15.0)
    ours = figures(broker)
    assert ours["CongestNum"] == "1"
    assert float(ours["DequeueTps"]) > 0
    assert (ours["OffsetBehind"], ours["ReadBehind"]) == ("0", "0")


def test_runtime_info_says_how_late_timers_are() -> None:
    broker = ClockedBroker()
    accept(broker, 2.0)
    broker.settle()
    broker.state.serves = False
    put(broker, Record(b"rmq_sys_wheel_timer", b"x", born_host=HOST, store_host=HOST))
    jump(broker, 12.0)
    ours = figures(broker)
    assert ours["OffsetBehind"] == "1"
    assert int(ours["ReadBehind"]) in {9, 10}


@pytest.mark.parametrize("step", ["out_ms_of", "restore", "_key_of"])
def test_what_fails_once_behind_a_reading_is_tried_again(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = OpenedBroker()
    recall(broker, accept(broker, 5, b"recalled"))
    accept(broker, 5)
    with monkeypatch.context() as patched:
        patched.setattr(timer_messages, step, no_room)
        with pytest.raises(MemoryError):
            broker.pass_time(8)
    broker.pass_time(timer_service.PAUSE_SECONDS)
    assert broker.bodies("T") == [b"x"]
    assert broker.services.timer_service.counters["recalled"] == 1


@pytest.mark.parametrize("seconds", [0.02, 1, 1.5, 59.999, 4096, 9000])
def test_it_comes_within_a_second_and_not_before(seconds: float) -> None:
    broker = OpenedBroker()
    broker.now = 0.25
    accept(broker, seconds)
    broker.pass_time(seconds - 0.01)
    assert broker.bodies("T") == []
    broker.pass_time(1.02)
    assert broker.bodies("T") == [b"x"]


def test_it_comes_with_what_java_says_of_it() -> None:
    broker = OpenedBroker()
    accept(broker, 2, TAGS="A")
    broker.pass_time(3)
    (record,) = broker.opened.records("T", 0)
    said = properties.parse(record.properties)
    assert said["TIMER_OUT_MS"] == str(START_MS + 1000)
    assert said["TIMER_DELIVER_MS"] == str(START_MS + 2000)
    assert said["TIMER_ENQUEUE_MS"] == str(START_MS)
    assert int(said["TIMER_DEQUEUE_MS"]) >= START_MS + 2000
    assert (said["REAL_TOPIC"], said["REAL_QID"], said["TAGS"]) == ("T", "0", "A")


def test_how_many_wait_and_how_late_they_are_is_told() -> None:
    broker = OpenedBroker()
    broker.state.topics.put(TopicConfig("T"), broker.wall_ms)
    accept(broker, 5.0)
    timers = broker.services.timer_service
    assert timers.untaken == 0, "it is not in the queue before the turn"
    broker.settle()
    assert (timers.untaken, timers.count) == (0, 1)
    due_ms = broker.wall_ms + 5_000
    assert timers.late_ms(due_ms) == 0
    assert timers.late_ms(due_ms + 3_000) == 3_000


def test_they_come_in_the_order_of_their_seconds_and_then_as_they_were_sent() -> None:
    broker = OpenedBroker()
    for number in range(300):
        accept(broker, 5 - number % 3, b"%d" % number)
    broker.pass_time(10)
    expected = [b"%d" % n for wanted in (2, 1, 0) for n in range(300) if n % 3 == wanted]
    assert broker.bodies("T") == expected


def test_a_year_later_it_comes_though_the_log_forgot_its_first_place() -> None:
    settings = dataclasses.replace(STORE_SETTINGS, mapped_file_size_commit_log=1 << 16)
    broker = OpenedBroker(store_settings=settings)
    accept(broker, 10 * 86_400, b"late")
    for _ in range(11 * 24):
        jump(broker, HOUR)
        put(broker, Record(b"N", bytes(9000), born_host=HOST, store_host=HOST))
        disk_of(broker).now_ms = broker.wall_ms
        jump(broker, 1)
        retention = broker.state.store.retention
        assert retention is not None
        retention.delete_now()
        broker.settle()
    assert broker.bodies("T") == [b"late"]
    assert broker.services.timer_service.counters["rolled"] >= 3
    assert broker.state.store.log.start > 0


def test_a_shorter_time_of_the_log_counts_from_the_next_look_on() -> None:
    broker = OpenedBroker()
    for number in range(30):
        accept(broker, 100 * HOUR, b"%d" % number)
        broker.settle()
        jump(broker, HOUR / 2)
    assert broker.services.timer_service.counters["rolled"] == 0
    body = b"fileReservedTime=2"
    assert broker.ask(RequestCode.UPDATE_BROKER_CONFIG, body=body).code == ResponseCode.SUCCESS
    broker.pass_time(ROLL_LOOK_SECONDS + 1)
    rolled = broker.services.timer_service.counters["rolled"]
    assert rolled == 28  # all that were stored 90 minutes ago


def test_a_message_the_log_lost_is_told() -> None:
    settings = dataclasses.replace(
        STORE_SETTINGS, mapped_file_size_commit_log=1 << 16, file_reserved_time=0
    )
    broker = OpenedBroker(store_settings=settings)
    accept(broker, HOUR)
    for _ in range(30):
        put(broker, Record(b"N", bytes(9000), born_host=HOST, store_host=HOST))
        jump(broker, 1)
    retention = broker.state.store.retention
    assert retention is not None
    retention.delete_now()
    disk_of(broker).now_ms = broker.wall_ms
    broker.pass_time(HOUR)
    assert broker.services.timer_service.counters["lost"] == 1
    assert any("were deleted with the log" in line.text for line in broker.lines)


def test_after_a_restart_the_rest_comes_and_nothing_twice() -> None:
    broker = OpenedBroker()
    for number in range(20):
        accept(broker, 2 * number + 1, b"%d" % number)
    broker.pass_time(20)
    accept(broker, 20000, b"far")
    broker.pass_time(40)
    again = restarted(broker)
    again.pass_time(60)
    assert again.bodies("T") == [b"%d" % number for number in range(20)]
    jump(again, 20000)
    assert again.bodies("T")[20:] == [b"far"]


def test_a_kill_in_the_middle_repeats_only_what_was_not_written() -> None:
    broker = OpenedBroker(BrokerSettings(flush_delay_offset_interval=10_000))
    for number in range(10):
        accept(broker, number * 10 + 1, b"%d" % number)
    broker.pass_time(45)
    assert len(broker.bodies("T")) == 5
    again = restarted(broker)
    again.pass_time(100)
    bodies = list(again.bodies("T"))
    assert set(bodies) == {b"%d" % number for number in range(10)}
    assert len(bodies) <= 12


def test_a_power_cut_loses_no_timer_that_was_on_disk_when_it_waited() -> None:
    # The log is flushed while the message waits, and not again soon after it was delivered.
    settings = dataclasses.replace(STORE_SETTINGS, flush_commit_log_thorough_interval=25_000)
    for cut_after in (0.1, 2, 9, 40):
        disk = FaultyDisk(lose_all)
        broker = OpenedBroker(BrokerSettings(flush_delay_offset_interval=1), settings, disk=disk)
        accept(broker, 30)
        broker.pass_time(30 + cut_after)
        assert broker.bodies("T") == [b"x"]
        again = OpenedBroker(disk=disk.crash(), files=broker.saved)
        again.now = broker.now
        again.pass_time(40)
        assert b"x" in again.bodies("T"), cut_after


def test_without_its_file_everything_in_the_log_comes() -> None:
    broker = OpenedBroker()
    accept(broker, 1, b"1")
    accept(broker, 50, b"2")
    broker.pass_time(10)
    again = restarted(broker, has_file=False)
    again.pass_time(60)
    assert again.bodies("T") == [b"1", b"1", b"2"]


def test_one_that_is_taken_when_its_second_is_over_comes_at_once() -> None:
    broker = OpenedBroker()
    accept(broker, 5, b"1")
    broker.settle()
    accept(broker, 5, b"2")
    broker.now += 60
    broker.settle()
    accept(broker, 0.9, b"3")
    broker.now += 30
    broker.settle()
    assert broker.bodies("T") == [b"1", b"2", b"3"]


def test_a_clock_that_went_back_delays_nothing_new_and_hurries_nothing() -> None:
    broker = OpenedBroker()
    accept(broker, 10_000, b"1")
    jump(broker, 10_002)
    broker.now -= 9000
    broker.settle()
    accept(broker, 100, b"2")
    broker.pass_time(90)
    assert broker.bodies("T") == [b"1"]
    broker.pass_time(11)
    assert broker.bodies("T") == [b"1", b"2"]


def test_a_clock_that_went_back_brings_nothing_again_after_restarts() -> None:
    broker = ClockedBroker()
    accept(broker, 86_400, b"tomorrow")
    for number in range(50):
        accept(broker, 5 + number, b"%d" % number)
    broker.pass_time(70)
    assert len(broker.bodies("T")) == 50
    broker.behind_seconds = 40
    broker.settle()
    accept(broker, 3, b"new")
    broker.pass_time(5)
    accept(broker, 4, b"newer")
    broker.pass_time(18)  # not yet where it was before
    again = restarted(broker)
    again.pass_time(12)
    third = restarted(again)
    third.behind_seconds = 0
    third.pass_time(100)
    assert third.bodies("T") == [b"%d" % number for number in range(50)] + [b"new", b"newer"]


def test_what_came_while_the_clock_was_back_is_not_lost() -> None:
    broker = ClockedBroker()
    accept(broker, 86_400, b"tomorrow")
    accept(broker, 100, b"1")
    broker.pass_time(120)
    broker.behind_seconds = 90
    broker.settle()
    accept(broker, 40, b"3")
    accept(broker, 5, b"2")
    broker.pass_time(20)  # its file says now that what was taken is delivered up to before "3"
    again = restarted(broker)
    again.pass_time(40)
    assert again.bodies("T") == [b"1", b"2", b"3"]


def test_a_recalled_message_does_not_come() -> None:
    broker = OpenedBroker()
    handle = accept(broker, 60, b"1")
    accept(broker, 60, b"2")
    assert recall(broker, handle) == "1"
    broker.pass_time(70)
    assert broker.bodies("T") == [b"2"]
    assert broker.services.timer_service.counters["recalled"] == 1


def test_a_recall_that_came_in_the_last_moment_is_read_before_its_second_goes() -> None:
    broker = OpenedBroker()
    accept(broker, 60, b"1")
    broker.pass_time(59)
    for number in range(300):
        accept(broker, 5, b"other %d" % number)
    accept(broker, 1, b"0", TIMER_DEL_UNIQKEY="T+1")
    broker.now += 3
    broker.settle()
    assert broker.bodies("T") == []


def test_a_recall_outlives_a_restart() -> None:
    broker = OpenedBroker()
    handle = accept(broker, 60, b"1")
    recall(broker, handle)
    again = restarted(broker)
    again.pass_time(70)
    assert again.bodies("T") == []


@pytest.mark.parametrize(
    ("said", "counted"), [("7", "8"), ("9" * 5000, "1"), ("9" * 10, "1"), ("-3", "1"), ("x", "1")]
)
def test_a_message_is_rolled_whatever_its_producer_says_of_that(said: str, counted: str) -> None:
    broker = OpenedBroker()
    accept(broker, 3 * 86_400, b"1", TIMER_ROLL_TIMES=said)
    broker.settle()
    for _ in range(3 * 24 + 1):
        jump(broker, HOUR)
    (record,) = broker.opened.records("T", 0)
    assert properties.get(record.properties, "TIMER_ROLL_TIMES") == counted


def test_a_recall_of_a_rolled_message_still_finds_it() -> None:
    broker = OpenedBroker()
    handle = accept(broker, 5 * 86_400, b"1")
    broker.settle()
    for _ in range(4 * 24):
        jump(broker, HOUR)
    assert broker.services.timer_service.counters["rolled"] == 1
    recall(broker, handle)
    jump(broker, 2 * 86_400)
    assert broker.bodies("T") == []


def rolled(count: int) -> OpenedBroker:
    """Of a stretch one message is still there, due within minutes: the others were rolled."""
    settings = dataclasses.replace(STORE_SETTINGS, file_reserved_time=1)
    broker = OpenedBroker(store_settings=settings)
    accept(broker, 2760, b"soon")
    for number in range(count):
        accept(broker, 2 * HOUR, b"%d" % number)
    broker.settle()
    broker.pass_time(2715)
    assert broker.services.timer_service.counters["rolled"] == count
    return broker


def test_what_was_rolled_comes_once_after_a_restart() -> None:
    broker = rolled(100)
    again = restarted(broker)
    assert again.services.timer_service.count == 0
    again.pass_time(1)
    assert again.services.timer_service.count == 101
    again.pass_time(2 * HOUR)
    assert again.bodies("T") == [b"soon"] + [b"%d" % number for number in range(100)]


def test_rolls_behind_each_other_are_all_known_after_a_restart() -> None:
    broker = OpenedBroker()
    for number in range(200):
        accept(broker, 1500, b"short %d" % number)
    accept(broker, 1800, b"holds its stretch")
    for number in range(10):
        accept(broker, 1860 + number * 15, b"rolled first %d" % number)
    broker.pass_time(800)
    for number in range(200):
        accept(broker, 740, b"shorter %d" % number)
    accept(broker, 7200, b"rolled then")
    broker.pass_time(840)
    assert len(TimerProgress.decode(broker.services.timer_service.table()).rolled) == 2
    again = restarted(broker)
    again.pass_time(7200)
    assert len(again.bodies("T")) == 412
    assert len(set(again.bodies("T"))) == 412


def test_a_restart_in_the_middle_of_a_roll_goes_on_with_the_rest() -> None:
    broker = rolled(0)
    for number in range(1000):
        accept(broker, 2 * HOUR, b"%d" % number)
    broker.settle()
    broker.now += HOUR
    counters = broker.services.timer_service.counters
    while not counters["rolled"]:
        broker.broker.turn(broker.now, broker.wall_ms)
        broker.opened.background.complete_all()
    assert counters["rolled"] < 1000
    broker.saved[File.TIMERS] = broker.services.timer_service.table()
    again = restarted(broker)
    again.pass_time(2 * HOUR)
    assert len(again.bodies("T")) == 1001


def test_marks_of_a_log_that_was_emptied_hide_nothing_new() -> None:
    broker = rolled(100)
    fresh = OpenedBroker(files=broker.saved)
    fresh.now = broker.now
    for number in range(150):
        accept(fresh, 2 * HOUR, b"new %d" % number)
    fresh.pass_time(20)
    again = restarted(fresh)
    again.pass_time(2 * HOUR + 1)
    assert len(again.bodies("T")) == 150


def test_a_full_disk_holds_messages_up_and_loses_none() -> None:
    broker = OpenedBroker()
    for number in range(300):
        accept(broker, 5, b"%d" % number)
    broker.settle()
    disk = disk_of(broker)
    usage = disk.usage("")
    disk.total_bytes = usage.total_bytes - usage.free_bytes + 1
    broker.pass_time(20)
    assert broker.bodies("T") == []
    disk.total_bytes = usage.total_bytes
    broker.pass_time(20)
    assert sorted(broker.bodies("T")) == sorted(b"%d" % number for number in range(300))


def test_twenty_thousand_of_one_minute_all_come_once() -> None:
    settings = dataclasses.replace(STORE_SETTINGS, mapped_file_size_commit_log=64 << 20)
    broker = OpenedBroker(store_settings=settings)
    for number in range(20_000):
        accept(broker, 10 + number % 60, b"%d" % number)
        if number % 5000 == 0:
            broker.settle()
    broker.settle()
    assert broker.services.timer_service.count == 20_000
    broker.pass_time(80)
    assert sorted(map(int, broker.bodies("T"))) == list(range(20_000))
    assert broker.services.timer_service.count == 0


def test_a_send_of_a_client_is_answered_with_a_handle_that_recalls_it() -> None:
    broker = OpenedBroker()
    broker.state.topics.put(TopicConfig("T"), START_MS)
    header = SendMessageV2Request(
        producer_group="P",
        topic="T",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=0,
        born_timestamp=START_MS,
        flag=0,
        properties=properties.encode({"TIMER_DELAY_SEC": "60"}).decode(),
    )
    answers = [broker.ask(RequestCode.SEND_MESSAGE_V2, header, b"x") for _ in range(2)]
    assert [answer.code for answer in answers] == [0, 0]
    assert answers[0].ext is not None
    recall(broker, answers[0].ext["recallHandle"])
    broker.pass_time(70)
    assert broker.bodies("T") == [b"x"]


def test_the_file_says_how_far_it_came() -> None:
    broker = OpenedBroker()
    accept(broker, 1)
    broker.pass_time(60)
    second = (START_MS + 1000) // 1000 - 1
    text = broker.saved[File.TIMERS].decode()
    assert f'"delivered":{second}' in text
    assert '"low":1' in text
