"""Tests that messages of sessions that are sent again are stored once, in their order.

Kills, power cuts, truncations of the log and changes of role lie in between.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from gantrymq.base.disk import DiskFailure
from gantrymq.fakes.brokers.replicated import Slave, bytes_of_log
from gantrymq.fakes.stores.store import HOST, SETTINGS, SYNC, OpenedStore
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.commitlog.log_truncation import TruncationRequest
from gantrymq.store.record.put_status import PutStatus, Refused
from gantrymq.store.sessions.snapshot import PATHS, load
from gantrymq.store.sessions.table import SessionSend
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.unsynced import keep_all, lose_all
from gantrymq.wire.message.record import Record

SESSION = b"sink/0/T/0"


def record(send: SessionSend, index: int) -> Record:
    return Record(
        b"T",
        b"%d" % (send.first + index),
        properties=b"UNIQ_KEY\x01U\x02GANTRY_SESSION\x01%b\x02" % send.property_value(index),
        born_host=HOST,
        store_host=HOST,
    )


def put(opened: OpenedStore, first: int, count: int, epoch: int = 0) -> int | Refused:
    send = SessionSend(SESSION, epoch, first, count)
    records = [record(send, index) for index in range(count)]
    return opened.store.put_session(records, send, is_batch=True)


def sent(opened: OpenedStore, first: int, count: int, epoch: int = 0) -> tuple[PutStatus, int]:
    """The answer to a send on a fast disk: the status, and the number of repeats."""
    number = put(opened, first, count, epoch)
    assert isinstance(number, int)
    answers = [*opened.turn().answers, *opened.settle().answers]
    (answer,) = [each for each in answers if each.number == number]
    return answer.status, answer.repeats


def bodies(opened: OpenedStore) -> list[int]:
    return [int(body) for body in opened.bodies("T")]


def test_repeated_message_is_stored_once() -> None:
    opened = OpenedStore(FaultyDisk())
    assert sent(opened, 0, 3) == (PutStatus.PUT_OK, 0)
    assert sent(opened, 0, 3) == (PutStatus.PUT_OK, 3)
    assert sent(opened, 1, 4) == (PutStatus.PUT_OK, 2)
    assert bodies(opened) == [0, 1, 2, 3, 4]


def test_a_repeat_waits_for_the_disk_like_the_first_copy() -> None:
    opened = OpenedStore(FaultyDisk(), SYNC)
    first = put(opened, 0, 3)
    assert not opened.turn().answers
    again = put(opened, 0, 3)
    assert not opened.turn().answers
    assert [answer.number for answer in opened.settle().answers] == [first, again]
    assert bodies(opened) == [0, 1, 2]


def test_repeat_in_the_same_turn_is_answered_like_the_first_copy() -> None:
    opened = OpenedStore(FaultyDisk())
    first, again = put(opened, 0, 2), put(opened, 0, 2)
    answers = opened.turn().answers
    assert [(each.number, each.status) for each in answers] == [
        (first, PutStatus.PUT_OK),
        (again, PutStatus.PUT_OK),
    ]
    assert bodies(opened) == [0, 1]


def test_message_that_the_disk_refused_may_be_sent_again() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk)
    sent(opened, 0, 1)
    disk.fail("write", path="commitlog/00000000000000000000")
    refused, repeated = put(opened, 1, 1), put(opened, 1, 1)
    answers = {each.number: each.status for each in opened.turn().answers}
    assert answers == dict.fromkeys((refused, repeated), PutStatus.SERVICE_NOT_AVAILABLE)
    opened.turn(10.0)
    assert sent(opened, 1, 1) == (PutStatus.PUT_OK, 0)
    assert bodies(opened) == [0, 1]


def test_gap_and_old_epoch_are_refused_with_a_remedy() -> None:
    opened = OpenedStore(FaultyDisk())
    sent(opened, 0, 1, epoch=7)
    gap, fenced = put(opened, 2, 1, epoch=7), put(opened, 0, 1, epoch=6)
    assert isinstance(gap, Refused)
    assert gap.status is PutStatus.SESSION_OUT_OF_SEQUENCE
    assert "1 is expected" in gap.text
    assert isinstance(fenced, Refused)
    assert fenced.status is PutStatus.SESSION_FENCED
    assert "epoch 7 has begun" in fenced.text


@pytest.mark.parametrize("end", ["kill", "power cut", "stop"])
def test_restart_knows_the_stored_messages(end: str) -> None:
    disk = FaultyDisk(lose_all)
    opened = OpenedStore(disk, SYNC)
    sent(opened, 0, 3, epoch=4)
    opened.turn(100.0)
    opened.settle()
    sent(opened, 3, 2, epoch=4)
    if end == "stop":
        opened.close()
    again = OpenedStore(disk.crash() if end == "power cut" else disk.kill(), SYNC)
    assert sent(again, 0, 6, epoch=4) == (PutStatus.PUT_OK, 5)
    assert bodies(again) == list(range(6))


def test_a_restart_whose_copies_are_damaged_reads_the_whole_log() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk)
    sent(opened, 0, 3)
    opened.close()
    disk = disk.kill()
    for path in PATHS:
        disk.flip_bit(path, 9)
    again = OpenedStore(disk)
    assert sent(again, 0, 4) == (PutStatus.PUT_OK, 3)


def test_sessions_wait_until_a_copy_is_written() -> None:
    disk = FaultyDisk()
    OpenedStore(disk).close()
    disk = disk.kill()
    for path in PATHS:
        disk.fail("create", DiskFailure.NO_SPACE, path=f"{path}.new")
    opened = OpenedStore(disk)
    refused = put(opened, 0, 1)
    assert isinstance(refused, Refused)
    assert "producer sessions" in refused.text
    opened.put(1)
    opened.turn(1.0)
    opened.settle()
    opened.turn(100.0)
    opened.settle()
    assert sent(opened, 0, 1) == (PutStatus.PUT_OK, 0)


def test_truncated_messages_may_be_sent_again() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk, SYNC)
    sent(opened, 0, 2)
    kept = opened.store.log.end
    sent(opened, 2, 2)
    opened.close()
    disk = disk.kill()
    assert any(each is not None and each.position > kept for each in load(disk).values())
    log_truncation.request(disk, TruncationRequest(kept))
    again = OpenedStore(disk, SYNC)
    assert bodies(again) == [0, 1]
    assert sent(again, 0, 4) == (PutStatus.PUT_OK, 2)
    assert bodies(again) == [0, 1, 2, 3]
    last = OpenedStore(disk.kill(), SYNC)
    assert sent(last, 0, 5) == (PutStatus.PUT_OK, 4)


def test_slave_knows_the_messages_of_its_master() -> None:
    master, slave = OpenedStore(FaultyDisk()), Slave()
    sent(master, 0, 3)
    assert slave.store.append_copy(0, bytes_of_log(master, 0, None), slave.now) is None
    slave.turn()
    slave.store.lead(slave.now)
    assert sent(slave, 0, 5) == (PutStatus.PUT_OK, 3)
    assert bodies(slave) == [0, 1, 2, 3, 4]


def test_a_reservation_ends_with_the_role() -> None:
    slave = Slave()
    slave.store.lead(slave.now)
    put(slave, 0, 3)
    slave.store.follow(0)
    slave.turn()
    slave.store.lead(slave.now)
    assert sent(slave, 0, 3) == (PutStatus.PUT_OK, 0)


class History:
    """A producer that does not know what was stored, and a store that stops repeatedly."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.settings = self.chance.choice([SETTINGS, SYNC])
        # Enough to keep everything, few enough to be copied often.
        self.settings = replace(self.settings, file_reserved_time=10_000)
        self.disk = FaultyDisk(self.chance.choice([lose_all, keep_all]))
        self.opened = OpenedStore(self.disk, self.settings)
        self.acked = 0
        self.waiting: dict[int, int] = {}
        self.at = 0

    def step(self) -> None:
        self.chance.choice([self.send, self.send, self.send, self.turn, self.settle, self.end])()

    def send(self) -> None:
        """Continue, or repeat from any earlier message, as a retried task does."""
        if self.chance.random() < 0.2:
            self.at = self.chance.randint(0, self.at)
        count = self.chance.randint(1, 5)
        number = put(self.opened, self.at, count)
        if isinstance(number, int):
            self.at += count
            self.waiting[number] = self.at
        else:
            assert number.status is PutStatus.SESSION_OUT_OF_SEQUENCE
            self.at = 0

    def turn(self) -> None:
        self.take(self.opened.turn(self.chance.choice([0.1, 70.0])).answers)

    def settle(self) -> None:
        self.take(self.opened.settle().answers)

    def take(self, answers: object) -> None:
        assert isinstance(answers, (list, tuple))
        for answer in answers:
            end = self.waiting.pop(answer.number)
            assert answer.status.is_stored
            if answer.status is PutStatus.PUT_OK:
                self.acked = max(self.acked, end)

    def end(self) -> None:
        """End the life. With asynchronous flush a power cut may lose acknowledged messages, as
        configured."""
        how = self.chance.choice(["kill", "power cut", "stop"])
        if how == "stop":
            self.take(self.opened.close().answers)
        self.disk = self.disk.crash() if how == "power cut" else self.disk.kill()
        self.opened = OpenedStore(self.disk, self.settings)
        self.waiting.clear()
        stored = bodies(self.opened)
        if self.settings is SYNC or self.settings.flush_disk_type is SYNC.flush_disk_type:
            assert len(stored) >= self.acked
        self.acked = min(self.acked, len(stored))
        self.at = 0


@pytest.mark.parametrize("seed", range(40))
def test_every_history_stores_each_message_once_and_in_order(seed: int) -> None:
    history = History(seed)
    for _ in range(60):
        history.step()
        stored = bodies(history.opened)
        assert stored == list(range(len(stored)))
    history.turn()
    history.settle()
    assert len(bodies(history.opened)) >= history.acked
