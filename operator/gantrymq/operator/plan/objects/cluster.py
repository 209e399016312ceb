"""Defines the cluster that a plan is about: identity, spec, and the operator's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from gantrymq.operator.plan.actions import Json, ObjectRef
from gantrymq.operator.plan.objects.names import ClusterNames
from gantrymq.operator.plan.snapshot import OperatorDefaults
from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec
from gantrymq.operator.resources.names import API_VERSION


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """One BrokerCluster with a valid spec. The planner makes it from a snapshot."""

    names: ClusterNames
    uid: str
    generation: int
    spec: BrokerClusterSpec
    defaults: OperatorDefaults

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef(API_VERSION, "BrokerCluster", self.names.namespace, self.names.cluster)

    # Any: content of objects of the API, as JSON.
    def owned(
        self,
        kind: tuple[str, str],
        name: str,
        component: str,
        group: str = "",
        *,
        annotations: Mapping[str, str] | None = None,
        **content: Any,
    ) -> Json:
        """Return an object that the cluster owns. `kind` is a pair of apiVersion and kind."""
        metadata: Json = {
            "name": name,
            "namespace": self.names.namespace,
            "labels": self.names.labels(component, group),
            "ownerReferences": [self._owner()],
        }
        if annotations:
            metadata["annotations"] = dict(annotations)
        return {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata, **content}

    def _owner(self) -> Json:
        return {
            "apiVersion": API_VERSION,
            "kind": "BrokerCluster",
            "name": self.names.cluster,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
