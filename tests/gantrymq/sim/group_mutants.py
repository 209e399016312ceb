"""Groups that are broken on purpose, each in one rule, for histories to notice.

Methods are replaced, which compiled code that calls them does not look up: so this runs on the
`.py` of the compiled modules, in a process of its own where those are live. Each has a budget of
seeds; some have a plan of their own, where what the rule guards against is rare: then that happens
often, and nothing else is different.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, final

import pytest

from gantrymq.broker.core import commits
from gantrymq.broker.core.reign import Reign
from gantrymq.ha import election, member_following, tenure
from gantrymq.ha.agent import Agent
from gantrymq.ha.chronicle import Chronicle
from gantrymq.ha.election import Verdict, View
from gantrymq.ha.epochs import Epochs
from gantrymq.ha.events import Ended
from gantrymq.ha.in_sync import InSync
from gantrymq.ha.lease import DURATION_SECONDS, NOBODY, Lease, LeaseAnswer, Unanswered
from gantrymq.ha.lease_desk import LeaseDesk
from gantrymq.ha.member import Member
from gantrymq.ha.member_follower import MemberFollower
from gantrymq.ha.member_followers import MemberFollowers
from gantrymq.ha.member_following import MemberFollowing
from gantrymq.ha.member_frames import Report
from gantrymq.namesrv.core.brokers import MASTER_ID
from gantrymq.namesrv.core.brokers import Member as Registered
from gantrymq.namesrv.core.liveness import Liveness
from gantrymq.namesrv.core.messages import Channel
from gantrymq.sim.group_history import failing
from gantrymq.sim.group_network import Weather
from gantrymq.sim.group_process import BrokerProcess
from gantrymq.sim.group_troubles.plan import Plan
from gantrymq.sim.group_troubles.table import drawn_plan
from gantrymq.sim.group_world import World
from gantrymq.store.engine import Store
from gantrymq.store.segments import Segments

PATCH = pytest.MonkeyPatch()

CALM: Final[Mapping[str, object]] = {"weather": Weather(), "lost_answers": 0.0, "stalls": 0.0}
"""Of a plan, where only its troubles are to be met."""

BUDGET: Final = 40
"""Seeds, unless a mutant says else."""

FIRST_NOTICED: Final[Mapping[str, int]] = {
    "ack before the shrink is persisted": 4,
    "grow without union": 10,
    "unknown outcome taken for a failure": 3,
    "members join before they have everything": 39,
    "let go before our disk has it": 14,
    "elected before our disk has it": 9,
    "who leaves is out at once": 1,
    "answers leave without authority": 20,
    "alone without promises": 3,
    "promises do not bind": 6,
    "resume after a lost tail": 1,
    "not all of the set have to be heard": 4,
    "promote outside the set": 2,
    "ack before fsync": 2,
    "changes are answered at once": 11,
    "no offset clamp": 6,
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
    """Of troubles: these alone, where they are given."""
    changes: Mapping[str, object] | None = None
    """Of the plan."""
    needs_trouble: bool = True
    """Otherwise it breaks a promise where nothing else is wrong, too."""

    def plan(self, seed: int) -> Plan:
        drawn = replace(drawn_plan(World(seed).random("plan")), waits=True, min_in_sync=2)
        if self.weights is not None:
            drawn = replace(drawn, weights=dict(self.weights), pause_between=1.5)
        return replace(drawn, **(self.changes or {}))  # type: ignore[arg-type]  # of a plan's fields

    def calm(self) -> Plan:
        """Nothing is wrong in it but the rule."""
        return replace(self.plan(0), **{"weights": {}, "drift": 0.0, **CALM})  # type: ignore[arg-type]  # of a plan's fields


# ---------------------------------------------------------------------- the set


def _shrink_counts_before_it_is_persisted() -> None:
    def counted(self: InSync) -> frozenset[int]:
        return self.persisted if self._proposed is None else self._proposed

    PATCH.setattr(InSync, "counted", property(counted))


def _grow_counts_when_it_is_persisted() -> None:
    PATCH.setattr(InSync, "counted", property(lambda self: self.persisted))


def _unknown_outcome_is_taken_for_a_failure() -> None:
    answered = Agent.lease_answered

    def hasty(self: Agent, number: int, answer: LeaseAnswer, now: float) -> None:
        answered(self, number, answer, now)
        if isinstance(answer, Unanswered) and self._proposal is not None and self.lease:
            self._settle(self.lease)

    PATCH.setattr(Agent, "lease_answered", hasty)


def _members_join_before_they_have_everything() -> None:
    heard = InSync.heard

    def hasty(self: InSync, member: int, report: Report, log_end: int, now: float) -> None:
        heard(self, member, report, 0, now)

    PATCH.setattr(InSync, "heard", hasty)
    PATCH.setattr(InSync, "_has_joined", lambda self, progress: progress.joins_at is not None)


def _too_small_a_set_is_no_matter() -> None:
    PATCH.setattr(MemberFollowers, "_missing", lambda self, in_sync: None)


def _goes_before_our_disk_has_it(while_it_leads: bool) -> None:
    """What is acknowledged is on no disk when a set begins without somebody who has it."""
    secure = Member.secure

    def hasty(self: Member, now: float) -> bool:
        return bool(self.epoch) is while_it_leads or secure(self, now)

    PATCH.setattr(Member, "secure", hasty)


def _who_leaves_is_out_at_once() -> None:
    given_away = Lease.given_away

    def hasty(self: Lease, heir: int, leaver: int) -> Lease:
        return replace(given_away(self, heir, leaver), in_sync=self.in_sync - {leaver})

    PATCH.setattr(Lease, "given_away", hasty)


# ---------------------------------------------------------------------- time


def _lease_is_timed_from_the_reply() -> None:
    answered = LeaseDesk.answered

    def late(self: LeaseDesk, number: int, answer: LeaseAnswer, now: float) -> object:
        if self._asked is not None:
            self._asked.sent_at = now
        return answered(self, number, answer, now)

    PATCH.setattr(LeaseDesk, "answered", late)


def _observers_go_by_the_holders_clock() -> None:
    """Whose time is that of the renewal, and two seconds behind theirs."""

    def free_at(view: View, lease: Lease) -> float:
        is_ours = lease.holder in (NOBODY, view.me)
        return view.changed_at + (0.0 if is_ours else DURATION_SECONDS - 2.0)

    PATCH.setattr(election, "_free_at", free_at)


def _answers_leave_without_authority() -> None:
    PATCH.setattr(BrokerProcess, "is_cut_off", lambda self: False)


def _alone_without_promises() -> None:
    """Who is alone can only be replaced where losses are allowed; no trouble lasts as long as one
    waits for that."""
    PATCH.setattr(election, "UNCLEAN_SECONDS", 2.0)

    def must_promise(self: Agent) -> frozenset[int] | None:
        in_sync = self.in_sync
        return None if in_sync is None else in_sync.counted - {self._place.number}

    authority = Agent.authority

    def alone(self: Agent, around: object, now: float) -> float:
        is_alone = self.epoch and self.must_promise() == frozenset()
        return now + 1.0 if is_alone else authority(self, around, now)  # type: ignore[arg-type]

    PATCH.setattr(Agent, "must_promise", must_promise)
    PATCH.setattr(Agent, "authority", alone)


def _promises_do_not_bind() -> None:
    def promise(self: Agent, epoch: int, now: float) -> bool:
        return True

    PATCH.setattr(Agent, "promise", promise)


def _nobody_is_asked_for_promises() -> None:
    PATCH.setattr(Agent, "asks_promises", lambda self, now: False)


def _authority_lasts_as_long_as_the_lease() -> None:
    PATCH.setattr(tenure, "AUTHORITY_SECONDS", DURATION_SECONDS - 0.1)


# ---------------------------------------------------------------------- who may be master


def _whoever_lacks_something_is_electable() -> None:
    PATCH.setattr(Chronicle, "is_electable", property(lambda self: True))


def _a_new_disk_is_taken_for_the_old_one() -> None:
    """It knows of no epoch, and that is no matter."""
    PATCH.setattr(Chronicle, "is_new", property(lambda self: False))


def _not_all_of_the_set_have_to_be_heard() -> None:
    """Whoever may have lost the end of its log is elected if nobody says that he has more."""
    judge_set = election._judge_set

    def hasty(view: View, lease: Lease, free_at: float, now: float) -> Verdict:
        if view.standing.is_electable:
            return judge_set(view, lease, free_at, now)
        said = lease.in_sync & election.fresh(view.sightings, now).keys()
        return judge_set(view, replace(lease, in_sync=said | {view.me}), free_at, now)

    PATCH.setattr(election, "_judge_set", hasty)


def _promotes_outside_of_the_set() -> None:
    judge_set = election._judge_set

    def outside(view: View, lease: Lease, free_at: float, now: float) -> Verdict:
        return judge_set(view, replace(lease, in_sync=view.configured), free_at, now)

    PATCH.setattr(election, "_judge_outside", outside)


# ---------------------------------------------------------------------- logs


def _cuts_at_the_wrong_place() -> None:
    def parting(ours: Epochs, our_end: int, theirs: Epochs, their_end: int) -> int | None:
        return min(our_end, their_end)

    PATCH.setattr(member_following, "parting", parting)
    PATCH.setattr("gantrymq.ha.handshake.parting", parting)


def _acknowledges_before_the_sync() -> None:
    report = MemberFollowing.report

    def hasty(
        self: MemberFollowing,
        received: int,
        flushed: int,
        promised: int,
        stored: int,
        now: float,
        **states: bool,
    ) -> None:
        report(self, received, received, promised, stored, now, **states)

    PATCH.setattr(MemberFollowing, "report", hasty)


def _recovery_takes_what_it_finds_for_flushed() -> None:
    PATCH.setattr(Segments, "rewrite", lambda *_: None)
    PATCH.setattr(Segments, "sync", lambda *_: None)


def _consumers_read_to_the_end_of_the_log() -> None:
    PATCH.setattr(Store, "safe", property(lambda self: None, lambda self, value: None))


def _old_masters_go_on_writing() -> None:
    """Their own services do."""

    def follow(self: Reign) -> None:
        self._state.store.waiters.dismiss()

    PATCH.setattr(Reign, "follow", follow)


def _parked_sends_come_before_the_set() -> None:
    """They are written when it is not known yet who has to have them."""
    lead, turn = MemberFollowers.lead, MemberFollowers.turn

    def careless(self: MemberFollowers, epoch: int, in_sync: InSync, now: float) -> None:
        lead(self, epoch, in_sync, now)
        self._store.waiters.for_members = False

    def later(self: MemberFollowers, now: float) -> Sequence[tuple[MemberFollower, Ended]]:
        if self._reign is not None:
            self._store.waiters.for_members = True
        return turn(self, now)

    PATCH.setattr(MemberFollowers, "lead", careless)
    PATCH.setattr(MemberFollowers, "turn", later)


# ---------------------------------------------------------------------- around


def _changes_are_answered_at_once() -> None:
    PATCH.setattr(MemberFollowers, "lacking", lambda self, number: ())


def _offsets_are_not_clamped() -> None:
    PATCH.setattr(commits, "clamp", lambda state: None)


def _an_old_channel_takes_the_new_master_with_it() -> None:
    closed = Liveness.closed

    def careless(self: Liveness, channel: Channel, now: float) -> list[Registered]:
        leaving = closed(self, channel, now)
        masters = [each for each in self._routes.members.values() if each.broker_id == MASTER_ID]
        return [*leaving, *(each for each in masters if each not in leaving)]

    PATCH.setattr(Liveness, "closed", careless)


def _nothing() -> None:
    """The group as it is."""


WHOLE = "the group as it is"
_API: Final = {"cut from leases": 1.0, "lease outage": 1.0, "cut from members": 0.5, "isolate": 0.5}
_CUTS: Final = {"isolate": 1.0, "cut pair": 1.0, "cut from members": 1.0, "pause": 1.0, "kill": 0.5}
_FLAPS: Final = {"cut pair": 1.0, "cut from members": 1.0, "resets": 1.0, "kill": 0.3}
_SLOW: Final = {"pause_between": 0.6, "weather": Weather(latency=0.05)}
_DISKS: Final = {"new disk": 1.0, "kill": 1.0, "lease outage": 1.0}
_PARTED: Final = {"cut pair": 2.0, "isolate": 1.0, "power cut": 2.0, "stop": 0.5, "kill": 0.5}
_POWER: Final = {"power cut": 2.0, "kill": 1.0, "cut in a write": 1.0, "stop": 0.3}

MUTANTS: Final[Mapping[str, Mutant]] = {
    WHOLE: Mutant(_nothing, budget=8),
    "ack before the shrink is persisted": Mutant(
        _shrink_counts_before_it_is_persisted, weights={**_API, **_CUTS}
    ),
    "grow without union": Mutant(
        _grow_counts_when_it_is_persisted, weights={**_CUTS, "lease outage": 1.0}
    ),
    "unknown outcome taken for a failure": Mutant(
        _unknown_outcome_is_taken_for_a_failure, weights=_CUTS, changes={"lost_answers": 0.3}
    ),
    "members join before they have everything": Mutant(
        _members_join_before_they_have_everything,
        budget=120,  # they have to store tables first, and have the log by then, mostly
        weights=_FLAPS,
        changes=_SLOW,
    ),
    "too small a set is no matter": Mutant(_too_small_a_set_is_no_matter, weights=_CUTS),
    "let go before our disk has it": Mutant(
        partial(_goes_before_our_disk_has_it, while_it_leads=True),
        weights=_PARTED,
        changes={"flushes": False},
    ),
    "elected before our disk has it": Mutant(
        partial(_goes_before_our_disk_has_it, while_it_leads=False),
        weights=_PARTED,
        changes={"flushes": False},
    ),
    "who leaves is out at once": Mutant(
        _who_leaves_is_out_at_once,
        weights={"stop": 1.0, "power cut": 1.0},
        changes={"members": 2, "flushes": False, "pause_between": 0.5},
    ),
    "lease timed from the reply": Mutant(_lease_is_timed_from_the_reply, weights={"ambush": 1.0}),
    "observer trusts renewTime": Mutant(
        _observers_go_by_the_holders_clock, weights={"isolate": 1.0, "ambush": 1.0}
    ),
    "answers leave without authority": Mutant(
        _answers_leave_without_authority, weights={"prefer": 1.0}, changes={"stalls": 0.05}
    ),
    "alone without promises": Mutant(
        _alone_without_promises,
        weights={"isolate": 1.0, "allow loss": 1.0},
        changes={"members": 2, "pause_between": 2.0},
    ),
    "promises do not bind": Mutant(_promises_do_not_bind, weights=_API),
    "nobody is asked for promises": Mutant(
        _nobody_is_asked_for_promises, weights={"lease outage": 1.0}, changes=CALM
    ),
    "authority lasts as long as the lease": Mutant(
        _authority_lasts_as_long_as_the_lease, weights={"isolate": 1.0}
    ),
    "resume after a lost tail": Mutant(
        _whoever_lacks_something_is_electable, weights=_POWER, changes={"flushes": False}
    ),
    "not all of the set have to be heard": Mutant(
        _not_all_of_the_set_have_to_be_heard, weights=_POWER, changes={"flushes": False}
    ),
    "partial history electable": Mutant(
        _whoever_lacks_something_is_electable, weights={**_FLAPS, "new disk": 1.0}, changes=_SLOW
    ),
    "a new disk is taken for the old one": Mutant(
        _a_new_disk_is_taken_for_the_old_one, weights=_DISKS, changes={**_SLOW, "members": 2}
    ),
    "promote outside the set": Mutant(_promotes_outside_of_the_set, weights=_CUTS),
    "wrong truncation": Mutant(_cuts_at_the_wrong_place, weights=_CUTS),
    "ack before fsync": Mutant(
        _acknowledges_before_the_sync,
        weights={"cut in a sync": 1.0},
        changes={"flushes": True},
    ),
    "flush mark = recovered end": Mutant(
        _recovery_takes_what_it_finds_for_flushed,
        budget=80,  # one history in twelve shows it
        weights={"broken disk": 1.0, "power cut": 1.5, "kill": 0.5},
        changes={"flushes": True},
    ),
    "parked sends before the set": Mutant(_parked_sends_come_before_the_set, weights=_CUTS),
    "consumers read to the end of the log": Mutant(
        _consumers_read_to_the_end_of_the_log, weights=_CUTS, needs_trouble=False
    ),
    "no fencing of own writers": Mutant(_old_masters_go_on_writing, weights=_CUTS),
    "changes are answered at once": Mutant(_changes_are_answered_at_once, weights=_CUTS),
    "no offset clamp": Mutant(_offsets_are_not_clamped, weights=_CUTS),
    "old channel's close drops the new master": Mutant(
        _an_old_channel_takes_the_new_master_with_it, weights={"resets": 1.0, "kill": 1.0}
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
        if failing(seed, mutant.plan(seed)) is not None:
            return seed
    return None
