"""Makes troubles of the Lease: an API that is down or slow, and people that edit the object."""

from __future__ import annotations

from functools import partial

from gantrymq.base.disk import DiskError
from gantrymq.ha.lease import lease_copy
from gantrymq.ha.lease.lease import Lease, Mark
from gantrymq.sim.group_troubles.maker import Troubles
from gantrymq.sim.nodes.group_api import Api, Health, Latency
from gantrymq.sim.nodes.group_lease_store import Saved
from gantrymq.store.layout import StoreRefusedError

TOUCH_SECONDS = 1.0
# Kubernetes' own objective for a request of one object, and what one in a hundred may take.
SLOW_API = Latency(constant=1.0, p99=2.0)


def lease_outage(troubles: Troubles) -> None:
    api = troubles.api
    api.health = troubles.random.choice([each for each in Health if each is not Health.WELL])
    troubles.lasts(f"the lease store is {api.health.value}", partial(_api_back, api))


def _api_back(api: Api) -> None:
    api.health = Health.WELL


def slow_api(troubles: Troubles) -> None:
    """Each request takes a second, and one in a hundred two."""
    troubles.world.tally["slow APIs"] += 1
    troubles.api.latency = SLOW_API
    troubles.lasts("the lease store is constantly slow", partial(_fast_api, troubles.api))


def _fast_api(api: Api) -> None:
    api.latency = Latency()


def touch(troubles: Troubles) -> None:
    """Another program writes metadata of it, every second."""
    is_over = False

    def again() -> None:
        if not is_over:
            troubles.world.tally["touches of the lease"] += 1
            troubles.leases.touch()
            troubles.world.after(TOUCH_SECONDS, again)

    def over() -> None:
        nonlocal is_over
        is_over = True

    again()
    troubles.lasts("another program touches the lease", over)


def edit(troubles: Troubles) -> None:
    """Another program writes what only members write."""
    lease = troubles.leases.lease
    if lease is None or not lease.epoch:
        return
    some = troubles.random.sample(
        sorted(troubles.nodes), troubles.random.randrange(1, len(troubles.nodes) + 1)
    )
    notes = troubles.random.choice(
        [
            {"in-sync": ",".join(map(str, sorted(some)))},
            {"epoch": "9" * 9},
            {"epoch": "9" * 18},
            {"renewals": "7"},
            {"disks": ""},
            {"group-id": "0" * 32},
            {"seal": ""},
        ]
    )
    troubles.world.tally["edits of the lease"] += 1
    troubles.leases.edit(notes)


def delete(troubles: Troubles) -> None:
    if troubles.leases.lease is not None:
        troubles.world.tally["deletions of the lease"] += 1
        troubles.leases.delete()


def restore(troubles: Troubles) -> None:
    """A copy of this epoch, or of an earlier one, that every member knows to be old: a member that
    does not could not tell it from the last one."""
    known = marks(troubles)
    old = [each for each in troubles.leases.past if each.lease.mark < known]
    lease = troubles.leases.lease
    if lease is None or not old:
        return
    saved = _one_of(troubles, old, lease)
    is_within = saved.lease.epoch == lease.epoch
    troubles.world.tally[f"restored leases of {'this' if is_within else 'an earlier'} epoch"] += 1
    troubles.leases.restore(saved)


def _one_of(troubles: Troubles, old: list[Saved], lease: Lease) -> Saved:
    """Often of this epoch, where there is one."""
    within = [each for each in old if each.lease.epoch == lease.epoch]
    return troubles.random.choice(within if within and troubles.random.random() < 0.7 else old)


def marks(troubles: Troubles) -> Mark:
    """Each member's disk knows a Lease at least as new as this."""
    try:
        copies = [lease_copy.read(node.disk) for node in troubles.nodes.values()]
    except (DiskError, StoreRefusedError):  # it does not answer, or has lied
        return Mark()
    return min(Mark() if each is None else each.mark for each in copies)
