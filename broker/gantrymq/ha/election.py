"""Whether a member may become master now: a decision from what it knows, with its reason in words.

It needs all of these:
    the lease is free         released, or unchanged for its whole duration by our own clock; the
                              lease of an earlier life of ours is free for us
    we may                    we are in the set that the lease says, not fenced, and our disk
                              answers; where it is full others go first, but not for good
    our log is whole          all of what was acknowledged is in it: see `Standing.is_electable`
    nobody is better          of those of the set that can be heard: the one whose log goes further
                              is waited for, but not for good

A lease that knows less than some member does was lost or set back: what it says of the set means
nothing. Then all configured members have to be heard, and the one with the most goes. Where there
is none, one is made first that is nobody's and names nobody: only what is there has a version, and
without one nobody could tell whether somebody else had it, and was master, meanwhile. And where the
disks of all of the set are new ones all are heard as well: others may have what was on the old.

Invariant: whoever is chosen by this has every acknowledged message, unless an operator allowed
otherwise.

A follower judges in each of its turns, and makes a view and a verdict: hence they are tuples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from gantrymq.ha.handshake import Standing
from gantrymq.ha.lease import DURATION_SECONDS, NOBODY, Lease

# What a member said of itself says something about now for so long.
FRESH_SECONDS: Final = 1.0

# The others are heard within it, where they can be heard at all; those outside of the set as well,
# for they may know that the lease is an old one that somebody restored.
COURTESY_SECONDS: Final = 0.3

# Whoever is better, or was chosen, has had its chance after it.
PATIENCE_SECONDS: Final = 2.0

# Nobody of the set was heard for so long: it is gone, as far as anybody can tell.
UNCLEAN_SECONDS: Final = 15.0


@final
@dataclass(frozen=True, slots=True)
class Sighting:
    """What another member said of itself, and when we heard it."""

    standing: Standing
    at: float


@final
class View(NamedTuple):
    """All that a member goes by."""

    me: int
    configured: frozenset[int]
    standing: Standing
    """Our own; its epoch is the highest we have seen."""
    lease: Lease | None
    """As it was read last; None when there is none."""
    changed_at: float
    """When we first read it as it is now."""
    sightings: Mapping[int, Sighting]
    stall: str | None = None
    """Why our disk does not answer."""
    trouble: str | None = None
    """Why we could not take messages; consumers can still read."""


@final
class Verdict(NamedTuple):
    """With `epoch` it is us, now. Else `again_at` says when it may be, if nothing happens."""

    reason: str
    epoch: int = 0
    again_at: float = float("inf")
    in_sync: frozenset[int] = frozenset()
    """Who else has all that was acknowledged, and is there."""
    is_unclean: bool = False
    is_missing: bool = False
    """There is no lease: one is to be made that says nothing."""


def judge(view: View, now: float) -> Verdict:
    """Whether to seek the lease."""
    lease = view.lease
    if view.stall is not None:
        return Verdict(f"our disk does not answer: {view.stall}")
    if lease is None:
        return Verdict("there is no lease: one is made, and is nobody's", is_missing=True)
    verdict = _judge(view, lease, now)
    others_until = _free_at(view, lease) + 2 * PATIENCE_SECONDS
    is_chosen = lease.heir == view.me
    if verdict.epoch and view.trouble is not None and not is_chosen and now < others_until:
        return Verdict(
            f"others may take messages, we cannot: {view.trouble}", again_at=others_until
        )
    return verdict


def _judge(view: View, lease: Lease, now: float) -> Verdict:
    """As if we could take messages."""
    if not lease.in_sync or _knows_less(view, lease, now):
        return _judge_all(view, lease, now)
    if view.me in lease.fenced:
        return Verdict("we are fenced: an operator said that this member may not be master")
    free_at = _free_at(view, lease)
    if now < free_at:
        return Verdict(f"member {lease.holder} is master", again_at=free_at)
    if view.me not in lease.in_sync:
        return _judge_outside(view, lease, free_at, now)
    patient_until = free_at + PATIENCE_SECONDS
    if lease.heir not in (NOBODY, view.me) and now < patient_until:
        return Verdict(f"member {lease.heir} was chosen", again_at=patient_until)
    return _judge_set(view, lease, free_at, now)


def fresh(sightings: Mapping[int, Sighting], now: float) -> Mapping[int, Standing]:
    """What members said that may be taken for now."""
    return {
        member: sighting.standing
        for member, sighting in sightings.items()
        if now < sighting.at + FRESH_SECONDS
    }


def _free_at(view: View, lease: Lease) -> float:
    """When the lease is nobody's, as far as we may know."""
    if lease.holder in (NOBODY, view.me):
        return view.changed_at
    return view.changed_at + DURATION_SECONDS


def _knows_less(view: View, lease: Lease, now: float) -> bool:
    heard = fresh(view.sightings, now).values()
    return lease.epoch < max([view.standing.epoch, *(each.epoch for each in heard)])


