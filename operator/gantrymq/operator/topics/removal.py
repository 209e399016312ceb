"""Decides the next step for a Topic that is being deleted, so that its finalizer never hangs.

The finalizer is removed without a request to brokers if there is nothing to delete or no broker to
ask: policy Retain, a topic that this resource never created, another resource that claims the
topic, an invalid spec, a cluster that is missing or terminating, a namespace that is terminating.
The deletion waits for a group without a master, at most for `GONE_S`. DeleteWhenDrained waits for
consumers without a limit, and says for which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.resources.topic.topic import DeletionPolicy
from gantrymq.operator.topics.claims import Claims
from gantrymq.operator.topics.statuses import DRAINED, Saying, deleting, status_of, text_of
from gantrymq.operator.topics.steps import OrderEntry, Removal, TopicStep
from gantrymq.operator.topics.values import (
    FINALIZER,
    ClusterStage,
    Condition,
    DrainAnswer,
    DrainQuestion,
    GroupView,
    TopicResource,
    TopicSpec,
    TopicsSnapshot,
)
from gantrymq.operator.topics.verdicts import ASK_AGAIN_S, QUIET_S, waiting_words

GONE_S: Final = 600.0
"""A group without a master for this time after the deletion counts as gone. If it comes back, the
operator reports the topic on its volume as unmanaged, so nothing is lost."""

_RETRY_S: Final = 15.0


@final
@dataclass(frozen=True, slots=True)
class Removing:
    """The next step for a Topic that is being deleted."""

    step: TopicStep | None = None
    questions: tuple[DrainQuestion, ...] = ()
    look_again_s: float | None = None


_NOTHING: Final = Removing()


def remove(
    resource: TopicResource, claims: Claims, snapshot: TopicsSnapshot, now: float
) -> Removing:
    """Return the next step of the removal."""
    if FINALIZER not in resource.finalizers:
        return _NOTHING
    spec = resource.spec
    reason = _release_reason(resource, claims, snapshot)
    if reason or spec is None:
        return Removing(_release(resource, reason))
    groups = snapshot.cluster.groups
    if groups is None:
        return _NOTHING
    if snapshot.cluster.is_paused:
        why = "spec.paused of the BrokerCluster is true: set it to false, or deletionPolicy Retain"
        return _wait(resource, why, now, None)
    owned = [each for each in groups if snapshot.owns(resource, each.name)]
    left = [
        each for each in owned if each.table is not None and spec.topic_name in each.table.topics
    ]
    if left:
        return _delete(resource, spec, left, snapshot, now)
    away = [each for each in owned if each.table is None]
    if away:
        return _wait_for(resource, away, now)
    entries = _order_entries(spec.topic_name, snapshot)
    if entries:
        return Removing(TopicStep(resource, "its order entries are left", order=entries))
    return Removing(_release(resource, "the topic is deleted on all groups"))


def _release_reason(resource: TopicResource, claims: Claims, snapshot: TopicsSnapshot) -> str:
    """Return why the finalizer is removed without a request to brokers; empty if it is not."""
    cluster, spec = snapshot.cluster, resource.spec
    if spec is None:
        return f"the spec cannot be read, so nothing is deleted: {resource.problem}"
    successor = claims.winner(spec.topic_name)
    is_ours = resource.status.created or resource.uid in snapshot.made
    reasons = (
        (spec.deletion_policy is DeletionPolicy.RETAIN, "deletionPolicy is Retain"),
        (cluster.namespace_is_terminating, "the namespace is being deleted"),
        (cluster.stage is ClusterStage.MISSING, "the BrokerCluster does not exist"),
        (cluster.stage is ClusterStage.TERMINATING, "the BrokerCluster is being deleted"),
        (not is_ours, "this resource never made the topic"),
        (successor is not None, "another Topic has the same topicName"),
    )
    return next((text for is_so, text in reasons if is_so), "")


def _release(resource: TopicResource, reason: str) -> TopicStep:
    rest = tuple(each for each in resource.finalizers if each != FINALIZER)
    return TopicStep(resource, reason, finalizers=rest)


# ---------------------------------------------------------------------- deleting


def _delete(
    resource: TopicResource,
    spec: TopicSpec,
    left: list[GroupView],
    snapshot: TopicsSnapshot,
    now: float,
) -> Removing:
    if spec.deletion_policy is DeletionPolicy.DELETE_WHEN_DRAINED:
        wait = _drain_wait(resource, spec, left, snapshot, now)
        if wait is not None:
            return wait
    refusals = [
        (each.name, refusal)
        for each in left
        if (refusal := snapshot.refusals.get((each.name, spec.topic_name))) is not None
        and refusal.config is None
        and refusal.retry_at > now
    ]
    if refusals:
        why = "; ".join(f"{name}: {refusal.why}" for name, refusal in refusals)
        return _wait(resource, f"could not delete the topic: {why}", now, _RETRY_S)
    removals = tuple(Removal(each.name, each.address, spec.topic_name) for each in left)
    entries = _order_entries(spec.topic_name, snapshot)
    reason = f"deletionPolicy is {spec.deletion_policy}"
    return Removing(TopicStep(resource, reason, removals=removals, order=entries))


def _drain_wait(
    resource: TopicResource,
    spec: TopicSpec,
    left: list[GroupView],
    snapshot: TopicsSnapshot,
    now: float,
) -> Removing | None:
    """Return the wait; None if all consumers have read all messages and producers have stopped."""
    questions, whys = [], []
    for group in left:
        question = DrainQuestion(group.name, group.address, spec.topic_name, 0)
        answer = snapshot.drained.get(question.place)
        if answer is None:
            questions.append(question)
            continue
        why = _undrained(answer, now)
        if why:
            whys.append(f"{group.name} waits for {why}")
    if whys:
        wait = _wait(resource, "; ".join(whys), now, ASK_AGAIN_S, drained=False)
        return Removing(wait.step, tuple(questions), ASK_AGAIN_S)
    if questions:
        return Removing(None, tuple(questions), ASK_AGAIN_S)
    return None


def _undrained(answer: DrainAnswer, now: float) -> str:
    if not answer.is_drained:
        return f"{waiting_words(answer)}; to delete them unread, set deletionPolicy to Delete"
    if now - answer.last_stored < QUIET_S:
        return "producers: they still send to the topic"
    return ""


def _order_entries(topic: str, snapshot: TopicsSnapshot) -> tuple[OrderEntry, ...]:
    return tuple(
        OrderEntry(server, topic, None)
        for server, table in snapshot.order.items()
        if table is not None and topic in table
    )


# ---------------------------------------------------------------------- waiting


def _wait_for(resource: TopicResource, away: list[GroupView], now: float) -> Removing:
    waited = now - (resource.deleted or now)
    names = ", ".join(each.name for each in away)
    if waited >= GONE_S:
        reason = f"{names} had no master for ten minutes, and counts as gone"
        return Removing(_release(resource, reason))
    why = (
        f"waits for a master of {names} to delete the topic there, ten minutes at most; to keep the"
        " topic, set deletionPolicy to Retain"
    )
    return _wait(resource, why, now, min(_RETRY_S, GONE_S - waited))


def _wait(
    resource: TopicResource,
    why: str,
    now: float,
    look_again_s: float | None,
    *,
    drained: bool | None = None,
) -> Removing:
    saying: Saying = deleting(resource, why)
    extra: tuple[Condition, ...] = ()
    if drained is not None:
        known = resource.status.condition(DRAINED)
        since = text_of(now) if known is None else known.since
        extra = (Condition(DRAINED, drained, "Deleting", why, since),)
    status = status_of(resource, saying, text_of(now), extra=extra)
    if status == resource.status:
        return Removing(None, (), look_again_s)
    return Removing(TopicStep(resource, why, status=status), (), look_again_s)
