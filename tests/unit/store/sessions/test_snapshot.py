"""Tests copies of the session table: read as written, void if the log lacks records."""

from __future__ import annotations

import pytest

from gantrymq.store.layout import OWN
from gantrymq.store.sessions.snapshot import (
    PATHS,
    Snapshot,
    SnapshotWriter,
    decode,
    encode,
    load,
)
from gantrymq.store.sessions.table import ProducerSessions, SessionState
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.unsynced import lose_all

STATES = (SessionState(b"a", 1, 2, 300, 4000), SessionState(b"b" * 255, 5, 6, 700, 8000))


class Scene:
    """A writer on a disk of its own."""

    def __init__(self) -> None:
        self.disk = FaultyDisk(lose_all)
        self.disk.make_folder(OWN)
        self.disk.sync_folder("")
        self.background = MemoryBackground(self.disk)
        self.sessions = ProducerSessions(100, 1 << 40)
        self.writer = SnapshotWriter(self.disk, self.background, self.sessions)
        self.writer.save(0, is_start=True)

    def turn(self, now: float, position: int, safe: int) -> None:
        if self.writer.is_due(now, position):
            self.writer.turn(now, position, safe)

    def settle(self) -> None:
        self.background.complete_all()
        for completion in self.background.take_completions():
            assert self.writer.take(completion)

    def positions(self) -> list[int | None]:
        found = load(self.disk)
        return [None if each is None else each.position for each in found.values()]


def test_saved_copy_is_read_back() -> None:
    snapshot = Snapshot(1000, list(STATES))
    assert decode(encode(snapshot)) == snapshot


@pytest.mark.parametrize("cut", [0, 4, 8, 20, -1])
def test_torn_copy_is_ignored(cut: int) -> None:
    assert decode(encode(Snapshot(1000, STATES))[:cut]) is None


def test_damaged_byte_is_detected() -> None:
    data = encode(Snapshot(1000, STATES))
    for at in range(len(data)):
        damaged = data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]
        assert decode(damaged) is None


def test_copy_is_valid_only_if_the_log_has_its_records() -> None:
    assert Snapshot(1000, STATES).is_of(1000)
    assert not Snapshot(1000, STATES).is_of(999)
    assert not Snapshot(600, STATES).is_of(700)


def test_copy_is_written_once_the_log_is_safe_up_to_its_position() -> None:
    scene = Scene()
    scene.turn(100.0, 500, 400)
    assert scene.positions() == [0]
    scene.sessions.restore(STATES[0])
    scene.turn(100.0, 900, 500)
    scene.settle()
    assert scene.positions() == [0, 500]
    assert load(scene.disk)[PATHS[1]] == Snapshot(500, [])


def test_previous_copy_stays_during_a_write() -> None:
    scene = Scene()
    scene.turn(100.0, 500, 500)
    scene.settle()
    scene.turn(200.0, 900, 900)
    assert scene.background.jobs
    found = load(scene.disk.crash())
    assert [each.position for each in found.values() if each is not None] == [0, 500]


def test_no_copy_is_written_while_the_log_is_unchanged() -> None:
    scene = Scene()
    scene.turn(100.0, 500, 500)
    scene.settle()
    assert not scene.writer.is_due(1000.0, 500)


def test_fast_growing_log_is_copied_sooner() -> None:
    scene = Scene()
    scene.turn(100.0, 500, 500)
    scene.settle()
    assert not scene.writer.is_due(101.0, 501)
    assert scene.writer.is_due(101.0, 500 + (256 << 20))
