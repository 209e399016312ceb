"""Tests the store as its owner uses it: puts, turns, answers, restarts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.base.disk import DiskFailure
from gantrymq.fakes.stores.store import SETTINGS, SYNC, OpenedStore, message
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.record.put_status import PutStatus, Refused
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk


def test_puts_are_answered_by_the_turn_that_wrote_them() -> None:
    opened = OpenedStore(FaultyDisk())
    numbers = opened.put(1, 2, 3)
    turn = opened.turn()
    assert [answer.number for answer in turn.answers] == numbers
    assert [answer.queue_offset for answer in turn.answers] == [0, 1, 2]
    assert {answer.status for answer in turn.answers} == {PutStatus.PUT_OK}
    assert list(turn.arrived) == [("T", 0)]
    assert opened.bodies() == [b"body 1", b"body 2", b"body 3"]
    assert opened.store.dispatch_behind == 0


def test_a_batch_has_one_answer_with_every_position() -> None:
    opened = OpenedStore(FaultyDisk())
    number = opened.store.put_batch([message(1), message(2)])
    opened.put(3)
    first, second = opened.turn().answers
    assert (first.number, len(first.positions), first.queue_offset) == (number, 2, 0)
    assert second.queue_offset == 2


def test_with_sync_flush_answers_and_readers_wait_for_the_disk() -> None:
    opened = OpenedStore(FaultyDisk(), SYNC)
    numbers = opened.put(1, 2)
    unawaited = opened.store.put(message(3), waits=False)
    turn = opened.turn()
    assert [answer.number for answer in turn.answers] == [unawaited]
    assert not turn.arrived
    assert opened.store.readable == 0
    opened.background.complete_all()
    turn = opened.turn()
    assert [answer.number for answer in turn.answers] == numbers
    assert list(turn.arrived) == [("T", 0)]
    assert opened.store.readable == opened.store.log.end


def test_slow_disk_is_answered_with_flush_disk_timeout() -> None:
    opened = OpenedStore(FaultyDisk(), SYNC)
    (number,) = opened.put(1)
    opened.turn()
    (answer,) = opened.turn(6.0).answers
    assert (answer.number, answer.status) == (number, PutStatus.FLUSH_DISK_TIMEOUT)
    assert answer.positions == [0]


def test_a_failed_sync_ends_everything() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk, SYNC)
    opened.put(1)
    opened.turn()
    disk.fail("sync")
    opened.background.complete_all()
    with pytest.raises(SyncFailedError):
        opened.turn()
    with pytest.raises(SyncFailedError):
        opened.turn()


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("settings", [SETTINGS, SYNC])
def test_restart_continues_where_the_store_stopped(is_clean: bool, settings: StoreSettings) -> None:
    disk = FaultyDisk()
    for life in range(4):
        opened = OpenedStore(disk, settings)
        assert opened.store.report.is_clean == (is_clean or life == 0)
        for number in range(10):
            opened.put(life * 10 + number)
            opened.turn(seconds=0.3)
        opened.settle()
        assert opened.bodies() == [b"body %d" % each for each in range(life * 10 + 10)]
        if is_clean:
            opened.close()
        else:
            disk = disk.crash()


def test_clean_stop_answers_every_send() -> None:
    opened = OpenedStore(FaultyDisk(), SYNC)
    opened.put(1)
    opened.turn()
    numbers = opened.put(2)
    answers = opened.close().answers
    assert [answer.number for answer in answers] == [1, *numbers]
    assert not any(entry.name == "abort" for entry in opened.disk.list(""))
    refused = opened.store.put(message(3))
    assert isinstance(refused, Refused)


def test_group_without_space_is_refused_and_its_offsets_are_reused() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk)
    opened.put(1)
    opened.turn()
    disk.fail("write", DiskFailure.NO_SPACE)
    numbers = opened.put(2, 3)
    turn = opened.turn()
    assert [answer.number for answer in turn.answers] == numbers
    assert {answer.status for answer in turn.answers} == {PutStatus.SERVICE_NOT_AVAILABLE}
    opened.put(4)
    (answer,) = opened.turn().answers
    assert answer.queue_offset == 1
    assert opened.bodies() == [b"body 1", b"body 4"]


def test_dispatch_lag_is_reported_in_bytes_and_ms() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk, replace(SETTINGS, flush_consume_queue_least_pages=0))
    opened.put(1)
    for _ in range(3):
        opened.turn(100.0)
        opened.settle()
    disk.fail("remove", path="consumequeue/T/0", times=2)
    opened.store.delete_topic("T")
    opened.turn()
    opened.put(2)
    stored_ms = int(1_700_000_000_000 + opened.now * 1000)
    opened.turn()
    assert opened.store.dispatch_behind > 0
    assert opened.store.dispatch_behind_ms(stored_ms + 70) == 70
    assert opened.store.dispatch_behind_ms(stored_ms - 70) == 0
    opened.turn(1.0)
    assert opened.store.dispatch_behind == opened.store.dispatch_behind_ms(stored_ms + 70) == 0
    assert opened.bodies() == [b"body 2"]
