"""Tests the list of consume queues with their ends against Java's stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gantrymq.store.offline.queue_listing import list_queues
from gantrymq.testing.memory_disk import MemoryDisk

JavaStore = Callable[[str], MemoryDisk]
Contents = Callable[[str], dict[str, Any]]


@pytest.mark.parametrize("version", ["5.3.3", "4.9.8"])
def test_queues_are_listed_with_their_ends(
    java_store: JavaStore, java_contents: Contents, version: str
) -> None:
    units = java_contents(f"{version}-clean")["consumequeue_offset_phyOffset_size_tagsCode"]
    listed = {
        f"{each.topic}/{each.queue_id}": (each.past, each.last_position)
        for each in list_queues(java_store(f"{version}-clean"), 400)
        if each.past
    }
    assert listed == {name: (of[-1][0] + 1, of[-1][1]) for name, of in units.items() if of}


def test_a_queue_without_units_has_none() -> None:
    disk = MemoryDisk()
    disk.make_folder("consumequeue/T/0")
    disk.create("consumequeue/T/0/00000000000000000400").resize(400)
    (line,) = list_queues(disk, 400)
    assert (line.first, line.past, line.last_position) == (20, 20, None)
