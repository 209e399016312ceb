"""Tests what the simulator reads of a log on a stopped machine, whole and damaged."""

from __future__ import annotations

from gantrymq.sim.checks.group_mirror import Mirror
from gantrymq.sim.group.group_history import drawn
from gantrymq.sim.group.group_simulation import Group
from gantrymq.sim.nodes.group_node import Node
from gantrymq.store.layout import COMMIT_LOG

FIRST_FILE = f"{COMMIT_LOG}/{0:020d}"
SECONDS = 3.9  # no trouble until then


def machine() -> tuple[Node, Mirror]:
    """One with a log, and what was written to it."""
    group = Group(1, drawn(1))
    for node in group.nodes.values():
        group.world.after(0.1, node.start)
    group.world.run(SECONDS)
    node = group.nodes[1]
    mirror = group.checks.mirror(1)
    assert len(mirror.records) > 10
    return node, mirror


def test_a_survey_finds_all_that_was_written() -> None:
    node, mirror = machine()
    before = mirror.records
    assert mirror.survey(node.disk.memory) == []
    assert mirror.records == before


def test_and_what_lies_before_damage() -> None:
    node, mirror = machine()
    before = mirror.records
    damaged = before[-4]
    node.disk.flip_bit(FIRST_FILE, damaged.end - 2)
    assert mirror.survey(node.disk.memory) == before[-4:]


def test_and_what_lies_before_a_record_of_another_place_in_its_queue() -> None:
    node, mirror = machine()
    before = mirror.records
    node.disk.flip_bit(FIRST_FILE, before[-4].start + 27)
    assert mirror.survey(node.disk.memory) == before[-4:]
    assert mirror.records == before[:-4]


def test_and_nothing_on_another_disk() -> None:
    node, mirror = machine()
    node.replace_disk()
    assert mirror.records == []
