"""Long polling: pulls wait, and are answered when something comes or their time is up."""

import pytest

from gantrymq.base.errors import CorruptionError
from gantrymq.base.memory_account import Kind
from gantrymq.broker.core.pull import pull_request_hold
from gantrymq.broker.core.pull.pulls import Pull
from gantrymq.broker.core.pull.pulls import reading as read_at_once
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import State
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.pulls import (
    COMMITS,
    SUBSCRIBES,
    SUSPENDS,
    PulledBroker,
    bodies,
    place,
    pull,
)
from gantrymq.fakes.memory import shrink
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.pull_query import Pulled
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode

WAITS = SUBSCRIBES | SUSPENDS


@pytest.fixture
def pulls() -> PulledBroker:
    return PulledBroker()


def test_a_pull_is_held_and_gets_the_next_message(pulls: PulledBroker) -> None:
    held = pulls.send(sys_flag=WAITS)
    assert pulls.broker.is_held(held)
    pulls.store("a")
    answer = pulls.answer(held)
    assert (answer.code, answer.remark, bodies(answer)) == (0, "FOUND", ["a"])
    assert len(pulls.services.pull_request_hold) == 0
    assert (
        not pulls.services.pull_request_hold._queues
    )  # or each queue ever pulled from leaves something behind


def test_one_turn_answers_a_limited_number_of_bytes(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_request_hold, "ANSWERED_BYTES_A_TURN", 1)
    held = [pulls.send(sys_flag=WAITS) for _ in range(3)]
    assert _answered_by_turn(pulls, "a") == [1, 1, 1]
    assert [bodies(pulls.answer(each)) for each in held] == [["a"]] * 3


