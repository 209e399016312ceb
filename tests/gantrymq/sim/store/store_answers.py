"""Collects the answers of a store to one history without faults.

    answers(seed, settings, ending)     the history of this seed, under these settings
    digests(10)                         a digest each of the first ten, to compare processes

Log positions depend on the sizes of files. Everything else that producers and consumers see does
not: statuses, queue offsets, store times, messages by queue and by key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from gantrymq.sim.store.store_ledger import Ledger
from gantrymq.sim.store.store_script import Ending, Put, Sending, Wait, script_of
from gantrymq.store.consumequeue.queue_unit import UNIT, UNIT_BYTES
from gantrymq.store.engine import Store
from gantrymq.store.read.async_reader import run
from gantrymq.store.read.lookups import messages_by_key
from gantrymq.store.read.readable_store import queue_units
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import Storage
from gantrymq.testing.unsynced import lose_all
from gantrymq.wire.message.record import Record, decode

DISK_BYTES: Final = 8 << 20
START_MS: Final = 1_700_000_000_000
COUNT_MAX: Final = 64
TAIL_BYTES: Final = 3000

FILE_BYTES_MIN: Final = 4096
OTHER_BYTES_MAX: Final = 200

# Longer than any flush waits.
FLUSH_SECONDS: Final = 100.0


@dataclass(frozen=True)
class Answers:
    """The results of a history that must not depend on settings and file sizes."""

    puts: list[tuple[str, int, int]] = field(default_factory=list)
    """Status, queue offset and store time of each answer, in the order of their numbers."""
    queues: dict[tuple[str, int], list[bytes]] = field(default_factory=dict)
    keys: dict[tuple[str, str], list[bytes]] = field(default_factory=dict)

    def digest(self) -> str:
        seen = (self.puts, sorted(self.queues.items()), sorted(self.keys.items()))
        return hashlib.sha256(repr(seen).encode()).hexdigest()


class _Session:
    """An opened store on a device that completes every operation at once."""

    def __init__(self, disk: FaultyDisk, settings: StoreSettings, names: count[int]) -> None:
        self.background = MemoryBackground(disk)
        self.store = Store(
            disk,
            self.background,
            settings,
            new_index_name=lambda: str(next(names)),
            local_hour=lambda _: 12,
            tail_bytes=TAIL_BYTES,
        )
        self.now = 0.0
        self.puts: dict[int, tuple[str, int, int]] = {}
        for _ in self.store.open(self.now):
            pass

    @property
    def wall_ms(self) -> int:
        return START_MS + round(self.now * 1000)

    def turn(self) -> None:
        is_more = True
        while is_more:
            for answer in self.store.turn(self.now, self.wall_ms).answers:
                told = (answer.status.name, answer.queue_offset, answer.store_timestamp_ms)
                self.puts[answer.number] = told
            is_more = bool(self.background.jobs)
            self.background.complete_all()

    def put(self, sending: Sending, ledger: Ledger) -> None:
        records = [ledger.message(sending).record for _ in range(sending.count)]
        number = self.store.put_batch(records) if records[1:] else self.store.put(records[0])
        assert isinstance(number, int), number


def answers(seed: int, settings: StoreSettings, ending: Ending) -> Answers:
    """The answers to the puts and waits of this seed's script, after a restart."""
    disk = FaultyDisk(lose_all, storage=Storage(DISK_BYTES, START_MS))
    names = count(20_261_121_000_000_000)
    session = _Session(disk, settings, names)
    ledger = Ledger()
    sendings: list[Sending] = []
    for step in [step for life in script_of(seed).lives for step in life.steps]:
        if isinstance(step, Put):
            group = [_fitting(sending) for sending in step.sendings]
            sendings += group
            for sending in group:
                session.put(sending, ledger)
        elif isinstance(step, Wait):
            session.now += step.seconds
        session.turn()
    session.now += FLUSH_SECONDS
    session.turn()
    if ending is Ending.CLOSE:
        session.store.close(session.now, session.wall_ms)
    disk = disk.crash() if ending is Ending.POWER_CUT else disk.kill()
    puts = [session.puts[number] for number in sorted(session.puts)]
    return _seen(_Session(disk, settings, names).store, puts, sendings)


def _fitting(sending: Sending) -> Sending:
    """The messages that fit into the shortest file of a log."""
    is_fit = sending.count * (sending.body_bytes + OTHER_BYTES_MAX) < FILE_BYTES_MIN
    return sending if is_fit else replace(sending, count=1)


def _seen(store: Store, puts: list[tuple[str, int, int]], sendings: Sequence[Sending]) -> Answers:
    seen = Answers(puts)
    for queue in store.queues.queues():
        units = b""
        while (at := len(units) // UNIT_BYTES) < queue.end:
            units += run(queue_units(queue, at, queue.end - at))
        found = [
            decode(store.log.segments.read(position, size))
            for position, size, _ in UNIT.iter_unpack(units)
        ]
        seen.queues[queue.topic, queue.queue_id] = list(map(_placeless, found))
    for topic, key in sorted({(each.topic, key) for each in sendings for key in each.keys.split()}):
        answer = run(messages_by_key(store, topic, key, COUNT_MAX, 0, 1 << 60))
        seen.keys[topic, key] = [_placeless(each.record) for each in answer.messages]
    return seen


def _placeless(record: Record) -> bytes:
    fields = (record.topic, record.queue_id, record.queue_offset, record.store_timestamp_ms)
    return repr((*fields, record.properties, record.body)).encode()


def digests(seeds: int) -> str:
    """The digests of the first seeds, one line each."""
    return "\n".join(
        answers(seed, plain_settings(), Ending.POWER_CUT).digest() for seed in range(seeds)
    )


def plain_settings(
    log_file_bytes: int = 4096, queue_units: int = 4, slots: int = 5, entries: int = 8
) -> StoreSettings:
    """Settings with these file sizes, and defaults otherwise."""
    return StoreSettings(
        mapped_file_size_commit_log=log_file_bytes,
        mapped_file_size_consume_queue=queue_units * UNIT_BYTES,
        max_hash_slot_num=slots,
        max_index_num=entries,
    )
