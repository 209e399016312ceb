"""Groups that are broken on purpose, each in one rule, for histories to notice.

Methods are replaced, which compiled code that calls them does not look up: so this runs on the
`.py` of the compiled modules, in a process of its own where those are live. Each has a budget of
seeds; some have a plan of their own, where what the rule guards against is rare: then that happens
often, and nothing else is different. Where a rule matters in one situation alone, a scene plays it.

That a log which is copied anew is not electable has no mutant of its own. A copy that is not
complete is on a disk that the Lease does not name for its seat, or of a member that is out of the
set ("seats count with any disk", "members of the set copy anew"), so that rule alone decides
nothing; the same flag after a loss of power does ("resume after a lost tail").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, final

from gantrymq.sim.group.group_history import failing
from gantrymq.sim.group.group_world import World
from gantrymq.sim.group_mutations import (
    broker_rules,
    deadlines,
    elections,
    identity,
    in_sync,
    leases,
    logs,
)
from gantrymq.sim.group_mutations.scenes import SCENES
from gantrymq.sim.group_troubles.plan import CALM, Plan
from gantrymq.sim.group_troubles.table import drawn_plan

BUDGET: Final = 40
"""Seeds, unless a mutant says else."""

FIRST_NOTICED: Final[Mapping[str, int]] = {
    "ack before the shrink is persisted": 8,
    "grow without union": 23,
    "unknown outcome taken for a failure": 9,
    "let go before our disk has it": 6,
    "elected before our disk has it": 35,
    "member that leaves is out at once": 43,
    "answers leave without authority": 11,
    "alone without promises": 7,
    "promises do not bind": 6,
    "promote outside the set": 2,
    "ack before fsync": 2,
    "no offset clamp": 14,
    "copies of the lease are not kept": 1,
    "mounts do not count": 2,
    "a second disk says that the first is gone": 20,
    "doubtful tails are taken as they are": 15,
    "empty members make the lease": 2,
    "all are judged with a member missing": 37,
}
"""The seeds whose histories noticed last time, tried before all others.

