"""Decides whether a member may become master now, and gives the reason as text.

A member may become master if all of these hold:

    the lease is free          it was released, or has not changed for its whole duration by this
                               member's clock; a lease that this member itself holds is free for it
    the member is eligible     it is in the set that the lease names, is not fenced, and its disk
                               responds; if its disk is full, other members go first, for a limited
                               time
    its log is complete        it has everything that was acknowledged: `MemberReport.is_electable`
    no other log is longer     among the in-sync members that report; a member with a longer log is
                               waited for, for a limited time
    its disk is the right one  the one that the lease names for this member; a disk of another group
                               does not take part

A lease that is older than what a member has seen was lost or set back, and an untrusted lease was
edited: its in-sync set is not used. Then all configured members have to report, each with the disk
that the in-sync set named last, and the member with the most complete log becomes master. The same
holds if the disks of all in-sync members are empty: other members may have what was on them.

If there is no lease, one is created first that has no holder and names no members: only an existing
object has a version, and without a version a member could not detect that another one had held the
lease in the meantime. A member whose disk knows the group creates it, if a running master has not
done so in time. If no disk knows a group, the group is new, and all members have to report.

A group that would wait forever elects a master only if an operator allows it (`allows_unclean`),
after UNCLEAN_SECONDS, and a warning says what may be lost.

Invariant: a member chosen by these rules has every acknowledged message, unless an operator allowed
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.verdict import ReceivedReport, Verdict, View
from gantrymq.ha.lease.lease import DURATION_SECONDS, NO_MEMBER, Lease
from gantrymq.ha.protocol.handshake import MemberReport

# How long a report of another member describes the present.
FRESH_SECONDS: Final = 1.0

# The other members report within this time if they can report at all. Members outside the set are
# waited for as well: they may know that the lease is an old one that was restored.
COURTESY_SECONDS: Final = 0.3

# How long a better or chosen member is given to become master.
PATIENCE_SECONDS: Final = 2.0

# If no in-sync member has reported for this long, the election assumes that they are lost.
UNCLEAN_SECONDS: Final = 15.0


def judge(view: View, now: float) -> Verdict:
    """Decide whether to seek the lease."""
    lease = view.lease
    if view.foreign_reason is not None:
        return Verdict(view.foreign_reason)
    if view.stall is not None:
        return Verdict(f"this disk does not respond: {view.stall}")
    if lease is None or not lease.version:
        return _judge_missing(view, now)
    verdict = _judge(view, lease, now)
    others_until = _free_at(view, lease) + 2 * PATIENCE_SECONDS
    is_chosen = lease.successor == view.me
    if verdict.epoch and view.trouble is not None and not is_chosen and now < others_until:
        return Verdict(
            f"another member may accept messages, this one cannot: {view.trouble}",
            again_at=others_until,
        )
    return verdict


def _judge(view: View, lease: Lease, now: float) -> Verdict:
    """The decision as if this member could accept messages."""
    if not lease.in_sync or _distrust(view, lease, now) is not None:
        return _judge_all(view, lease, now)
    if view.me in lease.fenced:
        return Verdict("this member is fenced: an operator excluded it from becoming master")
    free_at = _free_at(view, lease)
    if now < free_at:
        return Verdict(f"member {lease.holder} is master", again_at=free_at)
    if not lease.names(view.me, view.member_report.disk):
        return _judge_outside(view, lease, free_at, now)
    patient_until = free_at + PATIENCE_SECONDS
    if lease.successor not in (NO_MEMBER, view.me) and now < patient_until:
        return Verdict(f"the last master chose member {lease.successor}", again_at=patient_until)
    return _judge_set(view, lease, free_at, now)


def fresh(received_reports: Mapping[int, ReceivedReport], now: float) -> Mapping[int, MemberReport]:
    """The reports that are recent enough to describe the present."""
    return {
        member: received.member_report
        for member, received in received_reports.items()
        if now < received.at + FRESH_SECONDS
    }


def _free_at(view: View, lease: Lease) -> float:
    """When the lease becomes free, as far as this member can know."""
    if lease.holder == NO_MEMBER or lease.is_held_by(view.me, view.member_report.disk):
        return view.changed_at
    return view.changed_at + DURATION_SECONDS


def _surely_free_at(view: View, lease: Lease, now: float) -> float:
    """When no master can hold the lease any more, not even one that this member has not read of: an
    edit, or an older lease that was restored, may have replaced a renewal before it was read."""
    is_trusted = _distrust(view, lease, now) is None
    return (view.changed_at if is_trusted else view.touched_at) + DURATION_SECONDS


def _distrust(view: View, lease: Lease, now: float) -> str | None:
    """Why the set that the lease names is not trusted; None if it is."""
    heard = _heard(view, lease, now).values()
    if lease.untrusted_reason is not None:
        return lease.untrusted_reason
    epoch = max([view.member_report.epoch, *(each.epoch for each in heard)])
    if lease.epoch < epoch:
        return f"the lease is of epoch {lease.epoch}, and members have seen epoch {epoch}"
    mark = max([view.member_report.mark, *(each.mark for each in heard)])
    if lease.mark < mark:
        return f"members have seen a newer lease, epoch {mark.epoch} renewal {mark.renewals}"
    return None


def _heard(view: View, lease: Lease, now: float) -> dict[int, MemberReport]:
    """The reports of other members, except those with a disk of another group."""
    group = lease.group or view.member_report.group
    heard = fresh(view.received_reports, now)
    return {each: heard[each] for each in heard if heard[each].group in ("", group) or not group}


def groups_heard(received_reports: Mapping[int, ReceivedReport], now: float) -> frozenset[str]:
    """The groups of the disks of other members."""
    return frozenset(each.group for each in fresh(received_reports, now).values()) - {""}


def _judge_missing(view: View, now: float) -> Verdict:
    """Decide whether this member creates the lease."""
    heard = fresh(view.received_reports, now)
    ours, groups = view.member_report.group, groups_heard(view.received_reports, now)
    missing = view.configured - {view.me} - frozenset(heard)
    if ours and groups <= {ours}:
        # A disk of another group may be the only one that has reported so far.
        made_at = view.changed_at + (UNCLEAN_SECONDS if missing else DURATION_SECONDS)
        if now < made_at:
            return Verdict("there is no lease: a running master creates it again", again_at=made_at)
        return Verdict("there is no lease: creating one without a holder", is_missing=True)
    if ours:
        others = {each for each in heard if heard[each].group not in ("", ours)}
        return Verdict(
            f"there is no lease, and the disks of members {_names(others | {view.me})} belong to"
            " several groups: run `gantry store archive` on the disks of other groups"
        )
    if groups:
        return Verdict("there is no lease: a member whose disk knows the group creates it")
    if missing:
        return Verdict(
            f"the group is new: all members must report first, missing members {_names(missing)}"
        )
    return Verdict("there is no lease: creating one without a holder", is_missing=True)


def _names(members: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(members)))


def _judge_set(view: View, lease: Lease, free_at: float, now: float) -> Verdict:
    """The decision of a member of the in-sync set."""
    if lease.successor == view.me and view.member_report.is_electable:
        others = lease.in_sync - {view.me, lease.leaver}
        return Verdict(
            "the last master chose this member as successor", lease.epoch + 1, in_sync=others
        )
    heard = _heard(view, lease, now)
    said = {
        each: heard[each]
        for each in lease.in_sync - {view.me}
        if each in heard and lease.names(each, heard[each].disk)
    }
    are_all_heard = len(said) == len(lease.in_sync) - 1
    silent = view.configured - {view.me} - frozenset(heard)
    if silent and now < free_at + COURTESY_SECONDS:
        return Verdict(
            "waiting for reports of the other members", again_at=free_at + COURTESY_SECONDS
        )
    better = _better(view, lease, said)
    if view.member_report.is_electable:
        patient_until = free_at + PATIENCE_SECONDS
        if lease.holder == view.me:  # held by us: wait only for a member with more
            better, patient_until = _longer(view, lease, said), NEVER
        if better and now < patient_until:
            return Verdict(f"member {better} has more", again_at=patient_until)
        whole = frozenset(each for each in said if _is_whole(said[each], lease.epoch))
        return Verdict("this log has all acknowledged messages", lease.epoch + 1, in_sync=whole)
    if better:
        text = "this machine crashed and may have lost messages"
        is_given_up = lease.holder == view.me
        return Verdict(f"{text}: member {better} has more", is_given_up=is_given_up)
    if not are_all_heard:
        return _judge_damaged(view, lease, said, free_at, now)
    if not view.member_report.epochs:  # nor have the other members of the set any epochs
        return _judge_all(view, lease, now)
    return Verdict(
        "all machines of the in-sync set crashed, and this log is the longest", lease.epoch + 1
    )


def _judge_damaged(
    view: View, lease: Lease, said: Mapping[int, MemberReport], free_at: float, now: float
) -> Verdict:
    """The decision of an in-sync member that may lack messages while other members do not
    report."""
    missing = _names(lease.in_sync - {view.me} - frozenset(said))
    text = "this machine crashed and may have lost messages"
    if not lease.operator_requests.allows_unclean:
        return Verdict(f"{text}: all in-sync members must report, missing members {missing}")
    again_at = free_at + UNCLEAN_SECONDS
    if now < again_at:
        return Verdict(f"{text}, and members {missing} may come back", again_at=again_at)
    return _unclean(f"{text}, and members {missing} do not report", lease.epoch + 1)


def _judge_outside(view: View, lease: Lease, free_at: float, now: float) -> Verdict:
    """The decision of a member outside the set: it may become master only if the disks of the set
    are empty, or if an operator prefers data loss to waiting."""
    heard = _heard(view, lease, now)
    if all(each in heard and _is_replaced(each, heard[each], lease) for each in lease.in_sync):
        return _judge_all(view, lease, now)
    if not lease.operator_requests.allows_unclean:
        members = _names(lease.in_sync)
        return Verdict(
            f"this log may lack acknowledged messages: only members {members} may be master"
        )
    if any(lease.names(each, said.disk) for each, said in heard.items()):
        return Verdict("a member that has all messages reports")
    again_at = free_at + UNCLEAN_SECONDS
    if now < again_at:
        return Verdict("a member that has all messages may come back", again_at=again_at)
    may_lead = {each: said for each, said in heard.items() if each not in lease.fenced}
    better = _better(view, lease, may_lead, by_log=True)
    if better:
        return Verdict(f"member {better} has more")
    return _unclean("no member that has all messages reports", lease.epoch + 1)


def _unclean(text: str, epoch: int) -> Verdict:
    return Verdict(
        f"{text}, and unclean elections are allowed: acknowledged messages may be lost",
        epoch,
        is_unclean=True,
    )


def _is_replaced(member: int, member_report: MemberReport, lease: Lease) -> bool:
    """Whether the disk of this in-sync member has lost its data. Another disk with its number
    proves nothing about that one: its process may run elsewhere, or be about to start."""
    return not member_report.epochs and lease.names(member, member_report.disk)


def _judge_all(view: View, lease: Lease, now: float) -> Verdict:
    """The decision if the lease cannot be trusted: all members have to report."""
    known_group = lease.group or view.member_report.group
    if not known_group and len(groups_heard(view.received_reports, now)) > 1:
        return Verdict(
            "the lease does not name the group, and the disks of other members belong to several"
            " groups: run `gantry store archive` on the disks of other groups"
        )
    heard = {
        member: member_report
        for member, member_report in _heard(view, lease, now).items()
        if member in view.configured
    }
    known = max([lease.epoch, view.member_report.epoch, *(each.epoch for each in heard.values())])
    free_at = _surely_free_at(view, lease, now)
    if known and now < free_at:
        return Verdict("an earlier master may still be active", again_at=free_at)
    if view.me in lease.fenced:
        return Verdict("this member is fenced: an operator excluded it from becoming master")
    missing = _missing(view, lease, heard, now)
    again_at = free_at + UNCLEAN_SECONDS
    if missing and (not lease.operator_requests.allows_unclean or now < again_at):
        again_at = again_at if lease.operator_requests.allows_unclean else NEVER
        return Verdict(_missing_text(view, lease, missing, now), again_at=again_at)
    better = _better(view, lease, heard, by_log=True)
    if lease.operator_requests.allows_unclean:
        heard_fenced = lease.fenced & frozenset(heard)
        able = {each: heard[each] for each in heard if each not in lease.fenced}
        return _judge_able(view, lease, able, missing | heard_fenced, known, again_at, now)
    better = _better(view, lease, heard, by_log=True)
    if better:
        return Verdict(f"member {better} has more")
    return Verdict("this log is the longest of all members", known + 1)


def _judge_able(
    view: View,
    lease: Lease,
    able: Mapping[int, MemberReport],
    others: frozenset[int],
    known: int,
    again_at: float,
    now: float,
) -> Verdict:
    """The decision if an operator prefers data loss to waiting for `others`, the members that do
    not report or are fenced."""
    better = _better(view, lease, able, by_log=True)
    if better:
        return Verdict(f"member {better} has more")
    if not others:
        return Verdict("this log is the longest of all members", known + 1)
    if now < again_at:
        return Verdict(f"members {_names(others)} may have more", again_at=again_at)
    return _unclean(f"members {_names(others)} may have more", known + 1)


def _missing_text(view: View, lease: Lease, missing: frozenset[int], now: float) -> str:
    why = _distrust(view, lease, now) or "the group is new"
    text = f"{why}: all members must report first, missing members {_names(missing)}"
    replaced = missing & (frozenset(_heard(view, lease, now)) | {view.me})
    if not replaced:
        return text
    return (
        f"{text}; the disks of members {_names(replaced)} are not those that the in-sync set names:"
        " bring the old disks back, or allow an unclean election with"
        " gantrymq.dev/allow-unclean=true"
    )


def _missing(
    view: View, lease: Lease, heard: Mapping[int, MemberReport], now: float
) -> frozenset[int]:
    """The members whose logs are not known. If the lease is not trusted, a new disk of an in-sync
    member says nothing about the old disk; if it is trusted, all in-sync members have new disks."""
    there = {**heard, view.me: view.member_report}
    missing = view.configured - frozenset(there)
    if _distrust(view, lease, now) is None:
        return missing
    others = {each for each in there if not lease.names(each, there[each].disk)}
    return missing | (others & lease.in_sync)


def _is_whole(member_report: MemberReport, epoch: int) -> bool:
    """Whether a log has everything that was acknowledged. A member that has seen no epoch although
    this one has begun has a new disk, and has not learned yet that it lacks messages."""
    return member_report.is_electable and (member_report.epoch > 0 or epoch == 0)


def _extent(member_report: MemberReport, lease: Lease, *, by_log: bool) -> tuple[bool, int, int]:
    """Ranks a log. Within the set a complete log ranks above a longer one. `by_log`: the set is not
    known, or none of its members is present; then the log that ends furthest has everything that
    any set had."""
    last = member_report.epochs[-1].number if member_report.epochs else 0
    return by_log or _is_whole(member_report, lease.epoch), last, member_report.end


def _better(
    view: View, lease: Lease, others: Mapping[int, MemberReport], *, by_log: bool = False
) -> int:
    """The other member that should become master instead of this one; NO_MEMBER if there is none.
    Of two equal logs the one with the longer verified part wins: the rest of the other log may be
    damaged where no checksum covers it, and all members would copy that. `by_log`: each member may
    read a different untrusted lease, so the epochs that members have seen decide; otherwise two
    members could wait for each other."""
    seen = max([view.member_report.epoch, *(each.epoch for each in others.values())])
    epoch = seen if by_log else lease.epoch

    def rank(member: int, member_report: MemberReport) -> tuple[object, ...]:
        extent = _extent(member_report, lease, by_log=by_log)
        is_preferred = member == lease.operator_requests.preferred
        may_lead, is_whole = member not in lease.fenced, _is_whole(member_report, epoch)
        return *extent, may_lead, member_report.sure_end, is_whole, is_preferred, -member

    best = max(others, key=lambda each: rank(each, others[each]), default=NO_MEMBER)
    if best == NO_MEMBER or rank(best, others[best]) < rank(view.me, view.member_report):
        return NO_MEMBER
    return best


def _longer(view: View, lease: Lease, others: Mapping[int, MemberReport]) -> int:
    """A member that has more than this one; NO_MEMBER if there is none."""

    def extent(member_report: MemberReport) -> tuple[bool, int, int]:
        return _extent(member_report, lease, by_log=False)

    best = max(others, key=lambda each: extent(others[each]), default=NO_MEMBER)
    return best if best and extent(others[best]) > extent(view.member_report) else NO_MEMBER
