"""Tests the recovery of stores that Java wrote, sound or damaged.

`tests/vectors/recovery-cases.json` says what the libraries of both releases made of each. Where
ours makes something else of it, `ON_PURPOSE` says what and why.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from gantrymq.interop.store.store_contents import Contents, differences
from gantrymq.interop.store.store_messages import Told
from gantrymq.interop.store.store_reader import OurReader
from gantrymq.store.engine import Store
from gantrymq.store.layout import StoreRefusedError
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message import sys_flag

JavaStore: TypeAlias = Callable[[str], MemoryDisk]
JavaContents: TypeAlias = Callable[[str], dict[str, Any]]  # Any: JSON of many shapes

VECTORS: Final = Path(__file__).resolve().parents[2] / "vectors"
RELEASES: Final = ("5.3.3", "4.9.8")
STORE_HOSTS: Final = {"5.3.3": "7f000001000051af", "4.9.8": "7f00000100002a9f"}
SAME: Final = (
    *("topic", "queueId", "queueOffset", "size", "flag", "bodyCrc", "properties"),
    *("bornTimestamp", "storeTimestamp", "reconsumeTimes", "preparedTransactionOffset"),
)
HITS_MAX: Final = 32  # what the cases' queries by key asked for

SETTINGS: Final = StoreSettings(
    mapped_file_size_commit_log=65536,
    mapped_file_size_consume_queue=400,
    max_hash_slot_num=200,
    max_index_num=100,
)


@contextmanager
def opened(disk: MemoryDisk) -> Iterator[Store]:
    """Gantry's store on this disk, which is stopped cleanly afterwards."""
    names = iter(range(20990101000000000, 20990101000000100))
    store = Store(
        *(disk, MemoryBackground(disk), SETTINGS),
        new_index_name=lambda: str(next(names)),
        local_hour=lambda _: 0,
    )
    for _ in store.open(0.0):
        pass
    yield store
    store.close(0.0, 1_800_000_000_000)


# ---------------------------------------------------------------------- every message


def told(listed: Mapping[str, Any], store_host: str) -> Told:
    """A record of the listings, as readers tell it; the listings have no hosts."""
    flags: int = listed["sysFlag"]
    found = {
        **{name: listed[name] for name in SAME},
        "physicalOffset": listed["offset"],
        "sysFlag": flags & ~sys_flag.COMPRESSED,
        "storeHost": store_host,
    }
    body = bytes.fromhex(listed["bodyHex"])
    if len(body) == listed["bodyLen"]:  # of long ones they have the beginning; the CRC tells
        body = zlib.decompress(body) if flags & sys_flag.COMPRESSED else body
        found["body"] = hashlib.sha256(body).hexdigest()
    return found


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("fate", ["clean", "crashed"])
def test_every_message_is_served(
    java_store: JavaStore, java_contents: JavaContents, release: str, fate: str
) -> None:
    """The crashed stores are copies of the clean ones, taken earlier."""
    listed = java_contents(f"{release}-clean")["commitlog"]
    with opened(java_store(f"{release}-{fate}")) as store:
        contents = Contents.of(
            told(each, STORE_HOSTS[release])
            for each in listed
            if each["topic"] != "<BLANK>" and each["offset"] < store.log.end
        )
        assert differences(OurReader(store), contents) == []


@pytest.mark.parametrize("fate", ["clean", "crashed"])
def test_every_message_has_the_offset_that_java_reported(java_store: JavaStore, fate: str) -> None:
    puts = json.loads((VECTORS / "puts-4.9.8.json").read_text())
    with opened(java_store(f"4.9.8-{fate}")) as store:
        for put in puts:
            ids = put["msgId"].split(",")
            messages = OurReader(store).view([("", each) for each in ids])
            offsets = [message["queueOffset"] for message in messages]
            first = put.get("logicsOffset", offsets[0])
            assert offsets == list(range(first, first + len(ids)))
            assert put.get("wroteBytes", messages[0]["size"]) == messages[0]["size"]


