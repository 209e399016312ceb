"""Starts groups of whole members, sends messages to their masters and kills these."""

from __future__ import annotations

from gantrymq.fakes.groups.electing import Group, Node


def well(*numbers: int, messages: int = 5) -> Group:
    """A group in which all have these messages."""
    group = Group(*numbers)
    group.until("well")
    for number in range(messages):
        send(group, number)
    return group


def send(group: Group, number: int) -> None:
    """Acknowledged when this returns."""
    master = group.master
    assert master is not None
    assert master.put(number)
    limit = group.now + 5.0
    while number not in master.acknowledged:
        group.run(0.02)
        assert group.now < limit, group.story()


def others(group: Group) -> list[Node]:
    return [each for each in group.nodes.values() if each is not group.master]


def ended(group: Group) -> Node:
    """The master, whose process was killed."""
    master = group.master
    assert master is not None
    master.kill()
    return master
