"""The ids of this process and of its children."""

from __future__ import annotations

import os

from gantrymq.client.aio.machinery.message_ids import UniqueIds
from gantrymq.runtime.clock import VirtualClock
from gantrymq.wire.message import unique_id


def test_single_ids_and_lists_of_ids_continue_each_other() -> None:
    ids = UniqueIds(VirtualClock())
    made = [ids.make(), *ids.make_many(3), ids.make()]
    assert [unique_id.decode(each).counter for each in made] == [0, 1, 2, 3, 4]
    assert {unique_id.decode(each).pid for each in made} == {os.getpid() & 0xFFFF}


def test_a_child_of_a_fork_makes_ids_of_its_own() -> None:
    ids = UniqueIds(VirtualClock())
    before = unique_id.decode(ids.make())
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, ids.make().encode())
        os._exit(0)
    os.waitpid(child, 0)
    told = unique_id.decode(os.read(reader, 100).decode())
    os.close(reader)
    os.close(writer)
    assert told.pid == child & 0xFFFF
    assert told.salt != before.salt
    assert unique_id.decode(ids.make()).counter == before.counter + 1