@pytest.mark.parametrize("names", [["a"], []], ids=["a message", "time is up"])
def test_one_turn_reads_for_a_limited_number_of_pulls(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    monkeypatch.setattr(pull_request_hold, "READS_A_TURN", 2)
    held = [pulls.send(sys_flag=WAITS) for _ in range(5)]
    pulls.broker.now += 0.0 if names else 100.0
    assert _answered_by_turn(pulls, *names) == [2, 2, 1]
    assert not any(pulls.broker.is_held(each) for each in held)
    assert pulls.broker.broker.deadline() > pulls.broker.now


def test_pull_woken_twice_before_its_read_is_read_once(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_request_hold, "READS_A_TURN", 1)
    channel = FakeChannel()
    held = [pulls.send(sys_flag=WAITS, channel=channel) for _ in range(3)]
    pulls.services.pull_request_hold.arrived([("T", 0)])
    pulls.services.pull_request_hold.arrived([("T", 0)])
    assert len(pulls.services.pull_request_hold._woken) == 3
    pulls.broker.close(channel)
    assert all(pulls.broker.answer(each) is None for each in held)
    assert not pulls.services.pull_request_hold._woken


def _answered_by_turn(pulls: PulledBroker, *names: str) -> list[int]:
    """How many pulls are answered in each turn from these messages on that answers some."""
    pulls.begin_to_store(*names)
    counts = []
    for _ in range(9):
        before = len(pulls.services.pull_request_hold)
        pulls.broker.broker.turn(pulls.broker.now, pulls.broker.wall_ms)
        pulls.broker.opened.background.complete_all()
        counts.append(before - len(pulls.services.pull_request_hold))
    pulls.broker.settle()
    return [count for count in counts if count]


def test_a_message_wakes_pulls_of_its_own_queue_only(pulls: PulledBroker) -> None:
    here, there = pulls.send(sys_flag=WAITS), pulls.send(sys_flag=WAITS, queue_id=1)
    pulls.store("a")
    assert not pulls.broker.is_held(here)
    assert pulls.broker.is_held(there)


def test_all_groups_get_a_message(pulls: PulledBroker) -> None:
    held = [pulls.send(sys_flag=WAITS, consumer_group=f"G{number}") for number in range(3)]
    pulls.store("a")
    assert [bodies(pulls.answer(each)) for each in held] == [["a"]] * 3


def test_a_pull_that_may_not_be_held_is_answered(pulls: PulledBroker) -> None:
    assert pulls.ask(sys_flag=SUBSCRIBES).code == 19


@pytest.mark.parametrize("wait_ms", [15_000, 400, 0, -1, 1 << 62])
def test_pull_is_answered_when_its_time_is_up(pulls: PulledBroker, wait_ms: int) -> None:
    held = pulls.send(sys_flag=WAITS, suspend_timeout_millis=wait_ms)
    seconds = min(max(wait_ms, 0) / 1000, pull_request_hold.SECONDS_MAX)
    if seconds:
        pulls.broker.pass_time(seconds - 0.001)
        assert pulls.broker.is_held(held)
    pulls.broker.pass_time(pull_request_hold.SCAN_SECONDS + 0.001)
    answer = pulls.answer(held)
    assert (answer.code, answer.remark) == (19, "NO_MESSAGE_IN_QUEUE")


def test_without_long_polling_the_wait_is_short() -> None:
    settings = BrokerSettings(long_polling_enable=False, short_polling_time_mills=700)
    pulls = PulledBroker(OpenedBroker(settings))
    held = pulls.send(sys_flag=WAITS)
    pulls.broker.pass_time(0.7 + pull_request_hold.SCAN_SECONDS)
    assert pulls.answer(held).code == 19


def test_many_waits_of_different_length_end_in_time(pulls: PulledBroker) -> None:
    held = [pulls.send(sys_flag=WAITS, suspend_timeout_millis=ms) for ms in range(100, 3000, 100)]
    for count, each in enumerate(held):
        pulls.broker.pass_time(0.1)
        assert not any(pulls.broker.is_held(one) for one in held[: max(0, count - 5)])
        assert count == len(held) - 1 or pulls.broker.is_held(held[count + 1])
        assert each.channel is pulls.broker.channel
    pulls.broker.pass_time(pull_request_hold.SCAN_SECONDS)
    assert len(pulls.services.pull_request_hold) == 0


def test_filtered_messages_move_the_offset_after_a_while(
    pulls: PulledBroker,
) -> None:
    held = pulls.send(sys_flag=WAITS, subscription="B")
    pulls.store("a", TAGS="A")
    pulls.broker.pass_time(pull_request_hold.MOVED_SECONDS - 0.1)
    assert pulls.broker.is_held(held)
    pulls.broker.pass_time(0.1 + pull_request_hold.SCAN_SECONDS)
    answer = pulls.answer(held)
    assert (answer.code, answer.remark) == (20, "NO_MATCHED_MESSAGE")
    assert place(answer) == (1, 0, 1)


def test_messages_without_a_match_are_skipped_when_a_message_matches(pulls: PulledBroker) -> None:
    held = pulls.send(sys_flag=WAITS, subscription="price > 3", expression_type="SQL92")
    pulls.store("a", "b", price="1")
    pulls.store("c", price="4")
    answer = pulls.answer(held)
    assert (bodies(answer), place(answer)) == (["c"], (3, 0, 3))


def test_messages_without_a_match_are_not_read_again(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulls.send(sys_flag=WAITS, subscription="B")
    offsets = []

    def noted(state: State, pull: Pull, offset: int) -> ReadTask[Pulled]:
        offsets.append(offset)
        return read_at_once(state, pull, offset)

    monkeypatch.setattr("gantrymq.broker.core.pull.pulls.reading", noted)
    pulls.store("a", "b", TAGS="A")
    pulls.store("c", TAGS="A")
    assert offsets == [0, 2]


def test_closed_connection_releases_its_pulls_and_no_other(pulls: PulledBroker) -> None:
    channel = FakeChannel()
    gone, stays = pulls.send(sys_flag=WAITS, channel=channel), pulls.send(sys_flag=WAITS)
    pulls.broker.close(channel)
    assert pulls.broker.answer(gone) is None
    assert pulls.broker.is_held(stays)
    assert len(pulls.services.pull_request_hold) == 1


def test_pull_that_lost_its_permission_is_refused_when_a_message_arrives(
    pulls: PulledBroker,
) -> None:
    held = [pulls.send(sys_flag=WAITS), pulls.send(sys_flag=WAITS, queue_id=1)]
    pulls.state.groups.put(GroupConfig(group_name="G", consume_enable=False), 0)
    pulls.store("a")
    pulls.broker.pass_time(16.0)
    assert [pulls.answer(each).code for each in held] == [16, 16]


def test_pull_of_a_deleted_topic_is_refused_when_its_time_is_up(pulls: PulledBroker) -> None:
    pulls.state.topics.put(TopicConfig("gone"), 0)
    held = pulls.send(sys_flag=WAITS, topic="gone")
    pulls.state.topics.remove("gone", 0)
    pulls.broker.pass_time(16.0)
    assert pulls.answer(held).code == 17


def test_held_pull_does_not_create_its_deleted_group_again(pulls: PulledBroker) -> None:
    held = pulls.send(sys_flag=WAITS)
    pulls.state.groups.remove("G", 0)
    pulls.broker.pass_time(16.0)
    assert pulls.answer(held).code == 26
    assert pulls.state.groups.find("G") is None


def test_commit_offset_of_a_held_pull_is_stored_once(pulls: PulledBroker) -> None:
    pulls.store("a")
    held = pulls.send(1, sys_flag=WAITS | COMMITS, commit_offset=1)
    pulls.state.offsets.commit("G", "T", 0, 0)
    pulls.store("b")
    assert bodies(pulls.answer(held)) == ["b"]
    assert pulls.state.offsets.find("G", "T", 0) == 0


def test_reset_offset_is_returned_by_the_next_read(pulls: PulledBroker) -> None:
    pulls.store("a")
    held = pulls.send(1, sys_flag=WAITS)
    pulls.state.resets.assign("G", "T", 0, 0)
    pulls.services.pull_request_hold.arrived([("T", 0)])
    pulls.broker.settle()
    assert pulls.answer(held).remark == "OFFSET_RESET"


def test_pulls_beyond_the_limit_are_refused_as_busy(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_request_hold, "HELD_PULLS_MAX", 2)
    for _ in range(2):
        assert pulls.broker.is_held(pulls.send(sys_flag=WAITS))
    answer = pulls.ask(sys_flag=WAITS)
    assert answer.code == 2
    assert answer.remark is not None
    assert "holding pulls" in answer.remark


def test_one_connection_cannot_use_up_the_limit_of_held_pulls(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_request_hold, "CHANNEL_HELD_PULLS_MAX", 2)
    greedy = FakeChannel()
    for _ in range(2):
        assert pulls.broker.is_held(pulls.send(sys_flag=WAITS, channel=greedy))
    answer = pulls.answer(pulls.send(sys_flag=WAITS, channel=greedy))
    assert answer.code == 2
    assert "this connection has 2 pulls that wait for messages" in (answer.remark or "")
    assert pulls.broker.is_held(pulls.send(sys_flag=WAITS, channel=FakeChannel()))
    pulls.broker.close(greedy)
    assert pulls.broker.is_held(pulls.send(sys_flag=WAITS, channel=FakeChannel()))


def test_pull_with_a_body_does_not_wait(pulls: PulledBroker) -> None:
    for code in (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE):
        request = pulls.broker.send(code, pull(sys_flag=WAITS), bytes(1 << 20))
        answer = pulls.answer(request)
        assert answer.code == ResponseCode.INVALID_PARAMETER
        assert "send it without a body" in (answer.remark or "")
    assert len(pulls.services.pull_request_hold) == 0


def test_held_pulls_may_take_a_limited_number_of_bytes(pulls: PulledBroker) -> None:
    shrink(pulls.state.memory, Kind.PULLS, 33_000)
    first = FakeChannel()
    body = bytes(15_000)
    for _ in range(2):
        request = pulls.broker.send(
            RequestCode.PULL_MESSAGE, pull(sys_flag=WAITS), body, channel=first
        )
        assert pulls.broker.is_held(request)
    answer = pulls.answer(pulls.send(sys_flag=WAITS))
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert "maxPeerMemory=" in (answer.remark or "")
    pulls.broker.close(first)
    assert pulls.state.memory.held_of(Kind.PULLS) == 0
    assert pulls.broker.is_held(pulls.send(sys_flag=WAITS))


# ---------------------------------------------------------------------- while the disk reads


def test_pull_that_needs_the_disk_is_answered_later() -> None:
    disk = MemoryDisk()
    before = PulledBroker(OpenedBroker(disk=disk))
    before.store("a")
    before.broker.opened.close()
    pulls = PulledBroker(OpenedBroker(disk=disk))
    disk.reads_cached = False
    pulls.broker.disk_is_stuck = True
    request = pulls.send()
    assert pulls.broker.is_held(request)
    pulls.broker.disk_is_stuck = False
    pulls.broker.settle()
    assert bodies(pulls.answer(request)) == ["a"]


def slowly(state: State, pull: Pull, offset: int) -> ReadTask[Pulled]:
    """A reading whose result is old when it comes."""
    found = yield from read_at_once(state, pull, offset)
    for _ in range(5):
        yield None
    return found


def test_message_that_arrives_during_a_read_is_not_missed(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantrymq.broker.core.pull.pulls.reading", slowly)
    pulls.begin_to_store("a")
    first = pulls.send(sys_flag=WAITS)
    assert bodies(pulls.answer(first)) == ["a"]
    held = pulls.send(1, sys_flag=WAITS, subscription="B")
    pulls.begin_to_store("b", TAGS="A")
    pulls.broker.broker.turn(0.0, 0)
    pulls.begin_to_store("c", TAGS="B")
    pulls.broker.settle()
    assert bodies(pulls.answer(held)) == ["c"]


def test_connection_that_closes_during_a_read_releases_the_pull_once(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = pulls.send(sys_flag=WAITS)
    monkeypatch.setattr("gantrymq.broker.core.pull.pulls.reading", slowly)
    pulls.begin_to_store("a")
    pulls.broker.broker.turn(0.0, 0)
    pulls.broker.close(pulls.broker.channel)
    assert pulls.broker.answer(held) is None
    assert len(pulls.services.pull_request_hold) == 0


def test_damaged_record_is_reported_to_the_consumer(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = pulls.send(sys_flag=WAITS)

    def broken(*_: object) -> object:
        raise CorruptionError("message 0 is damaged")

    monkeypatch.setattr("gantrymq.broker.core.pull.pulls.begun", broken)
    pulls.store("a")
    answer = pulls.answer(held)
    assert (answer.code, answer.remark) == (1, "CorruptionError: message 0 is damaged")
    monkeypatch.undo()
    page = pulls.state.store.log._tail._pages[0]
    assert page is not None
    page[4] ^= 0xFF  # the magic
    answer = pulls.ask()
    assert answer.code == 1
    assert answer.remark is not None
    assert answer.remark.startswith("CorruptionError: message 0 of queue 0 of topic T is damaged")
