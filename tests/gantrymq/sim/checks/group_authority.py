"""Checks that a master believes in its authority only while no other member can lead.

A master whose clocks stood still cannot know that its time is over, and is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gantrymq.ha.lease.lease import Lease
from gantrymq.sim.checks.group_losses import Keys
from gantrymq.sim.checks.group_rules import Process
from gantrymq.sim.group.group_world import DRIFT_MAX, World
from gantrymq.sim.nodes.group_lease_store import LeaseStore
from gantrymq.sim.nodes.group_network import Network
from gantrymq.sim.nodes.group_volumes import TWIN

# As the rules have it; a constant of its own, so that another one in the product is noticed.
LEASE_DEADLINE_SECONDS: Final = 3.0


@final
class AuthorityCheck:
    """Looks at the masters of one group. `keys` returns the volumes of these seats of a Lease."""

    def __init__(
        self,
        world: World,
        store: LeaseStore,
        network: Network,
        keys: Callable[[Lease, set[int]], Keys],
    ) -> None:
        self._keys = keys
        self._network = network
        self._store = store
        self._world = world

    def must_hold(self, process: Process, epoch: int, now: float) -> None:
        """The master would acknowledge now, by its own clock; `epoch` is the latest one led."""
        if process.has_old_clock:
            self._world.tally["looks at a master whose clocks stood still"] += 1
            return
        assert process.epoch == epoch, (
            f"member {process.number} believes in its epoch {process.epoch}, and epoch"
            f" {epoch} has begun"
        )
        self._must_be_renewed_in_time(process, now)

    def _must_be_renewed_in_time(self, process: Process, now: float) -> None:
        """Else the whole set has promised: a member that it cannot reach for so long has not."""
        since = now - self._store.renewed_at.get(process.number, 0.0)
        lease = self._store.truth
        if since <= LEASE_DEADLINE_SECONDS or lease is None or process.number not in lease.in_sync:
            return
        self._world.tally["looks at a master on promises"] += 1
        for other in lease.in_sync - {process.number}:
            if any(key >= TWIN for key in self._keys(lease, {other})):
                continue  # the machine that has this number in the network is another one
            ways = (process.number, other), (other, process.number)
            cut = max(self._network.cut_for(*way) for way in ways)
            assert cut <= LEASE_DEADLINE_SECONDS * (1.0 + DRIFT_MAX), (
                f"member {process.number} believes that it may acknowledge: its lease was renewed"
                f" {since:.2f} s ago, and member {other}, which might take it, cut off {cut:.2f} s"
            )
