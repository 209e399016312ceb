"""Decides what one group needs for one topic: nothing, a change, a wait, or no interference.

    at the broker             not created by the resource    created by the resource
    no topic                  create                         create (drift, if it existed before)
    as the spec says          take over                      nothing
    different                 do not touch                   change; reduce read queues once drained

A reduction of queues takes two steps. The write queues are reduced first. The read queues follow
after producers have had the time to fetch the new route, and every consumer group has read the
surplus queues.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, final

from gantrymq.operator.resources.topic.topic import QueueCounts
from gantrymq.operator.topics.values import (
    PERM_NAMES,
    READ_WRITE,
    BrokerTopic,
    DrainAnswer,
    DrainQuestion,
    GroupView,
    TopicResource,
    TopicSpec,
    TopicsSnapshot,
)

QUIET_S: Final = 60.0
"""Clients fetch routes every 30 s. After two intervals no producer sends to a removed queue."""

ASK_AGAIN_S: Final = 15.0
"""How long to wait before asking again about a queue that was not drained."""

NAMED_MAX: Final = 5
"""The most consumer groups, or queues, that a message names."""

APPLIED: Final = "Applied"
SHRINKING: Final = "Shrinking"


class Standing(Enum):
    """The state of a topic in a group, once the plan is carried out."""

    APPLIED = "applied"
    SHRINKING = "shrinking"
    FOREIGN = "foreign"
    AWAY = "away"
    REFUSED = "refused"
    PAUSED = "paused"


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """What one group needs for one topic."""

    group: str
    standing: Standing
    held: BrokerTopic | None = None
    """What the group has after `change`; None if it has no topic, or is not known."""
    change: BrokerTopic | None = None
    before: BrokerTopic | None = None
    address: str = ""
    why: str = ""
    """The reason of a wait, or of not touching the topic."""
    drift: str = ""
    """What was changed by hand, and `change` reverts."""
    starts_anew: bool = False
    """Whether a wait for producers begins now, because write queues were reduced."""
    question: DrainQuestion | None = None
    look_again_s: float | None = None


def judge(
    resource: TopicResource,
    spec: TopicSpec,
    group: GroupView,
    snapshot: TopicsSnapshot,
    now: float,
    *,
    is_ours: bool,
    quiet_s: float,
) -> Verdict:
    """Return what this group needs. `quiet_s` is how long the write queues have been as wanted."""
    if group.table is None:
        standing = Standing.SHRINKING if _was_shrinking(resource, spec, group) else Standing.AWAY
        why = f"{group.name} {group.why}" if standing is Standing.SHRINKING else group.why
        return Verdict(group.name, standing, why=why)
    held = group.table.topics.get(spec.topic_name)
    queues = spec.queues_of(group.name)
    if held is not None and fits(held, spec, queues):
        return Verdict(group.name, Standing.APPLIED, held)
    wanted = _wanted(held, spec, queues)
    if held is not None and not is_ours:
        return Verdict(group.name, Standing.FOREIGN, why=difference(held, wanted))
    if not _is_recorded(resource, group.name, held):
        quiet_s = 0.0  # they were changed by hand, or the status was not written
    verdict = _change(group, spec, held, wanted, snapshot, quiet_s)
    if verdict.change is None:
        return verdict
    held_back = _held_back(verdict, spec, snapshot, now)
    return held_back or replace(verdict, drift=_drift(resource, group.name, held, wanted))


def _is_recorded(resource: TopicResource, group: str, held: BrokerTopic | None) -> bool:
    """Whether the status has the same record of the group as its master."""
    recorded = resource.status.group(group)
    if recorded is None or held is None:
        return recorded is None and held is None
    known = (recorded.write, recorded.read, recorded.perm)
    return (held.write, held.read, perm_name(held)) == known


def _was_shrinking(resource: TopicResource, spec: TopicSpec, group: GroupView) -> bool:
    """Whether a group that cannot be asked had surplus read queues."""
    recorded, status = resource.status.group(group.name), resource.status
    ready = status.condition("Ready")
    if recorded is None or ready is None or ready.reason != SHRINKING:
        return False
    is_same = status.observed_generation == resource.generation
    return is_same and recorded.read > spec.queues_of(group.name).read


def fits(held: BrokerTopic, spec: TopicSpec, queues: QueueCounts) -> bool:
    """Whether a broker's topic is as the spec says."""
    return (
        held.write == queues.write
        and held.read == queues.read
        and held.perm & READ_WRITE == spec.perm
        and held.order == spec.order
        and (not spec.attributes or set(spec.attributes) <= set(held.attributes))
    )


