"""Tests whole members whose machines lost power: damaged ends of logs are copied again."""

from __future__ import annotations

from typing import Final

import pytest

from gantrymq.fakes.groups.electing import Node
from gantrymq.fakes.groups.running_groups import others, send, well
from gantrymq.ha.member.links import incoming_link
from gantrymq.testing.memory_disk import Inode

FILE_BYTES: Final = 4096
LOG_FILE: Final = f"commitlog/{0:020d}"


def damage(node: Node, number: int) -> None:
    """In the properties of that message, which no sum covers."""
    place = log_of(node).index(b"UNIQ_KEY\x01U%d" % number)
    node.disk.flip_bit(LOG_FILE, place)


def log_of(node: Node) -> bytes:
    inode = node.disk.memory.find(LOG_FILE)
    assert isinstance(inode, Inode)
    return bytes(inode.data[: node.opened.store.log.end])


def test_a_follower_whose_log_came_back_damaged_copies_that_again() -> None:
    group = well(1, 2, 3)
    node = others(group)[0]
    send(group, 5)
    node.lose_power()
    damage(node, 5)
    node.start()
    group.run(3.0)
    group.until("well")
    assert any("truncating log" in word for word in node.words)
    assert group.master is not None
    assert log_of(node) == log_of(group.master)


@pytest.mark.parametrize("piece", [300, 1 << 19])
def test_a_doubtful_end_is_compared_in_pieces_and_over_files(
    piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incoming_link, "OUTPUT_BYTES_MAX", piece)
    group = well(1, 2, 3)
    node = others(group)[0]
    for number in range(5, 40):
        send(group, number)
    node.lose_power()
    node.start()
    doubtful = node.member.member_report()
    assert doubtful.sure_to is not None
    assert doubtful.end - doubtful.sure_to > FILE_BYTES
    group.run(3.0)
    group.until("well")
    assert node.member.member_report().sure_to is None
    assert not any("restart" in word or "is impossible" in word for word in node.words)


@pytest.mark.parametrize("damaged", [1, 2])
def test_all_members_copy_the_master_after_all_machines_crashed(damaged: int) -> None:
    """The new master cannot know what is damaged, but it continues with one log."""
    group = well(1, 2)
    send(group, 5)
    for node in group.nodes.values():
        node.lose_power()
    damage(group.nodes[damaged], 5)
    for node in group.nodes.values():
        node.start()
    group.run(8.0)
    group.until("well")
    assert log_of(group.nodes[1]) == log_of(group.nodes[2])
    assert len(group.nodes[1].bodies()) == 6


def test_undamaged_log_is_kept() -> None:
    group = well(1, 2, 3)
    node = others(group)[0]
    send(group, 5)
    node.lose_power()
    node.start()
    group.run(3.0)
    group.until("well")
    assert not any("restart" in word for word in node.words)
    assert node.member.member_report().sure_to is None


def test_a_machine_that_went_down_with_its_log_is_not_elected_before_it_caught_up() -> None:
    group = well(1, 2)
    old = group.master
    assert old is not None
    other = others(group)[0]
    other.lose_power()
    other.start()
    old.kill()
    group.run(12.0)
    assert group.master is None
    old.start()
    group.until("well")
    send(group, 5)
    old.kill()
    group.until("master")
    assert group.master is other
