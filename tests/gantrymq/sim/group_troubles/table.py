"""All troubles that may befall a group, by the names that plans give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from gantrymq.sim.group_troubles import disks, leases, machines, network, operator_requests, seats
from gantrymq.sim.group_troubles.maker import Troubles
from gantrymq.sim.group_troubles.plan import Plan, plan_of

TROUBLES: Final[Mapping[str, Callable[[Troubles], None]]] = {
    "kill": machines.kill,
    "power cut": machines.power_cut,
    "cut in a sync": machines.cut_in_a_sync,
    "cut in a write": machines.cut_in_a_write,
    "stop": machines.stop,
    "pause": machines.pause,
    "ambush": machines.ambush,
    "clock": machines.clock,
    "power of all": machines.power_of_all,
    "suspend": machines.suspend,
    "isolate": network.isolate,
    "cut pair": network.cut_pair,
    "cut one way": network.cut_one_way,
    "cut from members": network.cut_from_members,
    "cut from leases": network.cut_from_leases,
    "resets": network.resets,
    "stale name": network.stale_name,
    "slow disk": disks.slow_disk,
    "stuck disk": disks.stuck_disk,
    "full disk": disks.full_disk,
    "broken disk": disks.broken_disk,
    "new disk": disks.new_disk,
    "emptied disk": disks.emptied_disk,
    "remount": disks.remount,
    "lying disk": disks.lying_disk,
    "foreign disk": seats.foreign_disk,
    "rolled back disk": seats.rolled_back_disk,
    "twin": seats.twin,
    "other members": seats.other_members,
    "lease outage": leases.lease_outage,
    "slow api": leases.slow_api,
    "touch lease": leases.touch,
    "edit lease": leases.edit,
    "delete lease": leases.delete,
    "restore lease": leases.restore,
    "switch": operator_requests.switch,
    "prefer": operator_requests.prefer,
    "fence": operator_requests.fence,
    "typo": operator_requests.typo,
    "allow loss": operator_requests.allow_loss,
}


def drawn_plan(random: Random) -> Plan:
    """One of a history in which any of them may happen."""
    return plan_of(random, TROUBLES)