def _wanted(held: BrokerTopic | None, spec: TopicSpec, queues: QueueCounts) -> BrokerTopic:
    """Return the wanted topic. Properties that the spec does not have stay as they are."""
    if held is None:
        return BrokerTopic(queues.write, queues.read, spec.perm, spec.order, spec.attributes)
    attributes = tuple(sorted({**dict(held.attributes), **dict(spec.attributes)}.items()))
    return replace(
        held,
        write=queues.write,
        read=queues.read,
        perm=held.perm & ~READ_WRITE | spec.perm,
        order=spec.order,
        attributes=attributes,
    )


# ---------------------------------------------------------------------- changing


def _change(
    group: GroupView,
    spec: TopicSpec,
    held: BrokerTopic | None,
    wanted: BrokerTopic,
    snapshot: TopicsSnapshot,
    quiet_s: float,
) -> Verdict:
    address = group.address
    if held is None or wanted.read >= held.read:
        return Verdict(group.name, Standing.APPLIED, wanted, wanted, held, address)
    question = DrainQuestion(group.name, address, spec.topic_name, wanted.read)
    kept = replace(wanted, read=held.read)
    change = None if kept == held else kept
    if held.write > wanted.read:
        why = f"{group.name} stops writes first"
        cut = Verdict(group.name, Standing.SHRINKING, kept, change, held, address, why)
        return replace(cut, starts_anew=True, look_again_s=QUIET_S)
    shrinking = Verdict(group.name, Standing.SHRINKING, kept, change, held, address)
    if quiet_s < QUIET_S:
        return replace(
            shrinking,
            why=f"{group.name} waits until producers have fetched the new route",
            starts_anew=quiet_s == 0,
            look_again_s=QUIET_S - quiet_s,
        )
    answer = snapshot.drained.get(question.place)
    if answer is None:
        return replace(shrinking, question=question, look_again_s=ASK_AGAIN_S)
    if not answer.is_drained:
        why = f"{group.name} waits for {waiting_words(answer)}"
        return replace(shrinking, why=why, look_again_s=ASK_AGAIN_S)
    return Verdict(group.name, Standing.APPLIED, wanted, wanted, held, address)


def _held_back(
    verdict: Verdict, spec: TopicSpec, snapshot: TopicsSnapshot, now: float
) -> Verdict | None:
    """Return why a change is not made now; None if it is."""
    if snapshot.cluster.is_paused:
        return Verdict(verdict.group, Standing.PAUSED)
    refusal = snapshot.refusals.get((verdict.group, spec.topic_name))
    if refusal is None or refusal.config != verdict.change or refusal.retry_at <= now:
        return None
    wait = refusal.retry_at - now
    return Verdict(verdict.group, Standing.REFUSED, why=refusal.why, look_again_s=wait)


def _drift(
    resource: TopicResource, group: str, held: BrokerTopic | None, wanted: BrokerTopic
) -> str:
    """Return what was changed by hand since a status of the same generation was written."""
    status = resource.status
    recorded = status.group(group)
    if recorded is None or status.observed_generation != resource.generation:
        return ""
    if held is None:
        return f"{group}: the topic was missing"
    ready = status.condition("Ready")
    was_whole = ready is not None and ready.reason in {APPLIED, SHRINKING}
    has_other_values = held.order != wanted.order or held.attributes != wanted.attributes
    if _is_recorded(resource, group, held) and not (was_whole and has_other_values):
        return ""
    return f"{group}: {difference(held, wanted)}"


# ---------------------------------------------------------------------- texts


def difference(held: BrokerTopic, wanted: BrokerTopic) -> str:
    """Describe how a broker's topic differs from the wanted one."""
    pairs = [
        ("writeQueues", held.write, wanted.write),
        ("readQueues", held.read, wanted.read),
        ("perm", perm_name(held), perm_name(wanted)),
        ("order", str(held.order).lower(), str(wanted.order).lower()),
    ]
    has = dict(held.attributes)
    pairs += [(key, has.get(key, "not set"), value) for key, value in wanted.attributes]
    texts = (f"{name} {was} instead of {now}" for name, was, now in pairs if was != now)
    return ", ".join(texts)


def perm_name(topic: BrokerTopic) -> str:
    """Return RW, R or W, as in a spec."""
    return PERM_NAMES.get(topic.perm & READ_WRITE, "none")


def waiting_words(answer: DrainAnswer) -> str:
    """Describe which consumer groups have yet to read which queues."""
    texts = [
        f"consumer group {name} (queues {_listed(queues)})"
        for name, queues in answer.behind[:NAMED_MAX]
    ]
    more = len(answer.behind) - len(texts)
    if more > 0:
        texts.append(f"{more} more consumer groups")
    if answer.unread:
        texts.append(f"messages that no consumer group reads (queues {_listed(answer.unread)})")
    return "; ".join(texts)


def _listed(queues: tuple[int, ...]) -> str:
    named = ", ".join(map(str, queues[:NAMED_MAX]))
    more = len(queues) - NAMED_MAX
    return f"{named} and {more} more" if more > 0 else named
