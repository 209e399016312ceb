"""Troubles of the network."""

from __future__ import annotations

from gantrymq.sim.group_troubles.maker import Troubles
from gantrymq.sim.nodes.group_api import NUMBER as LEASES

NOWHERE = 299
"""No machine has this number in the network."""


def isolate(troubles: Troubles) -> None:
    """A member from all that there is."""
    me = troubles.any_node().number
    others = [*(each for each in troubles.nodes if each != me), LEASES, *troubles.clients]
    ways = [way for each in others for way in ((me, each), (each, me))]
    troubles.cut(f"member {me} is cut off", ways)


def cut_pair(troubles: Troubles) -> None:
    """Two members from each other."""
    one, other = troubles.random.sample(sorted(troubles.nodes), 2)
    troubles.cut(f"members {one} and {other} are cut", [(one, other), (other, one)])


def cut_one_way(troubles: Troubles) -> None:
    """The peers of a member hear it no more, or it does not hear them."""
    me = troubles.any_node().number
    peers = [*(each for each in troubles.nodes if each != me), LEASES]
    others = troubles.random.sample(peers, troubles.random.randrange(1, len(peers) + 1))
    outwards = troubles.random.random() < 0.5
    ways = [(me, each) if outwards else (each, me) for each in others]
    troubles.world.tally["one-way cuts"] += 1
    troubles.cut(f"one way is cut: {ways}", ways)


def cut_from_members(troubles: Troubles) -> None:
    """A member from the others, but not from the lease and the clients."""
    me = troubles.any_node().number
    others = [each for each in troubles.nodes if each != me]
    ways = [way for each in others for way in ((me, each), (each, me))]
    troubles.cut(f"member {me} is cut off from the members", ways)


def cut_from_leases(troubles: Troubles) -> None:
    """Some members from the lease store."""
    some = troubles.random.sample(
        sorted(troubles.nodes), troubles.random.randrange(1, len(troubles.nodes) + 1)
    )
    ways = [way for each in some for way in ((LEASES, each), (each, LEASES))]
    troubles.cut(f"members {some} are cut off from the lease store", ways)


def resets(troubles: Troubles) -> None:
    count = troubles.network.break_some(troubles.random.random())
    troubles.world.tell(f"{count} connections break off")


def stale_name(troubles: Troubles) -> None:
    """A member has another address now, and its name still leads elsewhere: to where nothing is, or
    to another member that has the old address."""
    node = troubles.any_node()
    if node.number in troubles.directory.seats:
        return
    others = [each for each in troubles.nodes if each != node.number]
    troubles.directory.seats[node.number] = troubles.random.choice([NOWHERE, *others])
    troubles.world.tally["stale names"] += 1
    node.kill()
    troubles.lasts(
        f"the name of {node.place.name} leads elsewhere",
        lambda: _right_name(troubles, node.number),
    )


def _right_name(troubles: Troubles, number: int) -> None:
    troubles.directory.seats.pop(number, None)
