"""Simulates what a cluster does with the operator's objects: pods start, volumes bind.

It reacts to writes at the simulated API server, at once and without fail, unless a test says
otherwise. It writes the Lease for the members of a group: the first one becomes master, all are
in sync, and a requested switchover is done.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.fakes_kube.objects import Json, Place
from gantrymq.fakes_kube.server import KubeServer

_NOW: Final = "2026-01-01T00:00:00Z"
_WISH: Final = "gantrymq.dev/"


@final
@dataclass(slots=True)
class Life:
    """Lives in one server; `begin` once."""

    server: KubeServer
    nodes: tuple[str, ...] = ("node-1", "node-2", "node-3")
    broker_addresses: dict[str, str] = field(default_factory=dict)
    """The addresses of masters, by namespace; a namespace without one has no listening broker."""
    stuck_namespaces: set[str] = field(default_factory=set)
    """Where no pod ever starts."""
    _addresses: int = 0

    def begin(self) -> None:
        for name in self.nodes:
            self.server.put("Node", _node(name))
        self.server.put("StorageClass", {"metadata": {"name": "standard"}})
        self.server.on_write(self._react)

    def _react(self, place: Place, item: Json) -> None:
        if place.plural == "services" and place in self.server.objects.items:
            self._give_address(place, item)
        elif place.plural == "statefulsets" and place in self.server.objects.items:
            self._run(item)
        elif place.plural == "leases" and place in self.server.objects.items:
            self._elect(place)
        elif place.plural == "pods":
            for stateful_set in self.server.all("StatefulSet", place.namespace):
                self._run(stateful_set)

    def _give_address(self, place: Place, service: Json) -> None:
        if service["spec"].get("clusterIP"):
            return
        self._addresses += 1
        service = {**service, "spec": {**service["spec"], "clusterIP": f"10.1.0.{self._addresses}"}}
        self.server.objects.replace(place, service)

    def _run(self, stateful_set: Json) -> None:
        metadata, spec = stateful_set["metadata"], stateful_set["spec"]
        if metadata["namespace"] in self.stuck_namespaces:
            return
        revision = _revision(stateful_set)
        count = spec.get("replicas", 1)
        for ordinal in range(count):
            name = f"{metadata['name']}-{ordinal}"
            if self.server.get("Pod", metadata["namespace"], name) is None:
                self._start(stateful_set, name, ordinal, revision)
        self.server.set_status(
            "StatefulSet",
            metadata["namespace"],
            metadata["name"],
            {
                "observedGeneration": metadata["generation"],
                "replicas": count,
                "readyReplicas": count,
                "availableReplicas": count,
                "currentReplicas": count,
                "updatedReplicas": count,
                "currentRevision": revision,
                "updateRevision": revision,
            },
        )
        self._form(stateful_set)

    def _start(self, stateful_set: Json, name: str, ordinal: int, revision: str) -> None:
        metadata, spec = stateful_set["metadata"], stateful_set["spec"]
        namespace = metadata["namespace"]
        labels = dict(spec["template"]["metadata"].get("labels") or {})
        for claim in spec.get("volumeClaimTemplates") or ():
            self._bind(claim, namespace, f"{claim['metadata']['name']}-{name}", spec["selector"])
        body = {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": labels
                | {
                    "controller-revision-hash": revision,
                    "statefulset.kubernetes.io/pod-name": name,
                },
                "annotations": dict(spec["template"]["metadata"].get("annotations") or {}),
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "StatefulSet",
                        "name": metadata["name"],
                        "uid": metadata["uid"],
                        "controller": True,
                    }
                ],
            },
            "spec": {
                **copy.deepcopy(spec["template"]["spec"]),
                "nodeName": self.nodes[ordinal % len(self.nodes)],
            },
            "status": _running(spec["template"]["spec"]["containers"], ordinal),
        }
        self.server.put("Pod", body)

    def _bind(self, claim: Json, namespace: str, name: str, selector: Json) -> None:
        if self.server.get("PersistentVolumeClaim", namespace, name) is not None:
            return
        labels = dict(claim["metadata"].get("labels") or {}) | selector["matchLabels"]
        body = {
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {
                "storageClassName": "standard",
                **copy.deepcopy(claim["spec"]),
                "volumeName": f"pv-{name}",
            },
            "status": {"phase": "Bound", "capacity": claim["spec"]["resources"]["requests"]},
        }
        self.server.put("PersistentVolumeClaim", body)

    # ------------------------------------------------------------------ members

    def _form(self, stateful_set: Json) -> None:
        """The members of a new group elect their first one."""
        metadata = stateful_set["metadata"]
        labels = metadata.get("labels") or {}
        if "gantrymq.dev/group" not in labels:
            return
        namespace, name = metadata["namespace"], metadata["name"]
        if self.server.get("Lease", namespace, name) is not None:
            return
        count = stateful_set["spec"].get("replicas", 1)
        self._lead(namespace, name, 1, 1, ",".join(str(each + 1) for each in range(count)))

    def _elect(self, place: Place) -> None:
        """A member does the switchover that its Lease asks for."""
        lease = self.server.objects.get(place)
        notes = lease["metadata"].get("annotations") or {}
        asked = int(notes.get(f"{_WISH}switch-number") or 0)
        if asked <= int(notes.get(f"{_WISH}granted") or 0):
            return
        target = int(notes.get(f"{_WISH}switch-to") or 0)
        epoch = int(notes.get(f"{_WISH}epoch") or 0) + 1
        in_sync = notes.get(f"{_WISH}in-sync", "")
        self._lead(place.namespace, place.name, target, epoch, in_sync, asked)

    def fail_over(self, namespace: str, group: str, member: int) -> None:
        """Another member becomes master, as members decide it among themselves."""
        lease = self.server.get("Lease", namespace, group)
        assert lease is not None
        notes = lease["metadata"]["annotations"]
        epoch = int(notes[f"{_WISH}epoch"]) + 1
        self._lead(namespace, group, member, epoch, notes[f"{_WISH}in-sync"])

    def _lead(
        self, namespace: str, name: str, member: int, epoch: int, in_sync: str, granted: int = 0
    ) -> None:
        address = self.broker_addresses.get(namespace, f"127.0.0.{member}:1")
        self.server.put(
            "Lease",
            {
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "annotations": {
                        f"{_WISH}epoch": str(epoch),
                        f"{_WISH}in-sync": in_sync,
                        f"{_WISH}address": address,
                        f"{_WISH}ha-address": address,
                        f"{_WISH}granted": str(granted),
                    },
                },
                "spec": {"holderIdentity": str(member), "renewTime": _NOW},
            },
        )
        self.server.put(
            "EndpointSlice",
            {
                "metadata": {
                    "name": f"{name}-master",
                    "namespace": namespace,
                    "labels": {
                        "kubernetes.io/service-name": name,
                        "endpointslice.kubernetes.io/managed-by": "gantrymq.dev",
                    },
                    "annotations": {f"{_WISH}epoch": str(epoch)},
                },
                "addressType": "IPv4",
                "endpoints": [{"addresses": [f"127.0.0.{member}"], "conditions": {"ready": True}}],
                "ports": [],
            },
        )


def _node(name: str) -> Json:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def _running(containers: list[Json], ordinal: int) -> Json:
    return {
        "phase": "Running",
        "podIP": f"127.0.0.{ordinal + 1}",
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": _NOW},
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": _NOW},
        ],
        "containerStatuses": [
            {
                "name": each["name"],
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": _NOW}},
            }
            for each in containers
        ],
    }


def _revision(stateful_set: Json) -> str:
    """Pods are of the revision of their template."""
    return (
        f"{stateful_set['metadata']['name']}-{hash(str(stateful_set['spec']['template'])) % 10**8}"
    )
