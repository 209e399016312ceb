"""Tests the master's end of a classic connection: start position, output and reports."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskFailure
from gantrymq.fakes.brokers.replicated import Master, cold
from gantrymq.fakes.stores.store import SETTINGS, message
from gantrymq.ha.classic.frames import FrameReader
from gantrymq.ha.classic.log_senders import LogSenders
from gantrymq.ha.protocol.events import Ended, Ending
from gantrymq.ha.protocol.log_stream import OUTPUT_BYTES_MAX
from gantrymq.ha.settings import HaSettings
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk


def filled(count: int = 60, ha: HaSettings = HaSettings()) -> Master:  # noqa: B008 - frozen
    """A log of several files."""
    master = Master(ha=ha)
    for number in range(count):
        master.put(number)
        master.turn()
    master.followers = LogSenders(master.store, ha)
    return master


def frames(data: bytes) -> list[tuple[int, bytes]]:
    """Whole ones."""
    found = []
    while data:
        size = int.from_bytes(data[8:12])
        found.append((int.from_bytes(data[:8]), data[12 : 12 + size]))
        data = data[12 + size :]
    return found


def test_nothing_is_sent_before_the_first_report() -> None:
    master = filled()
    follower = master.connect()
    assert master.send(follower) == b""
    follower.expire(master.now + 19)
    assert not follower.take_output()


def test_an_empty_slave_begins_with_the_last_file() -> None:
    master = filled()
    end = master.store.log.end
    start = end - end % 4096
    assert 0 < start < end
    follower = master.connect(0)
    assert frames(master.send(follower)) == [(start, master.bytes_of_log(start))]
    assert follower.acknowledged == 0


def test_frames_are_small_and_end_where_a_file_does() -> None:
    master = filled(ha=HaSettings(batch_bytes=1000))
    sent = frames(master.send(master.connect(119)))
    assert all(len(data) <= 1000 and position // 4096 == (position + len(data) - 1) // 4096
               for position, data in sent)  # fmt: skip
    assert b"".join(data for _, data in sent) == master.bytes_of_log(119)
    assert sent[0][0] == 119


def test_what_is_new_follows_in_the_same_turn() -> None:
    master = filled()
    follower = master.connect(master.store.log.end)
    assert master.send(follower) == b""
    position = master.store.log.end
    master.put(61, 62)
    master.turn()
    master.followers.turn(master.now)
    assert frames(b"".join(follower.take_output())) == [(position, master.bytes_of_log(position))]


def test_what_is_not_in_memory_is_read_by_the_disk() -> None:
    master = filled()
    disk = master.disk
    assert isinstance(disk, FaultyDisk)
    settings = SETTINGS
    master.close()
    again = Master(disk, settings)
    disk.memory.cool()
    follower = again.connect(119)
    again.followers.turn(again.now)
    assert not follower.take_output()
    assert [job.kind for job in again.background.jobs if job.kind == "read"] == ["read"]
    assert b"".join(data for _, data in frames(again.send(follower))) == again.bytes_of_log(119)


def test_a_log_that_cannot_be_read_ends_the_connection() -> None:
    disk = FaultyDisk()
    again = cold(disk)
    follower = again.connect(0)
    again.followers.turn(again.now)
    disk.fail("read", DiskFailure.BROKEN)
    again.background.complete_all()
    again.turn()
    ((ended_one, ended),) = again.followers.turn(again.now)
    assert ended_one is follower
    assert ended.ending is Ending.DISK


def test_both_sides_send_and_expect_heartbeats() -> None:
    master = filled()
    end = master.store.log.end
    follower = master.connect(end)
    assert follower.deadline() == master.now + 5
    follower.expire(master.now + 5)
    assert frames(b"".join(follower.take_output())) == [(end, b"")]
    assert follower.deadline() == master.now + 10
    (ended,) = follower.expire(master.now + 20)
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.SILENT


def test_slave_that_never_reports_is_closed() -> None:
    master = filled()
    follower = master.connect()
    assert follower.deadline() == master.now + 20
    (ended,) = follower.expire(master.now + 20)
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.SILENT


def test_the_log_of_before_our_first_file_cannot_be_followed() -> None:
    master = filled()
    master.store.log.remove_first()
    follower = master.connect()
    (ended,) = master.hear(follower, 100)
    assert ended.ending is Ending.TOO_FAR_BEHIND
    assert "empty the slave's store" in ended.text


def test_a_slave_that_has_what_was_never_handed_out_is_refused() -> None:
    master = filled()
    found = master.store.log.end
    (ended,) = master.hear(master.connect(), found + 1)
    assert ended.ending is Ending.AHEAD
    master.put(61)
    master.turn()
    (ended,) = master.hear(master.connect(), found + 1)
    assert ended.ending is Ending.AHEAD, "it may be another log that is as long"
    follower = master.connect(found)
    master.send(follower)
    assert not master.hear(master.connect(), found + 1)
    master.followers.closed(follower, Ending.CLOSED, master.now)
    assert not master.hear(master.connect(), master.store.log.end)


@given(st.binary(min_size=8, max_size=64))
def test_garbage_acknowledges_nothing(data: bytes) -> None:
    master = Master(ha=HaSettings(waits=True))
    follower = master.connect(0)
    master.send(follower)
    (number,) = master.put(1)
    master.turn()
    master.followers.heard(follower, data, master.now)
    answers = master.turn().answers
    said = int.from_bytes(data[:8], signed=True)
    if not 0 <= said <= follower.stream.sent:
        assert follower.is_over
    assert (
        not [answer for answer in answers if answer.number == number]
        or said == follower.stream.sent
    )


def test_what_was_not_sent_cannot_be_acknowledged() -> None:
    master = filled()
    follower = master.connect(119)
    (ended,) = master.hear(follower, 238)
    assert ended.ending is Ending.GARBAGE
    assert follower.acknowledged == 119
    assert not master.hear(follower, 119)


def test_a_slave_that_does_not_read_costs_no_more_memory() -> None:
    master = Master(settings=StoreSettings(mapped_file_size_commit_log=1 << 20))
    for number in range(40):
        record = message(number)
        record.body = bytes(60_000)
        master.store.put(record)
        master.turn()
    master.followers = LogSenders(master.store, HaSettings())
    follower = master.connect(1)
    for _ in range(50):
        master.turn()
        master.followers.turn(master.now)
    held = sum(map(len, follower.take_output()))
    assert OUTPUT_BYTES_MAX <= held <= OUTPUT_BYTES_MAX + 32_768 + 20 * 12
    follower.is_held_up = True
    for _ in range(50):
        master.turn()
        master.followers.turn(master.now)
        assert not follower.take_output()
    follower.is_held_up = False
    assert len(master.send(follower)) > 0


@given(st.lists(st.integers(1, 200), max_size=30))
def test_reports_may_be_cut_anywhere(sizes: list[int]) -> None:
    master = filled()
    follower = master.connect(119)
    reader = FrameReader()
    reports = []
    for position, data in reader.decode(master.send(follower)):
        reports.append(position + len(data))
    data = b"".join(position.to_bytes(8) for position in reports)
    for size in sizes:
        master.followers.heard(follower, data[:size], master.now)
        data = data[size:]
    master.followers.heard(follower, data, master.now)
    assert not follower.is_over
    assert follower.acknowledged == follower.stream.sent == master.store.log.end
