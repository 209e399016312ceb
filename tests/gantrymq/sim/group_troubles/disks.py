"""Troubles of disks: slow, stuck, full, broken, new, emptied, mounted again, or lying."""

from __future__ import annotations

from functools import partial

from gantrymq.sim.group_troubles.maker import Troubles
from gantrymq.sim.nodes.group_machine import Pace
from gantrymq.sim.nodes.group_node import Node
from gantrymq.sim.nodes.group_volumes import QUIET, Volume
from gantrymq.testing.faulty_disk import Faults


def slow_disk(troubles: Troubles) -> None:
    node = troubles.any_node()
    node.pace.slow, node.pace.slow_seconds = troubles.random.random(), troubles.a_while()
    troubles.lasts(f"{node.place.name}: a slow disk", partial(_well_again, node.pace))


def stuck_disk(troubles: Troubles) -> None:
    node = troubles.any_node()
    node.pace.is_stuck = True
    troubles.lasts(f"{node.place.name}: a disk that does not answer", partial(_loose, node.pace))


def full_disk(troubles: Troubles) -> None:
    node = troubles.any_node()
    volume = node.volume
    volume.fill(troubles.random.randrange(200_000))
    troubles.lasts(f"{node.place.name}: a full disk", partial(volume.fill, None))


def broken_disk(troubles: Troubles) -> None:
    node = troubles.any_node()
    choose = troubles.random.choice
    volume = node.volume
    volume.befall(
        Faults(
            no_space=choose([0, 50]),
            write_error=choose([0, 50]),
            sync_error=choose([0, 30]),
            flipped_bit=choose([0, 100]),
        )
    )
    troubles.lasts(f"{node.place.name}: a broken disk", partial(volume.befall, QUIET))


def new_disk(troubles: Troubles) -> None:
    """A member gets a new disk: also a member of the set, if other members have its messages."""
    _replace(troubles, "gets a new disk", reboots=True)


def emptied_disk(troubles: Troubles) -> None:
    """An administrator removes what is on it, while its process is down."""
    _replace(troubles, "has its disk emptied", reboots=False)


def _replace(troubles: Troubles, what: str, *, reboots: bool) -> None:
    spare = troubles.spare_nodes()
    if spare:
        node = troubles.random.choice(spare)
        troubles.world.tell(f"{node.place.name} {what}")
        node.replace_disk(reboots=reboots)


def remount(troubles: Troubles) -> None:
    """The volume fails and comes back without what was cached; the machine goes on."""
    troubles.any_node().remount()


def lying_disk(troubles: Troubles) -> None:
    """It says that it has what it has not; other members have it on disk. It ends with the power,
    or the disk writes what it has."""
    spare = troubles.spare_nodes()
    if spare:
        node = troubles.random.choice(spare)
        troubles.world.tally["lying disks"] += 1
        node.volume.befall(Faults(lost_sync=troubles.random.choice([200, 1000])))
        troubles.lasts(
            f"{node.place.name}: a lying disk", partial(_caught, troubles, node, node.volume)
        )


def _caught(troubles: Troubles, node: Node, volume: Volume) -> None:
    """Mostly by a loss of power, while others of the set have everything."""
    volume.befall(QUIET)
    if node.volume is not volume or not volume.has_lied:
        return
    if node in troubles.spare_nodes() and troubles.random.random() < 0.7:
        node.cut("with a disk that lied")
    else:
        node.remount_in_order()


def _well_again(pace: Pace) -> None:
    pace.slow = 0.0


def _loose(pace: Pace) -> None:
    pace.is_stuck = False
