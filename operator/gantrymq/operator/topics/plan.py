"""Plans the topics of one cluster: the changes at brokers, name servers and resources, and why.

Invariants: the oldest of several Topics with one name has the topic; a topic that no resource
created is not changed before it is adopted, or described as it is; read queues are not reduced
before consumers have read them; after a plan was carried out, the next plan is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final

from gantrymq.operator.resources.topic.topic import DeletionPolicy
from gantrymq.operator.topics import statuses
from gantrymq.operator.topics.claims import Claims
from gantrymq.operator.topics.names import is_reported
from gantrymq.operator.topics.removal import Removing, remove
from gantrymq.operator.topics.statuses import Saying, status_of
from gantrymq.operator.topics.steps import Change, OrderEntry, TopicsPlan, TopicStep
from gantrymq.operator.topics.values import (
    FINALIZER,
    PERM_NAMES,
    ClusterStage,
    DrainQuestion,
    TopicResource,
    TopicSpec,
    TopicsSnapshot,
)
from gantrymq.operator.topics.verdicts import APPLIED, Standing, Verdict, fits, judge


def plan_topics(snapshot: TopicsSnapshot, now: float) -> TopicsPlan:
    """Return what to do now; `now` is in seconds since 1970."""
    planner = _Planner(snapshot, now)
    for resource in snapshot.topics:
        if resource.deleted is None:
            planner.live(resource)
        else:
            planner.removed(remove(resource, planner.claims, snapshot, now))
    return TopicsPlan(
        steps=tuple(planner.steps),
        questions=tuple(planner.questions),
        unmanaged=unmanaged(snapshot),
        requeue_seconds=planner.requeue_seconds,
    )


def needs_order(snapshot: TopicsSnapshot) -> bool:
    """Whether the plan needs the order entries of name servers."""
    tables = [each.table for each in snapshot.cluster.groups or () if each.table is not None]
    for resource in snapshot.topics:
        if resource.spec is None:
            continue
        if resource.spec.order:
            return True
        held = (table.topics.get(resource.spec.topic_name) for table in tables)
        if any(each is not None and each.order for each in held):
            return True
    return False


def is_settled(resource: TopicResource, spec: TopicSpec, snapshot: TopicsSnapshot) -> bool:
    """Whether both the resource and the brokers say that the topic is as wanted. This quick check
    skips the many topics without any change. A group that cannot be asked counts as recorded."""
    status, groups = resource.status, snapshot.cluster.groups or ()
    if (
        status.observed_generation != resource.generation
        or len(status.groups) != len(groups)
        or len(status.conditions) != 1
        or status.conditions[0].reason != APPLIED
        or (spec.deletion_policy is DeletionPolicy.RETAIN) is (FINALIZER in resource.finalizers)
        or (snapshot.order and (spec.order or _has_order_entry(spec.topic_name, snapshot)))
    ):
        return False
    for group, recorded in zip(groups, status.groups, strict=True):
        if group.name != recorded.name:
            return False
        queues = spec.queues_of(group.name)
        if (recorded.write, recorded.read, recorded.perm) != (
            queues.write,
            queues.read,
            PERM_NAMES[spec.perm],
        ):
            return False
        if group.table is not None:
            held = group.table.topics.get(spec.topic_name)
            if held is None or not fits(held, spec, queues):
                return False
    return status.created


def _has_order_entry(topic: str, snapshot: TopicsSnapshot) -> bool:
    return any(table is not None and topic in table for table in snapshot.order.values())


def unmanaged(snapshot: TopicsSnapshot) -> tuple[str, ...] | None:
    """Return the topics on brokers that no resource names, without those of the system."""
    tables = [each.table for each in snapshot.cluster.groups or () if each.table is not None]
    if not tables:
        return None
    named = {each.spec.topic_name for each in snapshot.topics if each.spec is not None}
    system: set[str] = set()
    found: set[str] = set()
    for table in tables:
        found |= table.topics.keys() - named
        system |= table.system
    own = system | {each.name for each in snapshot.cluster.groups or ()}
    cluster = snapshot.cluster.name
    return tuple(sorted(each for each in found - own if is_reported(each, cluster)))


@final
class _Planner:
    """Collects the steps of one plan."""

    def __init__(self, snapshot: TopicsSnapshot, now: float) -> None:
        self._snapshot = snapshot
        self._now = now
        self._now_text = statuses.text_of(now)
        self.claims = Claims(snapshot.topics)
        self.steps: list[TopicStep] = []
        self.questions: list[DrainQuestion] = []
        self.requeue_seconds: float | None = None

    def removed(self, removing: Removing) -> None:
        """Add the decision about a resource that is being deleted."""
        if removing.step is not None:
            self.steps.append(removing.step)
        self.questions += removing.questions
        self._look_again(removing.look_again_s)

    def live(self, resource: TopicResource) -> None:
        """Plan a resource that is not being deleted."""
        spec = resource.spec
        cluster = self._snapshot.cluster
        if spec is None:
            self._say(resource, statuses.invalid(resource))
        elif cluster.stage is ClusterStage.MISSING:
            self._say(resource, statuses.cluster_not_found(resource))
        elif cluster.stage is ClusterStage.TERMINATING or cluster.namespace_is_terminating:
            self._say(resource, statuses.cluster_terminating(resource))
        elif (winner := self.claims.winner(spec.topic_name)) is not resource and winner is not None:
            self._lose(resource, winner)
        elif cluster.groups is not None:
            self._serve(resource, spec)

    def _look_again(self, seconds: float | None) -> None:
        if seconds is not None:
            known = self.requeue_seconds
            self.requeue_seconds = seconds if known is None else min(known, seconds)

    # ------------------------------------------------------------------ without a broker

    def _say(self, resource: TopicResource, saying: Saying) -> None:
        status = status_of(resource, saying, self._now_text, drift=resource.status.drift)
        self._add(TopicStep(resource, saying.message, self._finalizers(resource), status=status))

    def _lose(self, resource: TopicResource, winner: TopicResource) -> None:
        saying = statuses.name_taken(resource, winner)
        extra = statuses.conflict(resource, winner, saying.message, self._now_text)
        status = status_of(resource, saying, self._now_text, extra=(extra,))
        self._add(TopicStep(resource, saying.message, self._finalizers(resource), status=status))

    def _finalizers(
        self, resource: TopicResource, *, is_served: bool = False
    ) -> tuple[str, ...] | None:
        """Return the finalizers to set, or None if the resource has them. The operator's finalizer
        is set unless the policy is Retain, and only once the topic can be created."""
        spec, has = resource.spec, FINALIZER in resource.finalizers
        if spec is None:
            return None
        wants = spec.deletion_policy is not DeletionPolicy.RETAIN
        if has and not wants:
            return tuple(each for each in resource.finalizers if each != FINALIZER)
        if wants and not has and is_served:
            return (*resource.finalizers, FINALIZER)
        return None

    def _add(self, step: TopicStep) -> None:
        if step.status == step.resource.status:
            step = TopicStep(
                step.resource, step.reason, step.finalizers, step.changes, order=step.order
            )
        if not step.is_empty:
            self.steps.append(step)

    # ------------------------------------------------------------------ with brokers

    def _serve(self, resource: TopicResource, spec: TopicSpec) -> None:
        if is_settled(resource, spec, self._snapshot):
            return
        verdicts = self._verdicts(resource, spec)
        saying = statuses.saying_of(resource, verdicts)
        drift = tuple(each.drift for each in verdicts if each.drift)
        is_same = resource.status.observed_generation == resource.generation
        status = status_of(
            resource,
            saying,
            self._now_text,
            extra=statuses.draining(resource, verdicts, self._now_text),
            groups=statuses.groups_of(resource, verdicts),
            drift=drift or (resource.status.drift if is_same else ()),
            created=self._is_created(resource, verdicts),
        )
        changes = tuple(_changes(spec.topic_name, verdicts))
        self._add(
            TopicStep(
                resource,
                "; ".join(drift) or saying.message,
                self._finalizers(resource, is_served=saying.reason != "Differs"),
                changes,
                order=self._order(resource, spec, verdicts),
                status=status,
            )
        )
        for verdict in verdicts:
            self._look_again(verdict.look_again_s)
            if verdict.question is not None:
                self.questions.append(verdict.question)

    def _verdicts(self, resource: TopicResource, spec: TopicSpec) -> list[Verdict]:
        """Return the verdict on each group. If every group has a foreign topic of this name, no
        group gets this one."""
        status = resource.status
        has_all = spec.adopt
        if not status.groups:
            has_all = has_all or status.created or self.claims.inherits(resource)
        quiet_s = statuses.quiet_seconds(resource, self._now)
        verdicts = [
            judge(
                resource,
                spec,
                group,
                self._snapshot,
                self._now,
                is_ours=has_all or self._snapshot.owns(resource, group.name),
                quiet_s=quiet_s,
            )
            for group in self._snapshot.cluster.groups or ()
        ]
        is_foreign = any(each.standing is Standing.FOREIGN for each in verdicts)
        if is_foreign and not status.groups:
            return [each for each in verdicts if each.change is None]
        return verdicts

    def _is_created(self, resource: TopicResource, verdicts: Iterable[Verdict]) -> bool:
        if resource.status.created or self.claims.inherits(resource):
            return True
        return any(each.held is not None for each in verdicts)

    def _order(
        self, resource: TopicResource, spec: TopicSpec, verdicts: Sequence[Verdict]
    ) -> tuple[OrderEntry, ...]:
        """Return the entries to write at name servers, such as `broker-0:4;broker-1:4`."""
        if not self._snapshot.order:
            return ()
        if any(each.standing is Standing.FOREIGN for each in verdicts):
            return ()
        there = [each.name for each in statuses.groups_of(resource, verdicts)]
        queues = (f"{name}:{spec.queues_of(name).write}" for name in there)
        value = ";".join(queues) if spec.order and there else None
        return tuple(
            OrderEntry(server, spec.topic_name, value)
            for server, table in self._snapshot.order.items()
            if table is not None and table.get(spec.topic_name) != value
        )


def _changes(topic: str, verdicts: Iterable[Verdict]) -> Iterable[Change]:
    for verdict in verdicts:
        if verdict.change is not None:
            yield Change(verdict.group, verdict.address, topic, verdict.change, verdict.before)
