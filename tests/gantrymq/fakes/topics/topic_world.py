"""Makes values for tests of topic plans, and a world that carries plans out and checks them.

The world is the executor, the brokers and the API at once. It refuses what a plan must never ask
for: changing topics that no resource created, fewer read queues before they are drained, calls to a
group without a master.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, final

from gantrymq.operator.topics.plan import needs_order, plan_topics
from gantrymq.operator.topics.reading import topic_from_json
from gantrymq.operator.topics.steps import Change, Removal, TopicsPlan, TopicStep
from gantrymq.operator.topics.values import (
    FINALIZER,
    BrokerTopic,
    ClusterStage,
    ClusterView,
    DrainAnswer,
    GroupView,
    Place,
    TopicResource,
    TopicsSnapshot,
    TopicTable,
)
from gantrymq.operator.topics.verdicts import QUIET_S, fits

START = 1_800_000_000.0


class CrashError(Exception):
    """The operator is killed."""


def topic(
    name: str, *, created: int = 0, uid: str = "", cluster: str = "orders", **spec: Any
) -> TopicResource:
    """A Topic as it was just created; `spec` has the names of the resource."""
    return topic_from_json(
        {
            "metadata": {
                "namespace": "shop",
                "name": name,
                "uid": uid or f"uid-{name}",
                "generation": 1,
                "resourceVersion": "1",
                "creationTimestamp": f"2026-01-01T00:00:{created:02d}Z",
            },
            "spec": {"cluster": cluster, **spec},
        }
    )


@final
class TopicWorld:
    """Groups with tables, resources, and a clock that only the test moves."""

    def __init__(self, groups: int = 2) -> None:
        self.now = START
        self.stage = ClusterStage.PRESENT
        self.is_paused = False
        self.namespace_is_terminating = False
        self.tables: dict[str, dict[str, BrokerTopic]] = {f"broker-{i}": {} for i in range(groups)}
        self.away: set[str] = set()
        self.undrained: set[Place] = set()
        self.order: dict[str, dict[str, str]] = {"names:9876": {}}
        self.resources: dict[str, TopicResource] = {}
        self.owned: set[Place] = set()
        self.cut_at: dict[Place, float] = {}
        self.broker_calls = 0
        self.status_writes = 0
        self._left = -1

    # ------------------------------------------------------------------ users

    def add(self, resource: TopicResource) -> None:
        self.resources[resource.name] = resource

    def edit(self, name: str, **spec: Any) -> None:
        """Replace the spec; the cluster and the topic's name stay."""
        before = self.resources[name]
        assert before.spec is not None
        fields = {"topicName": before.spec.topic_name, **spec}
        after = topic(name, uid=before.uid, **fields)
        self.resources[name] = replace(
            before, spec=after.spec, problem=after.problem, generation=before.generation + 1
        )

    def delete(self, name: str) -> None:
        resource = self.resources[name]
        if FINALIZER in resource.finalizers:
            self.resources[name] = replace(resource, deleted=self.now)
        else:
            self._gone(name)

    def by_hand(self, group: str, name: str, config: BrokerTopic | None) -> None:
        """Change a topic on a broker as an administrator does."""
        if config is None:
            self.tables[group].pop(name, None)
        else:
            self._put(group, name, config)

    # ------------------------------------------------------------------ the operator

    def snapshot(self) -> TopicsSnapshot:
        groups = tuple(
            GroupView(name, why="has no master")
            if name in self.away
            else GroupView(name, f"{name}:10911", TopicTable(0, dict(table)))
            for name, table in self.tables.items()
        )
        view = ClusterView(
            "shop", "orders", self.stage, groups, self.namespace_is_terminating, self.is_paused
        )
        snapshot = TopicsSnapshot(view, tuple(self.resources.values()))
        if needs_order(snapshot):
            return replace(snapshot, order={name: dict(t) for name, t in self.order.items()})
        return snapshot

    def plan(self) -> TopicsPlan:
        """The plan, with the answers to the questions of a first plan."""
        snapshot = self.snapshot()
        plan = plan_topics(snapshot, self.now)
        if not plan.questions:
            return plan
        answers = {
            each.place: DrainAnswer(
                (("billing", (each.first_queue,)),) if each.place in self.undrained else ()
            )
            for each in plan.questions
        }
        return plan_topics(replace(snapshot, drained=answers), self.now)

    def run(self) -> TopicsPlan:
        """Plan, carry out, and check."""
        self._take_over()
        plan = self.plan()
        for step in plan.steps:
            self._carry_out(step)
        return plan

    def run_and_crash(self, actions: int) -> None:
        """Run, and kill the operator after so many broker calls and API writes."""
        self._left = actions
        with suppress(CrashError):
            self.run()
        self._left = -1

    def settle(self, runs: int = 12) -> TopicsPlan:
        """Run until nothing is left to do, moving the clock as far as plans ask."""
        plan = self.run()
        for _ in range(runs):
            if not plan.steps and plan.requeue_seconds is None:
                return plan
            self.now += plan.requeue_seconds or 1.0
            plan = self.run()
        raise AssertionError(f"no end after {runs} runs: {plan}")

    # ------------------------------------------------------------------ checks

    def _take_over(self) -> None:
        """A topic that is as its oldest resource describes it belongs to the resource without an
        event."""
        if self.stage is not ClusterStage.PRESENT or self.namespace_is_terminating:
            return
        for resource in self.resources.values():
            spec = resource.spec
            if spec is None or resource.deleted is not None or self._winner(resource) != resource:
                continue
            for group, table in self.tables.items():
                held = table.get(spec.topic_name)
                if held is None or group in self.away:
                    continue
                if spec.adopt or fits(held, spec, spec.queues_of(group)):
                    self.owned.add((group, spec.topic_name))

    def _winner(self, resource: TopicResource) -> TopicResource:
        assert resource.spec is not None
        name = resource.spec.topic_name
        rivals = (
            each
            for each in self.resources.values()
            if each.spec is not None and each.spec.topic_name == name and each.deleted is None
        )
        return min(rivals, key=lambda each: each.age_key)

    def _carry_out(self, step: TopicStep) -> None:
        name = step.resource.name
        if step.adds_finalizer:
            self._set_finalizers(step)
        for change in step.changes:
            assert self._winner(self.resources[name]).name == name, "the oldest wins"
            self._act()
            self._change(change)
        for removal in step.removals:
            self._act()
            self._remove(step, removal)
        for entry in step.order:
            self._act()
            if entry.value is None:
                del self.order[entry.name_server][entry.topic]
            else:
                self.order[entry.name_server][entry.topic] = entry.value
        if step.status is not None:
            self._act()
            assert step.status != step.resource.status, "a write without a change"
            self.status_writes += 1
            self.resources[name] = replace(self.resources[name], status=step.status)
        if step.drops_finalizer:
            self._set_finalizers(step)

    def _set_finalizers(self, step: TopicStep) -> None:
        self._act()
        assert step.finalizers is not None
        resource = replace(self.resources[step.resource.name], finalizers=step.finalizers)
        self.resources[resource.name] = resource
        if resource.deleted is not None and not resource.finalizers:
            self._gone(resource.name)

    def _act(self) -> None:
        if self._left == 0:
            raise CrashError
        self._left -= 1

    def _gone(self, name: str) -> None:
        """A topic that no resource names belongs to none."""
        gone = self.resources.pop(name).spec
        names = {each.spec.topic_name for each in self.resources.values() if each.spec is not None}
        if gone is not None and gone.topic_name not in names:
            self.owned = {place for place in self.owned if place[1] != gone.topic_name}

    def _change(self, change: Change) -> None:
        self._check_call(change.group)
        place, before = (change.group, change.topic), self.tables[change.group].get(change.topic)
        assert before == change.before
        assert before != change.config, "a call without a change"
        assert before is None or place in self.owned, "touched what no resource made"
        assert change.config.read >= change.config.write
        if before is not None and change.config.read < before.read:
            assert before.write <= change.config.read, "producers still write to the queues"
            assert place not in self.undrained, "consumers have not read the queues"
            quiet_s = self.now - self.cut_at.get(place, self.now - QUIET_S)
            assert quiet_s >= QUIET_S, "producers may not know the new route yet"
        self.owned.add(place)
        self._put(change.group, change.topic, change.config)

    def _put(self, group: str, name: str, config: BrokerTopic) -> None:
        before = self.tables[group].get(name)
        if before is not None and config.write < before.write:
            self.cut_at[(group, name)] = self.now
        self.tables[group][name] = config

    def _remove(self, step: TopicStep, removal: Removal) -> None:
        self._check_call(removal.group)
        spec, place = step.resource.spec, (removal.group, removal.topic)
        assert spec is not None
        assert step.resource.deleted is not None
        assert spec.deletion_policy.value in {"Delete", "DeleteWhenDrained"}
        assert place in self.owned, "deletes what no resource made"
        if spec.deletion_policy.value == "DeleteWhenDrained":
            assert place not in self.undrained
        del self.tables[removal.group][removal.topic]

    def _check_call(self, group: str) -> None:
        self.broker_calls += 1
        assert group not in self.away
        assert not self.is_paused
        assert self.stage is ClusterStage.PRESENT
        assert not self.namespace_is_terminating