Other code makes other histories of the same seeds. A mutant that its seed does not show is searched
for in its budget, which takes minutes; then this table wants the seed that was found.
"""


@final
@dataclass(frozen=True, slots=True)
class Mutant:
    """One rule broken."""

    breaks: Callable[[], None]
    budget: int = BUDGET
    weights: Mapping[str, float] | None = None
    """The weights of troubles; if they are given, no other trouble happens."""
    changes: Mapping[str, object] | None = None
    """Fields of the plan that differ."""
    needs_trouble: bool = True
    """Whether a promise breaks only if something else goes wrong too."""
    scene: str = ""
    """The name of the scene in SCENES that notices the mutant; "" if histories notice it."""

    def failing(self, seed: int) -> Exception | None:
        """What goes wrong with this seed."""
        if not self.scene:
            return failing(seed, self.plan(seed))
        try:
            SCENES[self.scene](seed)
        except Exception as error:
            return error
        return None

    def plan(self, seed: int) -> Plan:
        drawn = replace(drawn_plan(World(seed).random("plan")), waits=True, min_in_sync=2)
        if self.weights is not None:
            drawn = replace(drawn, weights=dict(self.weights), pause_between=1.5)
        return replace(drawn, **(self.changes or {}))  # type: ignore[arg-type]  # of a plan's fields

    def calm(self) -> Plan:
        """Nothing is wrong in it but the rule."""
        return replace(self.plan(0), **{"weights": {}, "drift": 0.0, **CALM})  # type: ignore[arg-type]  # of a plan's fields


def _nothing() -> None:
    """The group as it is."""


WHOLE = "the group as it is"
_API: Final = {"cut from leases": 1.0, "lease outage": 1.0, "cut from members": 0.5, "isolate": 0.5}
_CUTS: Final = {"isolate": 1.0, "cut pair": 1.0, "cut from members": 1.0, "pause": 1.0, "kill": 0.5}
_PARTED: Final = {"cut pair": 2.0, "isolate": 1.0, "power cut": 2.0, "stop": 0.5, "kill": 0.5}
_EDITS: Final = {"edit lease": 2.0, "kill": 1.0}
_FOREIGN: Final = {"foreign disk": 2.0, "kill": 1.0}
_SEATS: Final = {"twin": 2.0, "kill": 1.0}
_POWER: Final = {"power cut": 2.0, "kill": 1.0, "cut in a write": 1.0, "stop": 0.3}

MUTANTS: Final[Mapping[str, Mutant]] = {
    WHOLE: Mutant(_nothing, budget=8),
    "ack before the shrink is persisted": Mutant(
        in_sync.shrink_counts_before_it_is_persisted, weights={**_API, **_CUTS}
    ),
    "grow without union": Mutant(
        in_sync.grow_counts_when_it_is_persisted, weights={**_CUTS, "lease outage": 1.0}
    ),
    "unknown outcome taken for a failure": Mutant(
        in_sync.unknown_outcome_is_taken_for_a_failure, weights=_CUTS, changes={"lost_answers": 0.3}
    ),
    "members join before they have everything": Mutant(
        in_sync.members_join_before_they_have_everything, 8, scene="follower far behind"
    ),
    "memory counts while the set shrinks": Mutant(
        in_sync.memory_counts_while_the_set_shrinks, 16, scene="follower that leaves a slow disk"
    ),
    "too small a set is no matter": Mutant(in_sync.too_small_a_set_is_no_matter, weights=_CUTS),
    "let go before our disk has it": Mutant(
        partial(in_sync.goes_before_our_disk_has_it, while_it_leads=True),
        weights=_PARTED,
        changes={"flushes": False},
    ),
    "elected before our disk has it": Mutant(
        partial(in_sync.goes_before_our_disk_has_it, while_it_leads=False),
        weights=_PARTED,
        changes={"flushes": False},
    ),
    "member that leaves is out at once": Mutant(
        in_sync.member_that_leaves_is_out_at_once,
        weights={"stop": 1.0, "power cut": 1.0},
        changes={"members": 2, "flushes": False, "pause_between": 0.5},
    ),
    "lease timed from the reply": Mutant(
        deadlines.lease_is_timed_from_the_reply, weights={"ambush": 1.0}
    ),
    "observer trusts renewTime": Mutant(
        deadlines.observers_go_by_the_holders_clock, weights={"isolate": 1.0, "ambush": 1.0}
    ),
    "answers leave without authority": Mutant(
        deadlines.answers_leave_without_authority, weights={"prefer": 1.0}, changes={"stalls": 0.05}
    ),
    "alone without promises": Mutant(
        deadlines.alone_without_promises,
        weights={"isolate": 1.0, "allow loss": 1.0},
        changes={"members": 2, "pause_between": 2.0},
    ),
    "promises do not bind": Mutant(deadlines.promises_do_not_bind, weights=_API),
    "no member is asked for promises": Mutant(
        deadlines.no_member_is_asked_for_promises, weights={"lease outage": 1.0}, changes=CALM
    ),
    "authority lasts as long as the lease": Mutant(
        deadlines.authority_lasts_as_long_as_the_lease, weights={"isolate": 1.0}
    ),
    "resume after a lost tail": Mutant(
        elections.member_that_lacks_something_is_electable,
        weights=_POWER,
        changes={"flushes": False},
    ),
    "not all of the set have to be heard": Mutant(
        elections.not_all_of_the_set_have_to_be_heard, weights=_POWER, changes={"flushes": False}
    ),
    "promote outside the set": Mutant(elections.promotes_outside_of_the_set, weights=_CUTS),
    "epochs are written after the first append": Mutant(
        logs.epochs_are_written_after_the_first_append, 16, scene="master that ends as it begins"
    ),
    "members of the set copy anew": Mutant(
        logs.members_of_the_set_copy_anew, 2, scene="epochs lost within the set"
    ),
    "wrong truncation": Mutant(logs.cuts_at_the_wrong_place, weights=_CUTS),
    "ack before fsync": Mutant(
        logs.acknowledges_before_the_sync,
        weights={"cut in a sync": 1.0},
        changes={"flushes": True},
    ),
    "flush mark = recovered end": Mutant(
        logs.recovery_takes_what_it_finds_for_flushed,
        budget=80,  # one history in twelve shows it
        weights={"broken disk": 1.0, "power cut": 1.5, "kill": 0.5},
        changes={"flushes": True},
    ),
    "parked sends before the set": Mutant(logs.parked_sends_come_before_the_set, weights=_CUTS),
    "consumers read to the end of the log": Mutant(
        logs.consumers_read_to_the_end_of_the_log, weights=_CUTS, needs_trouble=False
    ),
    "no fencing of own writers": Mutant(logs.old_masters_go_on_writing, weights=_CUTS),
    "changes are answered at once": Mutant(
        broker_rules.changes_are_answered_at_once, weights=_CUTS
    ),
    "no offset clamp": Mutant(broker_rules.offsets_are_not_clamped, weights=_CUTS),
    "old channel's close drops the new master": Mutant(
        broker_rules.an_old_channel_takes_the_new_master_with_it,
        weights={"resets": 1.0, "kill": 1.0},
    ),
    "name servers take lower epochs": Mutant(
        broker_rules.name_servers_take_lower_epochs, 8, scene="old master registers late"
    ),
    "old masters take the address along": Mutant(
        broker_rules.old_masters_take_the_address_along, 16, scene="address published late"
    ),
    "guards release the lease of a living broker": Mutant(
        broker_rules.guards_release_the_lease_of_a_living_broker, 2, scene="guarded restart"
    ),
    "locks are given to any client after a failover": Mutant(
        broker_rules.locks_are_given_to_any_client_after_a_failover,
        4,
        scene="orderly consumer and failover",
    ),
    "renewal is any change": Mutant(leases.any_change_renews, 2, scene="successor while touched"),
    "processes of a seat are not told apart": Mutant(
        leases.processes_of_a_seat_are_not_told_apart, 16, scene="twins of a new group"
    ),
    "operator requests are strict": Mutant(
        leases.operator_requests_are_strict, 2, scene="successor with a typo"
    ),
    "the opt-in is not consulted in the set": Mutant(
        leases.the_opt_in_is_not_consulted_in_the_set, 2, scene="allowed loss"
    ),
    "copies of the lease are not kept": Mutant(
        leases.copies_are_not_kept, 8, scene="copy restored over all"
    ),
    "renewing while a sync is stuck": Mutant(
        deadlines.masters_renew_while_a_sync_is_stuck, 2, scene="stuck disk"
    ),
    "foreign disks vote": Mutant(identity.foreign_disks_vote, weights=_FOREIGN),
    "seats count with any disk": Mutant(identity.seats_count_with_any_disk, weights=_SEATS),
    "a second disk says that the first is gone": Mutant(
        elections.a_second_disk_in_a_seat_is_a_sign_that_the_first_is_gone, weights=_SEATS
    ),
    "mounts do not count": Mutant(
        identity.mounts_do_not_count,
        weights={"remount": 2.0, "kill": 1.0},
        changes={"flushes": False},
    ),
    "empty members make the lease": Mutant(
        identity.empty_members_make_the_lease, weights={"delete lease": 1.0, "new disk": 1.0}
    ),
    "seals are ignored": Mutant(leases.seals_are_ignored, weights=_EDITS),
    "all are judged with a member missing": Mutant(
        leases.all_are_judged_with_a_member_missing,
        weights={**_EDITS, "delete lease": 1.0, "power cut": 1.0, "isolate": 1.0},
    ),
    "the longest log is ignored": Mutant(
        elections.the_longest_log_is_ignored,
        weights={**_POWER, "power of all": 1.0},
        changes={"flushes": False},
    ),
    "fenced members are elected": Mutant(
        elections.fenced_members_are_elected, weights={"fence": 2.0, "kill": 1.0}
    ),
    "doubtful tails are taken as they are": Mutant(
        logs.doubtful_tails_are_taken_as_they_are,
        weights={"broken disk": 1.0, "power cut": 2.0, "power of all": 1.0},
        changes={"flushes": False},
    ),
}


def is_noticed(name: str, budget: int | None = None) -> int | None:
    """Break this process's groups so: the seed of the first history that fails."""
    mutant = MUTANTS[name]
    mutant.breaks()
    slip = failing(0, mutant.calm())
    if slip is not None and (mutant.needs_trouble or not isinstance(slip, AssertionError)):
        raise slip  # no promise was broken: what was put in does not fit where it was put
    seeds = list(range(mutant.budget if budget is None else budget))
    if name in FIRST_NOTICED:
        seeds.insert(0, FIRST_NOTICED[name])
    for seed in seeds:
        if mutant.failing(seed) is not None:
            return seed
    return None