def _judge_set(view: View, lease: Lease, free_at: float, now: float) -> Verdict:
    """We are in the set."""
    if lease.heir == view.me and view.standing.is_electable:
        others = lease.in_sync - {view.me, lease.leaver}
        return Verdict("the last master chose us", lease.epoch + 1, in_sync=others)
    heard = fresh(view.sightings, now)
    said = {each: heard[each] for each in lease.in_sync - {view.me} if each in heard}
    are_all_heard = len(said) == len(lease.in_sync) - 1
    silent = view.configured - {view.me} - frozenset(heard)
    if silent and now < free_at + COURTESY_SECONDS:
        return Verdict("the others are heard first", again_at=free_at + COURTESY_SECONDS)
    better = _better(view, lease, said)
    if view.standing.is_electable:
        patient_until = free_at + PATIENCE_SECONDS
        if lease.holder == view.me:  # who has as much as we is no reason to wait: it is ours
            better, patient_until = _longer(view, lease, said), float("inf")
        if better and now < patient_until:
            return Verdict(f"member {better} has more", again_at=patient_until)
        whole = frozenset(each for each in said if _is_whole(said[each], lease))
        return Verdict("our log has all that was acknowledged", lease.epoch + 1, in_sync=whole)
    if better or not are_all_heard:
        return Verdict(
            "our machine went down and may have lost what it had: all of the set have to be heard,"
            " and none may have more"
        )
    if not view.standing.epochs:  # nor do those of the others of the set begin anywhere
        return _judge_all(view, lease, now)
    return Verdict("all machines of the set went down, and our log has most", lease.epoch + 1)


def _judge_outside(view: View, lease: Lease, free_at: float, now: float) -> Verdict:
    """We are not in the set: only where nothing is left of it, or an operator prefers loss to
    waiting."""
    heard = fresh(view.sightings, now)
    if all(each in heard and not heard[each].epochs for each in lease.in_sync):
        return _judge_all(view, lease, now)
    if not lease.wishes.allows_unclean:
        members = ", ".join(map(str, sorted(lease.in_sync)))
        return Verdict(f"we may lack acknowledged messages: only {members} may be master")
    if lease.in_sync & frozenset(heard):
        return Verdict("a member that has all messages is there")
    again_at = free_at + UNCLEAN_SECONDS
    if now < again_at:
        return Verdict("a member that has all messages may come back", again_at=again_at)
    may_lead = {each: said for each, said in heard.items() if each not in lease.fenced}
    better = _better(view, lease, may_lead, by_log=True)
    if better:
        return Verdict(f"member {better} has more")
    return Verdict(
        "no member that has all messages is there, and unclean elections are allowed: "
        "acknowledged messages may be lost",
        lease.epoch + 1,
        is_unclean=True,
    )


def _judge_all(view: View, lease: Lease, now: float) -> Verdict:
    """What the lease says counts for nothing: all have to be heard."""
    heard = {
        member: standing
        for member, standing in fresh(view.sightings, now).items()
        if member in view.configured
    }
    known = max([lease.epoch, view.standing.epoch, *(each.epoch for each in heard.values())])
    free_at = view.changed_at + DURATION_SECONDS
    if known and now < free_at:
        return Verdict("there may still be a master", again_at=free_at)
    missing = view.configured - {view.me} - frozenset(heard)
    if missing:
        names = ", ".join(map(str, sorted(missing)))
        said = "the lease is older than what members know" if known else "the group is new"
        return Verdict(f"{said}: all members have to be heard first, and {names} are not")
    if view.me in lease.fenced:
        return Verdict("we are fenced: an operator said that this member may not be master")
    better = _better(view, lease, heard, by_log=True)
    if better:
        return Verdict(f"member {better} has more")
    return Verdict("of all members our log has most", known + 1)


def _is_whole(standing: Standing, lease: Lease) -> bool:
    """Whether its log has all that was acknowledged. A member that knows of no epoch where the
    lease does has a new disk, and has not heard yet that it lacks something."""
    return standing.is_electable and (standing.epoch > 0 or lease.epoch == 0)


def _extent(standing: Standing, lease: Lease, *, by_log: bool) -> tuple[bool, int, int]:
    """How much a member has. In the set a log that is whole outranks a longer one. `by_log`: nobody
    knows the set, or none of it is there; of all logs the one that goes furthest has whatever any
    set had."""
    last = standing.epochs[-1].number if standing.epochs else 0
    return by_log or _is_whole(standing, lease), last, standing.end


def _better(
    view: View, lease: Lease, others: Mapping[int, Standing], *, by_log: bool = False
) -> int:
    """The one of them that is to be master rather than us; nobody where we are. Of two that have as
    much the one that is less in doubt: the other may be damaged where no sum tells, and everybody
    would copy that."""

    def rank(member: int, standing: Standing) -> tuple[object, ...]:
        extent = _extent(standing, lease, by_log=by_log)
        is_preferred = member == lease.wishes.preferred
        may_lead, is_whole = member not in lease.fenced, _is_whole(standing, lease)
        return *extent, may_lead, standing.sure_end, is_whole, is_preferred, -member

    best = max(others, key=lambda each: rank(each, others[each]), default=NOBODY)
    if best == NOBODY or rank(best, others[best]) < rank(view.me, view.standing):
        return NOBODY
    return best


def _longer(view: View, lease: Lease, others: Mapping[int, Standing]) -> int:
    """One of them that has more than we have; nobody where there is none."""

    def extent(standing: Standing) -> tuple[bool, int, int]:
        return _extent(standing, lease, by_log=False)

    best = max(others, key=lambda each: extent(others[each]), default=NOBODY)
    return best if best and extent(others[best]) > extent(view.standing) else NOBODY
