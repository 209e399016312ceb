"""Tests a follower that lacks what the master's retention has deleted.

The follower copies the log anew from where the master's begins, and leads only with all of it.
"""

from __future__ import annotations

from gantrymq.fakes.groups.electing import Group, Node

BYTES_A_STEP = 200


def send(group: Group, number: int) -> None:
    """Acknowledged when this returns."""
    master = group.master
    assert master is not None
    assert master.put(number)
    limit = group.now + 5.0
    while number not in master.acknowledged:
        group.run(0.02)
        assert group.now < limit, group.story()


def overtaken() -> tuple[Group, Node, Node]:
    """A group of two, its master, and a follower that is away while its log's end is deleted."""
    group = Group(1, 2)
    group.until("well")
    for number in range(5):
        send(group, number)
    master = group.master
    assert master is not None
    (late,) = (each for each in group.nodes.values() if each is not master)
    end = late.opened.store.log.end
    late.kill()
    group.until("well")
    for number in range(5, 80):
        send(group, number)
    while master.opened.store.log.remove_first():
        group.run(0.02)
    assert master.opened.store.log.start > end
    return group, master, late


def log_of(node: Node) -> tuple[int, bytes]:
    """Where its log begins, and all of its bytes."""
    log = node.opened.store.log
    pieces, position = [], log.start
    while position < log.end:
        file_end = log.segments.start_of(position) + log.segments.file_bytes
        pieces.append(log.segments.read(position, min(log.end, file_end) - position))
        position += len(pieces[-1])
    return log.start, b"".join(pieces)


def in_sync(group: Group) -> frozenset[int]:
    lease = group.lease.lease
    assert lease is not None
    return lease.in_sync


def test_an_overtaken_follower_does_not_lead_with_part_of_a_copy() -> None:
    group, master, late = overtaken()
    last = master.opened.store.log.end
    group.bytes_a_step[late.number] = BYTES_A_STEP
    late.start()
    log = late.opened.store.log
    limit = group.now + 20.0
    while not master.opened.store.log.start < log.end < last:
        group.run(0.01)
        log = late.opened.store.log
        assert group.now < limit, group.story()
    assert in_sync(group) == {master.number}
    master.kill()
    group.run(12.0)
    assert group.master is None, group.story()
    assert late.opened.store.log.end < last


def test_an_overtaken_follower_that_has_copied_all_leads_with_all_of_it() -> None:
    group, master, late = overtaken()
    late.start()
    group.until("well", 60.0)
    assert in_sync(group) == {master.number, late.number}
    start, content = log_of(master)
    assert start > 0
    assert log_of(late) == (start, content)
    master.kill()
    group.until("master")
    assert group.master is late
    send(group, 80)
    now_start, now = log_of(late)
    assert now_start == start
    assert now.startswith(content)
    assert b"body 80" in now[len(content) :]
