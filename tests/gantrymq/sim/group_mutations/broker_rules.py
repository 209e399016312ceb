"""Breaks rules of tables, offsets, locks, name servers, addresses and guards."""

from __future__ import annotations

from gantrymq.broker.core.pull import commits
from gantrymq.broker.core.tables.locks import Locks
from gantrymq.ha.lease.lease import Found, LeaseAnswer
from gantrymq.ha.member.links.incoming_links import IncomingLinks
from gantrymq.namesrv.core.messages import Channel
from gantrymq.namesrv.core.routing.brokers import MASTER_ID
from gantrymq.namesrv.core.routing.brokers import Member as Registered
from gantrymq.namesrv.core.routing.liveness import Liveness
from gantrymq.namesrv.core.routing.registration import Registrar
from gantrymq.sim.group.group_simulation import Group, released
from gantrymq.sim.group.group_world import Life
from gantrymq.sim.group_mutations.patch import PATCH
from gantrymq.sim.nodes.group_lease_store import LeaseStore
from gantrymq.sim.nodes.group_node import Node

# Longer than a new process takes to lead again.
LATE_GUARD_SECONDS = 3.0


def changes_are_answered_at_once() -> None:
    PATCH.setattr(IncomingLinks, "lacking", lambda self, number: ())


def offsets_are_not_clamped() -> None:
    PATCH.setattr(commits, "clamp", lambda state: None)


def an_old_channel_takes_the_new_master_with_it() -> None:
    closed = Liveness.closed

    def careless(self: Liveness, channel: Channel, now: float) -> list[Registered]:
        leaving = closed(self, channel, now)
        masters = [each for each in self._routes.members.values() if each.broker_id == MASTER_ID]
        return [*leaving, *(each for each in masters if each not in leaving)]

    PATCH.setattr(Liveness, "closed", careless)


def name_servers_take_lower_epochs() -> None:
    PATCH.setattr(Registrar, "_overruled", lambda self, registration: None)


def locks_are_given_to_any_client_after_a_failover() -> None:
    """A new master gives away locks whose owners it does not know yet."""
    lead = Locks.lead

    def careless(self: Locks, now: float, seconds: float) -> None:
        lead(self, now, seconds)
        self._owners_until = 0.0

    PATCH.setattr(Locks, "lead", careless)


def old_masters_take_the_address_along() -> None:
    PATCH.setattr(LeaseStore, "has_later_endpoint", lambda self, epoch: False)


def guards_release_the_lease_of_a_living_broker() -> None:
    """The guard keeps no other process off the store, and gives away what its seat holds later."""

    def careless(self: Group, node: Node) -> None:
        guard, place = Life(), node.place

        def read(answer: LeaseAnswer) -> None:
            if isinstance(answer, Found) and answer.lease.holder == node.seat:
                self.leases.write(place, guard, released(answer.lease), lambda _: None)

        place.after(LATE_GUARD_SECONDS, lambda: self.leases.read(place, guard, read), guard)

    PATCH.setattr(Group, "reap", careless)
