"""Writes the status of a Topic: its state, the reason, and what to do.

Texts contain no times and no moving numbers, so that a status is written only if the state changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, final

from gantrymq.operator.resources.reasons.condition_list import shortened
from gantrymq.operator.resources.topic.topic_status import TopicPhase
from gantrymq.operator.topics.reading import group_status
from gantrymq.operator.topics.values import (
    Condition,
    GroupStatus,
    TopicResource,
    TopicStatus,
)
from gantrymq.operator.topics.verdicts import APPLIED, SHRINKING, Standing, Verdict, perm_name

# Any: JSON for the API server.
Json: TypeAlias = dict[str, Any]

READY: Final = "Ready"
IN_CONFLICT: Final = "InConflict"
DRAINED: Final = "Drained"

NAME_TAKEN: Final = "NameTaken"
"""The reason of InConflict when the winner has the topic: its successor inherits it."""
NAME_CLAIMED: Final = "NameClaimed"
"""The reason of InConflict when the winner has no topic yet."""


@final
@dataclass(frozen=True, slots=True)
class Saying:
    """The reason and message of the Ready condition, and the phase."""

    phase: TopicPhase
    is_ready: bool
    reason: str
    message: str


def text_of(now: float) -> str:
    """Return a time in Kubernetes' format."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_of(
    resource: TopicResource,
    saying: Saying,
    now: str,
    *,
    extra: Sequence[Condition] = (),
    groups: tuple[GroupStatus, ...] | None = None,
    drift: tuple[str, ...] = (),
    created: bool | None = None,
) -> TopicStatus:
    """Return the whole status. Parts that are not given stay as recorded. Ready keeps its time if
    it does not change; `extra` conditions have their own."""
    before = resource.status
    message = shortened(saying.message)
    ready = Condition(READY, saying.is_ready, saying.reason, message, now)
    spec = resource.spec
    return TopicStatus(
        observed_generation=resource.generation,
        phase=saying.phase.value,
        topic_name=before.topic_name if spec is None else spec.topic_name,
        conditions=(_kept_time(before, ready), *extra),
        groups=before.groups if groups is None else groups,
        drift=drift,
        created=before.created if created is None else created,
    )


def _kept_time(before: TopicStatus, condition: Condition) -> Condition:
    known = before.condition(condition.type)
    if known is None or known.is_true != condition.is_true or not known.since:
        return condition
    return replace(condition, since=known.since)


# ---------------------------------------------------------------------- without groups


def invalid(resource: TopicResource) -> Saying:
    return Saying(TopicPhase.INVALID, False, "InvalidSpec", resource.problem)


def cluster_not_found(resource: TopicResource) -> Saying:
    text = (
        f"there is no BrokerCluster {resource.cluster} in namespace {resource.namespace}: create"
        " it, or delete this Topic and make one that names another cluster"
    )
    return Saying(TopicPhase.WAITING, False, "ClusterNotFound", text)


def cluster_terminating(resource: TopicResource) -> Saying:
    text = f"BrokerCluster {resource.cluster} is being deleted: delete this Topic as well"
    return Saying(TopicPhase.WAITING, False, "ClusterTerminating", text)


def name_taken(resource: TopicResource, winner: TopicResource) -> Saying:
    topic = winner.name if winner.spec is None else winner.spec.topic_name
    text = (
        f"Topic {winner.name} is older and has the topic {topic} of cluster {resource.cluster}:"
        " delete one of the two; the other then has the topic"
    )
    return Saying(TopicPhase.CONFLICT, False, NAME_TAKEN, text)


def conflict(resource: TopicResource, winner: TopicResource, text: str, now: str) -> Condition:
    """Return InConflict, with a reason that says whether there is a topic to inherit."""
    reason = NAME_TAKEN if winner.status.created else NAME_CLAIMED
    return _kept_time(resource.status, Condition(IN_CONFLICT, True, reason, shortened(text), now))


# ---------------------------------------------------------------------- by groups


def saying_of(resource: TopicResource, verdicts: Sequence[Verdict]) -> Saying:
    """Sum up the groups' verdicts. Those that need a user's decision come first."""
    for standing, words in (
        (Standing.FOREIGN, _foreign),
        (Standing.REFUSED, _refused),
        (Standing.PAUSED, _paused),
    ):
        found = [each for each in verdicts if each.standing is standing]
        if found:
            return words(found)
    away = [each for each in verdicts if is_waiting(resource, each)]
    if away or not verdicts:
        return _away(resource, verdicts, away)
    there = f"the topic is on {_names(verdicts)}{_unknown_groups(resource, verdicts)}"
    if any(each.standing is Standing.SHRINKING for each in verdicts):
        text = f"{there}; fewer read queues follow, the condition Drained says when"
        return Saying(TopicPhase.SHRINKING, True, SHRINKING, text)
    return Saying(TopicPhase.READY, True, APPLIED, there)


def _unknown_groups(resource: TopicResource, verdicts: Sequence[Verdict]) -> str:
    """Name the groups of the spec that the cluster does not have."""
    if resource.spec is None or not resource.spec.groups:
        return ""
    known = {each.group for each in verdicts}
    unknown = [name for name, _ in resource.spec.groups if name not in known]
    if not unknown:
        return ""
    return f"; spec.groups names {', '.join(unknown)}, which the cluster does not have"


