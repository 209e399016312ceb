"""Collects the facts from which conditions and columns are decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from gantrymq.operator.plan.actions import Action, Apply, Json, Wait
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.fields import label_of
from gantrymq.operator.plan.objects.names import COMPONENT, NAME_SERVER
from gantrymq.operator.plan.objects.pods.inputs import required_in_sync
from gantrymq.operator.plan.snapshot import ClusterSnapshot
from gantrymq.operator.plan.status.obstacles import Obstacle
from gantrymq.operator.plan.view.members import Group, is_pod_ready
from gantrymq.operator.resources.cluster.cluster_status import SecretRotation


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """The observed cluster, and the actions of its plan."""

    cluster: Cluster
    snapshot: ClusterSnapshot
    groups: Sequence[Group]
    obstacles: Sequence[Obstacle]
    actions: tuple[Action, ...]
    waits: tuple[Wait, ...]
    outdated: int
    """The number of pods that have to restart."""
    unsupported: Sequence[str]
    """Sentences about changes of the spec that this version does not make."""
    ready_name_servers: int
    rotation: SecretRotation | None

    @property
    def formed(self) -> list[Group]:
        return [group for group in self.groups if group.has_formed]

    @property
    def forming(self) -> list[Group]:
        """New groups that never had a master."""
        return [group for group in self.groups if not group.has_formed]

    @property
    def masterless(self) -> list[Group]:
        return [group for group in self.formed if not group.has_master]

    @property
    def short(self) -> list[Group]:
        """Groups with a master, but with too few members in sync to acknowledge messages."""
        spec = self.cluster.spec
        return [
            group
            for group in self.formed
            if group.has_master and len(group.in_sync) < required_in_sync(spec, len(group.members))
        ]

    @property
    def changes_pods(self) -> bool:
        """Whether a StatefulSet that exists is about to change."""
        return any(
            isinstance(each, Apply) and each.resource_version and each.body["kind"] == "StatefulSet"
            for each in self.actions
        )

    def not_ready(self) -> list[str]:
        """Return the pods of brokers that are not ready."""
        return [
            member.pod_name
            for group in self.groups
            for member in group.members
            if not member.is_ready
        ]

    def missing_followers(self) -> list[str]:
        """Return the pods of members that are not master, and not ready."""
        return [
            member.pod_name
            for group in self.formed
            for member in group.members
            if not member.is_ready and member is not group.master
        ]

    def behind(self) -> list[str]:
        """Return the pods of members that are ready but not in sync."""
        return [
            member.pod_name
            for group in self.formed
            for member in group.members
            if member.is_ready and member.number not in group.in_sync
        ]


def ready_name_servers(pods: Sequence[Json]) -> int:
    return sum(label_of(pod, COMPONENT) == NAME_SERVER and is_pod_ready(pod) for pod in pods)
