"""Determines the groups of a cluster with their sizes, and the workload of each group.

Groups are added at once. This version does not remove groups, and does not change the number of
members or the volumes of a group: a group keeps what it was created with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.fields import annotation_of, list_at, text_at
from gantrymq.operator.plan.objects.names import BROKER, STORE
from gantrymq.operator.plan.objects.pods.broker_config import broker_config
from gantrymq.operator.plan.objects.pods.broker_pods import broker_template
from gantrymq.operator.plan.objects.pods.inputs import broker_inputs
from gantrymq.operator.plan.objects.pods.replication_tls import LinkTls
from gantrymq.operator.plan.objects.pods.workloads import ADDRESS, MEMBERS, Blueprint
from gantrymq.operator.plan.objects.security import profile_note
from gantrymq.operator.resources.names import MEMBERS_MAX, group_name


@final
@dataclass(frozen=True, slots=True)
class GroupSize:
    """A group that exists or will be created, with the values of its creation."""

    name: str
    members: int
    storage_size: str
    address: str
    """The clusterIP that its Service has or had; empty before the first one."""


def group_sizes(
    cluster: Cluster, status: Mapping[str, Any], stateful_sets: Mapping[str, Json]
) -> tuple[GroupSize, ...]:
    """Return all groups, also those beyond `spec.groups`. `stateful_sets` is by group name."""
    remembered = {text_at(each, "name"): each for each in list_at(status, "groups")}
    count = cluster.spec.groups
    while group_name(count) in stateful_sets or group_name(count) in remembered:
        count += 1
    return tuple(
        _size(cluster, name, stateful_sets.get(name), remembered.get(name, {}))
        for name in map(group_name, range(count))
    )


def _size(cluster: Cluster, name: str, found: Json | None, remembered: Json) -> GroupSize:
    spec = cluster.spec
    members = _number(annotation_of(found or {}, MEMBERS)) or len(list_at(remembered, "members"))
    size = spec.storage.size
    for template in list_at(found, "spec", "volumeClaimTemplates"):
        size = text_at(template, "spec", "resources", "requests", "storage") or size
    host = text_at(remembered, "address").rpartition(":")[0].strip("[]")
    address = annotation_of(found or {}, ADDRESS) or host
    return GroupSize(name, members or spec.members_per_group, size, address)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and 1 <= int(text) <= MEMBERS_MAX else 0


def group_blueprint(
    cluster: Cluster, group: str, members: int, address: str, links: LinkTls
) -> Blueprint:
    """Return the blueprint of a group. `address` is the clusterIP of the group's Service."""
    names = cluster.names
    return Blueprint(
        names.group(group),
        BROKER,
        group,
        broker_inputs(cluster, group, members, address, links),
        cluster.defaults.broker_image,
        cluster.spec.image.broker,
        broker_config(cluster, group, members, address, links),
        "broker",
        partial(broker_template, cluster, group),
        _stateful_set_spec(cluster, group, members),
        {ADDRESS: address, MEMBERS: str(members), **profile_note(cluster)},
    )


def _stateful_set_spec(cluster: Cluster, group: str, members: int) -> Json:
    return {
        "replicas": members,
        "serviceName": cluster.names.members(group),
        # Members elect their master together, so each has to start without the others.
        "podManagementPolicy": "Parallel",
        # The operator restarts members, followers first, while all are in sync.
        "updateStrategy": {"type": "OnDelete"},
        # Volumes outlive a StatefulSet that is deleted by hand. The operator deletes them with
        # the cluster if the resource demands it.
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "selector": {"matchLabels": cluster.names.selector(BROKER, group)},
        "volumeClaimTemplates": [_claim_template(cluster, group)],
    }


def _claim_template(cluster: Cluster, group: str) -> Json:
    storage = cluster.spec.storage
    spec: Json = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage.size}},
    }
    if storage.storage_class_name is not None:
        spec["storageClassName"] = storage.storage_class_name
    metadata = {"name": STORE, "labels": cluster.names.labels(BROKER, group)}
    return {"metadata": metadata, "spec": spec}
