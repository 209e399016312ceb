"""Troubles of seats: volumes that do not belong there, and two machines that claim one seat."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gantrymq.sim.group_troubles.maker import Troubles
from gantrymq.sim.nodes.group_node import Node
from gantrymq.sim.nodes.group_volumes import Volume, foreign, log_of


def foreign_disk(troubles: Troubles) -> None:
    """A volume of another group with higher epochs is mounted, until an operator notices. Not while
    two machines claim the seat: the one that stays would keep the foreign volume."""
    node = troubles.any_node()
    if node.volume.key != node.number or node.number in troubles.directory.seats:
        return
    volume = foreign(node.seat, node.settings.store, node.choose, troubles.random)
    before = log_of(volume)
    troubles.world.tally["foreign disks"] += 1
    own = node.mount(volume)
    troubles.lasts(
        f"{node.place.name} has a disk of another group",
        partial(_own_disk, node, own, before),
    )


def _own_disk(node: Node, own: Volume, before: Mapping[str, bytes]) -> None:
    """Its own is there again; nothing has happened to the other one."""
    volume = node.mount(own)
    changed = [name for name, content in log_of(volume).items() if content != before.get(name)]
    assert not changed, f"{node.place.name} has changed the volume of another group: {changed}"


def rolled_back_disk(troubles: Troubles) -> None:
    """An operator takes a snapshot and mounts it later: others of the set have the rest."""
    node = troubles.any_node()
    if node.volume.key != node.number:
        return
    snapshot = node.volume.snapshot()

    def roll_back() -> None:
        if not troubles.is_calm and node in troubles.spare_nodes():
            troubles.world.tally["rolled back disks"] += 1
            node.roll_back(snapshot)

    troubles.world.tell(f"{node.place.name}: an operator takes a snapshot of its disk")
    troubles.world.after(troubles.a_while(), roll_back)


def twin(troubles: Troubles) -> None:
    """A second machine claims a member's seat, with an empty disk, while the first goes on: its pod
    was deleted by force, and its node lives. The name leads to the new one. In the end one of the
    two goes. Not while there is no Lease: empty disks in all seats of which it hears are a new
    group to it."""
    node = troubles.any_node()
    is_own = node.number not in troubles.directory.seats and node.volume.key == node.number
    if not is_own or troubles.leases.truth is None:
        return
    other = troubles.twin(node.number)
    troubles.world.tally["twins"] += 1
    troubles.directory.seats[node.number] = other.number
    other.start()
    troubles.lasts(
        f"two machines claim the seat of {node.place.name}", partial(_one, troubles, node, other)
    )


def _one(troubles: Troubles, node: Node, other: Node) -> None:
    """The successor stays where it is of the set, or by chance where nothing is lost with the old
    disk; else it goes."""
    is_spare = node in troubles.spare_nodes() and troubles.random.random() < 0.5
    stays = is_spare or troubles.checks.counts(other.volume.key)
    other.retire()
    troubles.directory.seats.pop(node.number, None)
    if stays:
        troubles.world.tally["twins that stay"] += 1
        node.take_over(other)


def other_members(troubles: Troubles) -> None:
    """A member knows other members than the others do: it lacks one, or knows one more."""
    node = troubles.any_node()
    numbers = sorted(troubles.nodes)
    others = [each for each in numbers if each != node.number]
    lacks = troubles.random.choice(others)
    more = (*numbers, len(numbers) + 1)
    if troubles.leases.truth is None:
        return
    fewer = tuple(each for each in numbers if each != lacks)
    node.configured = troubles.random.choice([more, fewer if len(fewer) > 1 else more])
    troubles.world.tally["differing members"] += 1
    node.kill()
    troubles.lasts(f"{node.place.name} knows {node.configured}", partial(_same_members, node))


def _same_members(node: Node) -> None:
    node.configured = None
    node.kill()
