"""One life of a store, in a process that may be killed at any moment: what a broker's loop does.

It recovers, tells what it finds, then puts messages in groups, tells each answer after it was
given, and at last stops cleanly, unless it is killed before. The store's clock runs faster
than the world's, so that marks and checkpoints, which are written every few seconds, are written
often in a short life.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, final

from gantrymq.base.disk import DiskError
from gantrymq.crash.mutants import MUTANTS
from gantrymq.crash.sendings import first_put, messages_of, waits
from gantrymq.crash.stock import Stock
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.runtime.storage.disk_background import DiskBackground
from gantrymq.store.engine import Store
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.layout import StoreRefusedError
from gantrymq.store.record.put_status import PutStatus, Refused
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.store.turn_result import TurnResult

CLOCK_SPEED: Final = 40.0
SILENCE_SECONDS_MAX: Final = 60  # of a writer that hangs, or whose parent is gone
UNANSWERED_MAX: Final = 64
LOG_FILE_BYTES: Final = 256 << 10
LINES_BYTES: Final = 4096  # the system takes so much in one piece
LINES_TOGETHER: Final = 1000

STOPPED: Final = 0
LAST_WORDS: Final = 70


@final
@dataclass(frozen=True, slots=True)
class Job:
    """What a writer is told; `starts` has the offset from which each queue is told of."""

    root: str
    life: int
    starts: tuple[int, ...]
    flush: str = FlushDiskType.SYNC_FLUSH.value
    puts: int = 100_000
    mutant: str = ""

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Job:
        return cls(**json.loads(data))


def store_settings(flush: str) -> StoreSettings:
    """Small files, so that all of them roll, and frequent flushes."""
    return StoreSettings(
        disk_space_warning_level_ratio=100,
        flush_consume_queue_thorough_interval=6000,
        flush_disk_type=FlushDiskType(flush),
        flush_interval_consume_queue=1000,
        mapped_file_size_commit_log=LOG_FILE_BYTES,
        mapped_file_size_consume_queue=20 * 500,
        max_hash_slot_num=1000,
        max_index_num=4000,
        sync_flush_timeout=int(CLOCK_SPEED) * 1000 * SILENCE_SECONDS_MAX,
    )


def run(job: Job, pipe: int) -> int:
    """The whole life; the status that the process should end with."""
    writer = Writer(job, pipe)
    try:
        with MUTANTS[job.mutant](lambda: writer.is_open):
            writer.live()
    except (SyncFailedError, StoreRefusedError, DiskError) as error:
        writer.tell(f"last {type(error).__name__}: {error}")
        writer.flush()
        return LAST_WORDS
    return STOPPED


@final
class Writer:
    """The store, its loop and what is told of it."""

    def __init__(self, job: Job, pipe: int) -> None:
        self._job = job
        self._pipe = pipe
        self._lines: list[str] = []
        self._chance = random.Random(job.life)
        self._next_put = first_put(job.life)
        self._unanswered: dict[int, int] = {}
        self._flushed = -1
        self.is_open = False

    def live(self) -> None:
        self.tell("born")
        self.flush()
        disk = FolderDisk(Path(self._job.root))
        background = DiskBackground(disk)
        store = Store(
            disk,
            background,
            store_settings(self._job.flush),
            new_index_name=_new_name(),
            local_hour=lambda _: 12,
        )
        self.tell("opening")
        self.flush()
        for _ in store.open(_now()):
            pass
        self.is_open = True
        self.tell("opened")
        self.flush()
        self._tell_stock(store)
        self._serve(store, background)
        self.tell("stopping")
        self.flush()
        self._tell_turn(store.close(_now(), _wall_ms()))
        self.tell("stopped")
        self.flush()
        background.close()
        disk.close()

    def _tell_stock(self, store: Store) -> None:
        stock = Stock(store, self._job.starts)
        for line in stock.lines():
            self.tell(line)
            if len(self._lines) == LINES_TOGETHER:
                self.flush()
        report = store.report
        rebuilt = len(report.rebuilt_queues)
        kept = f"{report.rewritten_bytes} {rebuilt} {report.walked_bytes} {int(report.is_clean)}"
        self.tell(f"serving {store.log.end} {kept}")
        self.flush()

    def _serve(self, store: Store, background: DiskBackground) -> None:
        ready = select.poll()
        ready.register(background.fileno(), select.POLLIN)
        end = self._next_put + self._job.puts
        while self._next_put < end or self._unanswered:
            is_free = self._next_put < end and len(self._unanswered) < UNANSWERED_MAX
            if is_free and self._chance.random() < 0.7:
                for _ in range(self._chance.randrange(1, 9)):
                    self._put(store)
            turn = store.turn(_now(), _wall_ms())
            self._tell_turn(turn)
            self._tell_flushed(store)
            self.flush()
            seconds = max(0.0, store.deadline() - _now()) / CLOCK_SPEED
            ready.poll(0 if is_free else min(20.0, seconds * 1000))

    def _put(self, store: Store) -> None:
        put = self._next_put = self._next_put + 1
        messages = messages_of(put)
        if len(messages) == 1:
            number = store.put(messages[0], waits=waits(put))
        else:
            number = store.put_batch(messages, waits=waits(put))
        if isinstance(number, Refused):
            self.tell(f"refused {put} {number.status.name} {number.text}")
            time.sleep(0.001)  # a broker that refuses has idle senders
        else:
            self._unanswered[number] = put

    def _tell_turn(self, turn: TurnResult) -> None:
        for answer in turn.answers:
            put = self._unanswered.pop(answer.number)
            if answer.status is PutStatus.PUT_OK:
                positions = " ".join(map(str, answer.positions))
                self.tell(f"ok {put} {answer.queue_offset} {positions}")
            else:
                self.tell(f"refused {put} {answer.status.name} {answer.remark}")

    def _tell_flushed(self, store: Store) -> None:
        assert store._flushes is not None
        flushed = store._flushes.flusher.flushed.position
        if flushed != self._flushed:
            self._flushed = flushed
            self.tell(f"flushed {flushed}")

    def tell(self, line: str) -> None:
        self._lines.append(line.replace("\n", " ") + "\n")

    def flush(self) -> None:
        """Everything told so far is with the test, whatever happens to this process now."""
        data = "".join(self._lines).encode()
        self._lines.clear()
        if data:
            signal.alarm(SILENCE_SECONDS_MAX)
        while data:
            data = data[os.write(self._pipe, data[:LINES_BYTES]) :]


def _now() -> float:
    return time.monotonic() * CLOCK_SPEED


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _new_name() -> Callable[[], str]:
    """Names of index files by the time, and never the same twice in a life."""
    last = ""

    def name() -> str:
        nonlocal last
        stamp = datetime.now().astimezone().strftime("%Y%m%d%H%M%S%f")[:17]
        last = stamp if stamp > last else str(int(last) + 1)
        return last

    return name
