"""Stores that real RocketMQ brokers wrote, on memory disks."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message import record, record_scan
from gantrymq.wire.message.record import Record
from gantrymq.wire.message.record_scan import Sight

VECTORS = Path(__file__).resolve().parents[2] / "vectors"

JavaStore: TypeAlias = Callable[[str], MemoryDisk]
Records: TypeAlias = Callable[[MemoryDisk], Iterator[Record]]


@pytest.fixture
def java_store() -> JavaStore:
    """A store of tests/vectors by name, "5.3.3-clean" say; files 65536 and 400 bytes long."""

    def unpack(name: str) -> MemoryDisk:
        disk = MemoryDisk()
        with tarfile.open(VECTORS / f"store-{name}.tar.gz") as archive:
            for member in archive.getmembers():
                extracted = archive.extractfile(member) if member.isfile() else None
                path = member.name.removeprefix("store/")
                if extracted is not None and not path.startswith("config"):
                    disk.make_folder(path.rpartition("/")[0])
                    disk.create(path).write(0, [extracted.read()])
        return disk

    return unpack


@pytest.fixture
def java_contents() -> Callable[[str], dict[str, Any]]:
    """What a clean store holds, as an independent reader listed it. Any: JSON of many shapes."""

    def load(name: str) -> dict[str, Any]:
        listed: dict[str, Any] = json.loads((VECTORS / f"store-{name}.contents.json").read_text())
        return listed

    return load


@pytest.fixture
def log_records() -> Records:
    """Every record of a store's log, in order."""

    def walk(disk: MemoryDisk) -> Iterator[Record]:
        for entry in disk.list("commitlog"):
            data = disk.open(f"commitlog/{entry.name}").read(0, entry.size)
            position = 0
            while True:
                sight, size = record_scan.scan(data, position, len(data))
                if sight is not Sight.RECORD:
                    break
                yield record.decode(data, position)
                position += size

    return walk
