"""Fills a store of Gantry in a process of its own with the messages of store_messages.py.

    python -m gantrymq.interop.store.store_writer FOLDER STORE_HOST BEGIN_MS clean|killed

Its clock is the store time of the messages: minutes pass, in which the store flushes as usual. It
prints one line of JSON with what it has written once all of it is answered: after its clean stop,
or, with SYNC_FLUSH, before the test kills it.
"""

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from gantrymq.interop.child import Child
from gantrymq.interop.store.store_contents import Contents
from gantrymq.interop.store.store_messages import Told, rounds, told
from gantrymq.interop.stores import SIZES
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.runtime.storage.disk_background import DiskBackground
from gantrymq.store.engine import Store
from gantrymq.store.record.put_status import PutStatus, Refused
from gantrymq.store.settings import FlushDiskType, StoreSettings

TESTS = Path(__file__).resolve().parents[3]
STOP_SECONDS = 30.0


class Fate(Enum):
    """How a writer ends."""

    CLEAN = "clean"
    KILLED = "killed"


def settings(flush_disk_type: FlushDiskType = FlushDiskType.ASYNC_FLUSH) -> StoreSettings:
    """The settings, with small files."""
    return StoreSettings(
        flush_disk_type=flush_disk_type,
        mapped_file_size_commit_log=SIZES["mappedFileSizeCommitLog"],
        mapped_file_size_consume_queue=SIZES["mappedFileSizeConsumeQueue"],
        max_hash_slot_num=SIZES["maxHashSlotNum"],
        max_index_num=SIZES["maxIndexNum"],
    )


@contextmanager
def opened(folder: Path, chosen: StoreSettings, now_ms: int = 0) -> Iterator[Store]:
    """Gantry's store in this folder, from that time on; stopped cleanly if the block raises
    nothing."""
    disk = FolderDisk(folder)
    background = DiskBackground(disk)
    try:
        store = Store(
            *(disk, background, chosen),
            new_index_name=lambda: time.strftime("%Y%m%d%H%M%S000"),
            local_hour=lambda wall_ms: time.localtime(wall_ms / 1000).tm_hour,
        )
        for _ in store.open(now_ms / 1000):
            pass
        yield store
        store.close(now_ms / 1000, now_ms)
    finally:
        background.close()
        disk.close()


def fill(folder: Path, store_host: bytes, fate: Fate) -> Contents:
    """Let a process write a store and end; returns what it has written, dated in the last
    minutes."""
    folder.mkdir(parents=True, exist_ok=True)
    begin_ms = time.time_ns() // 1_000_000 - 20 * 60_000
    command = [
        *(sys.executable, "-m", __name__),
        *(str(folder), store_host.hex(), str(begin_ms), fate.value),
    ]
    writer = Child("our writer", command, folder.parent, {"PYTHONPATH": str(TESTS)}, piped=True)
    try:
        line = writer.output.readline()
        if fate is Fate.CLEAN:
            writer.finish(STOP_SECONDS)
    finally:
        writer.kill()
    assert line, writer.report()
    return Contents.of(json.loads(line))


def _written(store: Store, store_host: bytes, begin_ms: int) -> Iterator[Told]:
    for each in rounds(store_host, begin_ms):
        waiting = set()
        for messages in each.puts:
            put = store.put(messages[0]) if len(messages) == 1 else store.put_batch(messages)
            assert not isinstance(put, Refused), put
            waiting.add(put)
        while waiting:
            turn = store.turn(each.stored_ms / 1000, each.stored_ms)
            for answer in turn.answers:
                assert answer.status is PutStatus.PUT_OK, answer
                waiting.remove(answer.number)
        for messages in each.puts:
            yield from map(told, messages)


def main(folder: str, store_host: str, begin_ms: str, fate: str) -> None:
    is_killed = Fate(fate) is Fate.KILLED
    flush = FlushDiskType.SYNC_FLUSH if is_killed else FlushDiskType.ASYNC_FLUSH
    with opened(Path(folder), settings(flush), int(begin_ms)) as store:
        written = list(_written(store, bytes.fromhex(store_host), int(begin_ms)))
        if is_killed:
            print(json.dumps(written), flush=True)  # noqa: T201 - for the process that started us
            signal.pause()
    print(json.dumps(written), flush=True)  # noqa: T201 - for the process that started us


if __name__ == "__main__":
    main(*sys.argv[1:])