def is_waiting(resource: TopicResource, verdict: Verdict) -> bool:
    """Whether a group that cannot be asked may differ from the spec. A group that was recorded as
    wanted counts as unchanged, so that a failover changes no status."""
    if verdict.standing is not Standing.AWAY:
        return False
    status = resource.status
    ready = status.condition(READY)
    was_whole = ready is not None and ready.reason in {APPLIED, SHRINKING}
    is_same = status.observed_generation == resource.generation
    return not (was_whole and is_same and status.group(verdict.group) is not None)


def _names(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(each.group for each in verdicts)


def _foreign(found: Sequence[Verdict]) -> Saying:
    where = "; ".join(f"{each.group} has {each.why}" for each in found)
    text = (
        f"a topic of this name exists with another configuration: {where}. It was not changed."
        " Set spec.adopt to true to change it, or describe it in the spec as it is"
    )
    return Saying(TopicPhase.CONFLICT, False, "Differs", text)


def _refused(found: Sequence[Verdict]) -> Saying:
    where = "; ".join(f"{each.group}: {each.why}" for each in found)
    text = f"{where}. It is tried again; change the spec where it is at fault"
    return Saying(TopicPhase.REFUSED, False, "BrokerRefused", text)


def _paused(found: Sequence[Verdict]) -> Saying:
    text = (
        f"the topic on {_names(found)} is not as the spec says, and spec.paused of the"
        " BrokerCluster is true: set it to false"
    )
    return Saying(TopicPhase.PAUSED, False, "ClusterPaused", text)


def _away(resource: TopicResource, verdicts: Sequence[Verdict], away: Sequence[Verdict]) -> Saying:
    if not verdicts:
        text = f"BrokerCluster {resource.cluster} has no broker group yet: wait until it is ready"
        return Saying(TopicPhase.WAITING, False, "ClusterNotReady", text)
    waits = "; ".join(f"{each.group} {each.why}" for each in away)
    there = [each for each in verdicts if each not in away]
    rest = f"; the topic is on {_names(there)}" if there else ""
    text = f"waits for a master: {waits}{rest}"
    return Saying(TopicPhase.WAITING, False, "MasterAway", text)


def groups_of(resource: TopicResource, verdicts: Sequence[Verdict]) -> tuple[GroupStatus, ...]:
    """Return what each group has. A group that cannot be asked or changed keeps its record, so that
    the difference is found again."""
    found = []
    for verdict in verdicts:
        held = verdict.held
        if held is not None:
            name = perm_name(held)
            found.append(group_status(verdict.group, held.write, held.read, name))
            continue
        recorded = resource.status.group(verdict.group)
        if verdict.standing is not Standing.FOREIGN and recorded is not None:
            found.append(recorded)
    return tuple(found)


def draining(resource: TopicResource, verdicts: Sequence[Verdict], now: str) -> list[Condition]:
    """Return Drained, which is False while read queues wait. Its time is that of the last reduction
    of write queues."""
    shrinking = [each for each in verdicts if each.standing is Standing.SHRINKING]
    if not shrinking:
        return []
    before = resource.status.condition(DRAINED)
    is_same = before is not None and resource.status.observed_generation == resource.generation
    texts = [each.why for each in shrinking if each.why]
    if not texts and is_same and before is not None:
        return [before]  # without an answer in this run the text does not change
    message = "; ".join(texts) or "consumer groups are asked whether they have read the queues"
    condition = Condition(DRAINED, False, SHRINKING, shortened(message), now)
    if is_same and before is not None and not any(each.starts_anew for each in shrinking):
        return [replace(condition, since=before.since)]
    return [condition]


def quiet_seconds(resource: TopicResource, now: float) -> float:
    """Return how long the write queues have been as this generation of the spec wants them."""
    before = resource.status.condition(DRAINED)
    if before is None or resource.status.observed_generation != resource.generation:
        return 0.0
    return max(0.0, now - datetime.fromisoformat(before.since).timestamp()) if before.since else 0.0


def deleting(resource: TopicResource, why: str) -> Saying:
    return Saying(TopicPhase.DELETING, False, "Deleting", why)


# ---------------------------------------------------------------------- JSON


def to_json(status: TopicStatus) -> Json:
    """Return the JSON of the status. `message` repeats the Ready condition, and `queues` sums up
    the groups: both are for columns."""
    ready = status.condition(READY)
    return {
        "observedGeneration": status.observed_generation,
        "phase": status.phase,
        "topicName": status.topic_name,
        "message": "" if ready is None else ready.message,
        "queues": _queues(status.groups),
        "created": status.created,
        "groups": [
            {
                "name": each.name,
                "writeQueues": each.write,
                "readQueues": each.read,
                "perm": each.perm,
            }
            for each in status.groups
        ],
        "drift": list(status.drift),
        "conditions": [
            {
                "type": each.type,
                "status": "True" if each.is_true else "False",
                "reason": each.reason,
                "message": each.message,
                "lastTransitionTime": each.since,
                "observedGeneration": status.observed_generation,
            }
            for each in status.conditions
        ],
    }


def _queues(groups: Sequence[GroupStatus]) -> str:
    """Return write and read queues of each group, such as `4/4`; `mixed` if groups differ."""
    counts = {(each.write, each.read) for each in groups}
    if len(counts) > 1:
        return "mixed"
    return "".join(f"{write}/{read}" for write, read in counts)
