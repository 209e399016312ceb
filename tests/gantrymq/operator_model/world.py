"""Runs one cluster on the model: snapshots for the plan, steps of time, faults, invariants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Final, final

from gantrymq.operator.kube.watch import reducers
from gantrymq.operator.plan.actions import Action, AnnotateLease, Apply, Delete, Json, Plan
from gantrymq.operator.plan.planner import plan
from gantrymq.operator.plan.snapshot import ClusterSnapshot, NewSecurity, OperatorDefaults
from gantrymq.operator.plan.switchover import RETRY_SECONDS
from gantrymq.operator.plan.view.lease import read_lease
from gantrymq.operator_model import controllers, members
from gantrymq.operator_model.api import Api, RefusedError, time_text
from gantrymq.operator_model.controllers import is_on_ready_node, runs
from gantrymq.operator_model.kubelets import SecretFiles

NAME: Final = "orders"
KINDS: Final = (
    "StatefulSet", "Service", "ConfigMap", "Secret", "PodDisruptionBudget", "ServiceAccount",
    "Role", "RoleBinding",
)  # fmt: skip
_REDUCERS: Final = {"Secret": reducers.secret}
DEFAULTS: Final = OperatorDefaults("example.org/broker:1", "example.org/namesrv:1")
START: Final = 1_800_000_000.0
STEP_SECONDS: Final = 15.0
ROUNDS_MAX: Final = 120


@final
class World:
    """The test's hand on everything."""

    def __init__(self, spec: Json, nodes: int = 3, zones: int = 1) -> None:
        self.api = Api(START)
        self.defaults = DEFAULTS
        self.files = SecretFiles(self.api, f"{NAME}-replication")
        self.is_divided = False
        """Whether the Secret was deleted, so that members may know different ones."""
        self.refusal = ""
        metadata = {"name": NAME, "namespace": "mq", "generation": 1}
        resource = {"apiVersion": "gantrymq.dev/v1", "kind": "BrokerCluster", "metadata": metadata}
        self.api.create({**resource, "spec": deepcopy(spec)})
        for number in range(nodes):
            self.add_node(f"node-{number}", f"zone-{number % zones}")

    # ------------------------------------------------------------------ faults and edits

    def add_node(self, name: str, zone: str = "zone-0") -> None:
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        metadata = {"name": name, "labels": labels}
        self.api.create({"kind": "Node", "metadata": metadata, "spec": {}, "status": ready})

    def set_node(self, name: str, *, is_ready: bool) -> None:
        node = self.api.get("Node", name)
        assert node is not None
        status = "True" if is_ready else "Unknown"
        node["status"]["conditions"] = [{"type": "Ready", "status": status}]

    @property
    def resource(self) -> Json | None:
        return self.api.get("BrokerCluster", NAME)

    def change(self, **fields: Any) -> None:  # Any: fields of a spec
        resource = self.resource
        assert resource is not None
        resource["spec"].update(fields)
        resource["metadata"]["generation"] += 1
        self.api.touch(resource)

    def delete_resource(self) -> None:
        resource = self.resource
        assert resource is not None
        if resource["metadata"].get("finalizers"):
            resource["metadata"]["deletionTimestamp"] = time_text(self.api.now)
            self.api.touch(resource)
        else:
            self.api.remove("BrokerCluster", NAME)

    def lose(self, kind: str, name: str) -> None:
        """A user deletes an object."""
        found = self.api.get(kind, name)
        if found is None:
            return
        if kind == "Pod":
            found["metadata"]["deletionTimestamp"] = time_text(self.api.now)
            self.api.touch(found)
        else:
            self.is_divided |= kind == "Secret"
            self.api.remove(kind, name)

    def ask_for_a_new_secret(self, request: str) -> None:
        resource = self.resource
        assert resource is not None
        notes = resource["metadata"].setdefault("annotations", {})
        notes["gantrymq.dev/rotate-secret"] = request
        self.api.touch(resource)

    # ------------------------------------------------------------------ time

    def tick(self, count: int = 1) -> None:
        """Controllers, kubelets and members take a step."""
        for _ in range(count):
            self.api.now += STEP_SECONDS
            controllers.step(self.api)
            self.files.step()
            if not self.is_divided:
                self.files.must_believe_each_other()
            for group in self.groups():
                members.step(self.api, NAME, group)

    def groups(self) -> list[str]:
        label = "gantrymq.dev/group"
        found = [*self.api.of_kind("StatefulSet"), *self.api.of_kind("Pod")]
        return sorted({each["metadata"]["labels"].get(label, "") for each in found} - {""})

    # ------------------------------------------------------------------ the operator

    def snapshot(self, **hidden: Any) -> ClusterSnapshot:  # Any: fields of the snapshot
        """What the operator sees; `hidden` replaces fields."""
        api, resource = self.api, self.resource
        assert resource is not None
        count = resource["spec"].get("groups", 1)
        names = {f"broker-{index}" for index in range(count if isinstance(count, int) else 0)}
        fields: dict[str, Any] = {
            "resource": resource,
            "namespace_is_terminating": False,
            "defaults": self.defaults,
            "objects": {
                kind: tuple(map(_REDUCERS.get(kind, reducers.whole), api.of_kind(kind)))
                for kind in KINDS
            },
            "pods": tuple(map(reducers.pod, api.of_kind("Pod"))),
            "volume_claims": tuple(
                map(reducers.volume_claim, api.of_kind("PersistentVolumeClaim"))
            ),
            "leases": {
                group: api.get("Lease", f"{NAME}-{group}") for group in names | set(self.groups())
            },
            "nodes": {
                each["metadata"]["name"]: reducers.node(each) for each in api.of_kind("Node")
            },
            "storage_classes": frozenset({"local-ssd"}),
            "new_secret": f"secret-{api.last_number:025}",
            "new_security": NewSecurity(
                f"administrator-{api.last_number}",
                f"application-{api.last_number}",
                "t" * 32,
                "certificate",
                "key",
                f"authority-{api.last_number}",
            ),
            "known_secrets": self.files.known(),
            "refusal": self.refusal,
        }
        return ClusterSnapshot(**{**fields, **hidden})

    def plan(self, **hidden: Any) -> Plan:
        return plan(self.snapshot(**hidden), self.api.now)

    def execute(self, planned: Plan, limit: int | None = None) -> None:
        """Carry out a plan, or the first actions of it, and write the status."""
        self.refusal = ""
        try:
            for action in planned.actions[:limit]:
                self.must_be_safe(action)
                self.api.carry_out(action)
        except RefusedError as error:
            self.refusal = str(error)
        resource = self.resource
        if limit is None and resource is not None and planned.status:
            resource["status"] = deepcopy(planned.status)

    def reconcile(self, limit: int | None = None) -> Plan:
        """One round of the operator, and a step of the world."""
        planned = self.plan()
        must_be_single(planned.actions)
        self.execute(planned, limit)
        self.tick()
        return planned

    def settle(self, rounds: int = ROUNDS_MAX) -> Plan:
        """Reconcile until nothing is left to do and the status stays as it is: for one more round,
        and where the plan waits for something, until the operator would have asked again."""
        before: Mapping[str, Any] = {}
        unchanged_since = self.api.now
        for _ in range(rounds):
            is_moving = self.files.is_about_to_step()
            planned = self.reconcile()
            if self.resource is None:
                return planned
            if planned.actions or is_moving or planned.status != before:
                before, unchanged_since = planned.status, self.api.now
            elif not planned.waits or self.api.now > unchanged_since + RETRY_SECONDS:
                return planned
        last = self.plan()
        raise AssertionError(f"does not settle: {last.actions} {last.waits}")

    # ------------------------------------------------------------------ what must never happen

    def must_be_safe(self, action: Action) -> None:
        """No action may take the last in-sync copy, or a Lease of a living cluster."""
        resource = self.resource
        is_living = resource is not None and "deletionTimestamp" not in resource["metadata"]
        if isinstance(action, Apply):
            assert action.body["kind"] not in ("Lease", "Pod", "PersistentVolumeClaim")
        if isinstance(action, Delete) and is_living:
            assert action.ref.kind in ("Pod", "Service"), f"{action.ref.kind} of a living cluster"
            if action.ref.kind == "Pod":
                self._must_leave_a_copy(action)
        if isinstance(action, AnnotateLease) and action.is_disruptive:
            content = self.api.get("Lease", action.ref.name)
            assert content is not None
            target = int(action.annotations["gantrymq.dev/switch-to"])
            assert target in read_lease(content).in_sync

    def _must_leave_a_copy(self, action: Delete) -> None:
        pod = self.api.get("Pod", action.ref.name)
        group, _, ordinal = action.ref.name.rpartition("-")
        content, member = self.api.get("Lease", group), int(ordinal) + 1
        if content is None or not runs(pod):
            return
        lease = read_lease(content)
        stateful_set = self.api.get("StatefulSet", group)
        assert stateful_set is not None
        if member not in lease.in_sync or stateful_set["spec"]["replicas"] == 1:
            return
        others = [self.api.get("Pod", f"{group}-{each - 1}") for each in lease.in_sync - {member}]
        assert any(
            other is not None
            and runs(other)
            and is_on_ready_node(self.api, other)
            and "deletionTimestamp" not in other["metadata"]
            for other in others
        ), f"{action.ref.name} is the last in-sync copy"


def must_be_single(actions: Iterable[Action]) -> None:
    """At most one disruptive action for each group, and one switchover at all."""
    groups: list[str] = []
    switchovers = 0
    for action in actions:
        if isinstance(action, Delete) and action.ref.kind == "Pod" and action.is_disruptive:
            groups.append(action.ref.name.rpartition("-")[0])
        if isinstance(action, AnnotateLease) and action.is_disruptive:
            groups.append(action.ref.name)
            switchovers += 1
    assert len(groups) == len(set(groups)), f"two disruptive actions of a group: {groups}"
    assert switchovers <= 1, "two switchovers at once"