# ---------------------------------------------------------------------- the cases


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a store holds after a start, and which files are there after the stop."""

    log: tuple[int, int]
    queues: Mapping[str, tuple[int, int]]
    hits: Mapping[str, int]
    log_files: tuple[str, ...]
    index_files: int
    has_abort: bool


def cases() -> dict[str, dict[str, Any]]:
    loaded: dict[str, dict[str, Any]] = json.loads((VECTORS / "recovery-cases.json").read_text())
    return loaded["cases"]


def javas(case: Mapping[str, Any]) -> Outcome | None:
    """Java's outcome, that of 5.3.3 where the releases differ; None if it does not open the
    store."""
    found = case.get("openedByBoth") or case["openedBy"]["5.3.3"]
    if not found["load"]:
        return None
    return Outcome(
        log=(found["afterLoad_minPhyOffset"], found["afterLoad_maxPhyOffset"]),
        queues={name: (low, high) for name, (low, high) in found["queues_min_max"].items()},
        hits=found["queryByKey_VecTopic"],
        log_files=tuple(found["commitlogFilesAfter"]),
        index_files=found["indexFilesAfter"],
        has_abort=found["abortAfterShutdown"],
    )


def ours(disk: MemoryDisk) -> Outcome | None:
    """The outcome of Gantry's store."""
    try:
        with opened(disk) as store:
            reader = OurReader(store)
            log = (store.log.start, store.log.end)
            queues = {
                f"{queue.topic}@{queue.queue_id}": (queue.minimum, queue.end)
                for queue in store.queues.queues()
            }
            keys = ("KEY1", "KEY5", "KEY30")
            hits = {key: len(reader.positions("VecTopic", key, count_max=HITS_MAX)) for key in keys}
    except StoreRefusedError:
        return None
    return Outcome(
        log=log,
        queues=queues,
        hits=hits,
        log_files=tuple(entry.name for entry in disk.list("commitlog")),
        index_files=len(disk.list("index")),
        has_abort="abort" in {entry.name for entry in disk.list("")},
    )


def damage(disk: MemoryDisk, name: str) -> None:
    """Damage a store as the case's `modification` says."""
    match name.partition("_")[2]:
        case "clean_last_two_records_gone":
            position = {"5": 87965, "4": 62803}[name[0]]
            write_log(disk, position, bytes(disk_end(disk) - position))
        case "clean_no_consumequeue":
            remove(disk, "consumequeue")
        case "clean_no_consumequeue_abort":
            remove(disk, "consumequeue")
            remove(disk, "index")
            disk.open("checkpoint").write(0, [bytes(4096)])
            disk.create("abort")
        case "clean_no_index":
            remove(disk, "index")
        case "crashed_last_body_flipped":
            position = {"5": 86243, "4": 63002}[name[0]] + 88
            path, at = log_place(position)
            byte = disk.open(path).read(at, 1)[0]
            write_log(disk, position, bytes([byte ^ 0xFF]))
        case "crashed_last_record_torn":
            end = {"5": 86530, "4": 63230}[name[0]]
            write_log(disk, end - 20, bytes(20))
        case "empty_last_file":
            disk.create(f"commitlog/{disk_end(disk):020d}")
        case "wrong_size":
            disk.open("commitlog/00000000000000000000").resize(65537)
        case other:
            assert other == "crashed_as_is", other


def log_place(position: int) -> tuple[str, int]:
    at = position % SETTINGS.mapped_file_size_commit_log
    return f"commitlog/{position - at:020d}", at


def write_log(disk: MemoryDisk, position: int, data: bytes) -> None:
    path, at = log_place(position)
    disk.open(path).write(at, [data])


def disk_end(disk: MemoryDisk) -> int:
    """The end of the last file of the log."""
    return int(disk.list("commitlog")[-1].name) + SETTINGS.mapped_file_size_commit_log


def remove(disk: MemoryDisk, folder: str) -> None:
    for entry in disk.list(folder):
        path = f"{folder}/{entry.name}"
        if entry.is_folder:
            remove(disk, path)
        else:
            disk.remove(path)
    disk.remove(folder)


REBUILT_INDEX: Final = {"KEY1": 22, "KEY5": 21, "KEY30": 0}
EACH_ONCE: Final = {"KEY1": 22, "KEY5": 21, "KEY30": 0}

# By case, the fields of our outcome that are not Java's.
ON_PURPOSE: Final[Mapping[str, Mapping[str, Any]]] = {
    # Java leaves a lost index lost after a clean stop; ours makes it again from the log.
    "5.3.3_clean_no_index": {"hits": REBUILT_INDEX, "index_files": 6},
    "4.9.8_clean_no_index": {"hits": REBUILT_INDEX, "index_files": 5},
    # Java enters the record at the index's end once more, and answers it twice; ours once.
    "4.9.8_crashed_as_is": {"hits": EACH_ONCE},
    "4.9.8_crashed_last_body_flipped": {"hits": EACH_ONCE},
    "4.9.8_crashed_last_record_torn": {"hits": EACH_ONCE},
}

# After a clean stop the queues know of messages that the log has lost: Java cuts the queues, and
# the loss stays unnoticed. Gantry refuses such a store, with a remedy.
REFUSED_ON_PURPOSE: Final = {
    "5.3.3_clean_last_two_records_gone",
    "4.9.8_clean_last_two_records_gone",
}


@pytest.mark.parametrize("name", cases())
def test_damaged_store_has_the_same_messages_as_in_java(java_store: JavaStore, name: str) -> None:
    case = cases()[name]
    disk = java_store(case["archive"].removeprefix("store-").removesuffix(".tar.gz"))
    damage(disk, name)
    expected = javas(case)
    if expected is not None:
        expected = replace(expected, **ON_PURPOSE.get(name, {}))
    if name in REFUSED_ON_PURPOSE:
        expected = None
    assert ours(disk) == expected
