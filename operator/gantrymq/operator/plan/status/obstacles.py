"""Explains why a cluster is not as it should be: what is wrong, why, and what the user can do.

Messages contain no times and no moving counters, so that an unchanged state gives unchanged text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.fields import (
    condition_of,
    label_of,
    list_at,
    map_at,
    name_of,
    seconds_at,
    text_at,
)
from gantrymq.operator.plan.objects.kinds import SECRET
from gantrymq.operator.plan.objects.names import BROKER, COMPONENT, NAME_SERVER
from gantrymq.operator.plan.objects.pods.pod_settings import tolerations
from gantrymq.operator.plan.snapshot import ClusterSnapshot
from gantrymq.operator.plan.view.lease import ALLOW_LEASE_EDITS
from gantrymq.operator.plan.view.members import Group, Member, is_pod_ready
from gantrymq.operator.plan.view.nodes import fitting_nodes, is_node_ready
from gantrymq.operator.plan.view.observed import Observed
from gantrymq.operator.plan.view.secret_age import groups_with_old_secret
from gantrymq.operator.resources.reasons.conditions import Reason

_PULL_FAILURES: Final = frozenset(
    {
        "ErrImageNeverPull", "ErrImagePull", "ImageInspectError", "ImagePullBackOff",
        "InvalidImageName", "RegistryUnavailable",
    }
)  # fmt: skip
_START_FAILURES: Final = frozenset(
    {
        "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError",
        "RunContainerError", "StartError",
    }
)  # fmt: skip
# Causes before consequences: the first is the reason of the condition.
_ORDER: Final = (
    Reason.API_REFUSED,
    Reason.STORAGE_CLASS_MISSING,
    Reason.POD_REFUSED,
    Reason.VOLUME_PENDING,
    Reason.POD_UNSCHEDULABLE,
    Reason.IMAGE_PULL_FAILED,
    Reason.POD_FAILING,
    Reason.NO_MASTER,
    Reason.SECRET_REPLACED,
    Reason.MEMBERS_NOT_READY,
)
# The consequences of a missing StorageClass.
_OF_STORAGE: Final = frozenset({Reason.VOLUME_PENDING, Reason.POD_UNSCHEDULABLE})
# Events that say only that a pod is not ready.
_UNINFORMATIVE: Final = ("BackOff:", "Unhealthy:")

_WORDS_MAX: Final = 300
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|[+-]\d\d:?\d\d)?")
# The scheduler's remark about preemption matters only with priorities or device claims.
_PREEMPTION: Final = re.compile(r"[.,]? (no new claims to deallocate, )?preemption: .*", re.DOTALL)
# The kubelet alternates between the failure and the wait before the next attempt.
_BACK_OFF: Final = re.compile(r'Back-off pulling image "[^"]*"(: ErrImagePull: )?')


@final
@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason why the cluster is not ready, with a message for the user."""

    reason: Reason
    message: str
    group: str = ""


def find_obstacles(
    cluster: Cluster, groups: Sequence[Group], snapshot: ClusterSnapshot
) -> list[Obstacle]:
    """Return all obstacles, causes before consequences."""
    found: list[Obstacle] = []
    if snapshot.refusal:
        what = f"the API server refused a change: {one_line(snapshot.refusal)}"
        found.append(Obstacle(Reason.API_REFUSED, what))
    found += _storage_class(cluster, snapshot)
    for group in groups:
        for member in group.members:
            found += _of_member(cluster, group, member, snapshot)
    for pod in snapshot.pods or ():
        if label_of(pod, COMPONENT) == NAME_SERVER:
            found += _of_pod(cluster, "", pod, snapshot)
    for group in groups:
        found += _of_leadership(cluster, group, snapshot)
    found += _of_secret(cluster, groups, snapshot)
    if any(each.reason is Reason.STORAGE_CLASS_MISSING for each in found):
        found = [each for each in found if each.reason not in _OF_STORAGE]
    return sorted(found, key=lambda each: _ORDER.index(each.reason))


def _storage_class(cluster: Cluster, snapshot: ClusterSnapshot) -> list[Obstacle]:
    wanted, known = cluster.spec.storage.storage_class_name, snapshot.storage_classes
    if wanted is None or known is None or wanted in known:
        return []
    names = ", ".join(sorted(known)) or "none"
    what = f"StorageClass {wanted} does not exist (there are: {names}); create it"
    return [Obstacle(Reason.STORAGE_CLASS_MISSING, what)]


def _of_member(
    cluster: Cluster, group: Group, member: Member, snapshot: ClusterSnapshot
) -> list[Obstacle]:
    if member.pod is not None:
        return _of_pod(cluster, group.name, member.pod, snapshot)
    refusal = snapshot.events.get(cluster.names.group(group.name), "")
    if group.stateful_set is None or not refusal:
        return []
    what = f"pod {member.pod_name} cannot be created: {one_line(refusal)}"
    return [Obstacle(Reason.POD_REFUSED, what, group.name)]


def _of_pod(cluster: Cluster, group: str, pod: Json, snapshot: ClusterSnapshot) -> list[Obstacle]:
    name, node = name_of(pod), text_at(pod, "spec", "nodeName")
    if is_pod_ready(pod):
        return []
    if not node:
        return [_without_node(cluster, group, pod, snapshot)] if _is_unschedulable(pod) else []
    known = (snapshot.nodes or {}).get(node)
    if snapshot.nodes is not None and (known is None or not is_node_ready(known)):
        state = "does not exist any more" if known is None else "is not ready"
        what = (
            f"pod {name} is on node {node}, which {state}; bring the node back, or delete it from"
            " the Kubernetes cluster so that the pod can run elsewhere"
        )
        return [Obstacle(Reason.MEMBERS_NOT_READY, what, group)]
    for status in list_at(pod, "status", "containerStatuses"):
        obstacle = _of_container(name, group, status)
        if obstacle is not None:
            return [obstacle]
    event = snapshot.events.get(name, "")
    if event and not event.startswith(_UNINFORMATIVE):
        return [Obstacle(Reason.MEMBERS_NOT_READY, f"pod {name}: {one_line(event)}", group)]
    return []


def _of_container(pod: str, group: str, status: Any) -> Obstacle | None:  # Any: JSON of the API
    waiting = map_at(status, "state", "waiting")
    reason, message = text_at(waiting, "reason"), text_at(waiting, "message")
    if reason in _PULL_FAILURES:
        image = text_at(status, "image")
        words = _BACK_OFF.sub("", message) or reason
        what = f"pod {pod} cannot pull image {image}: {one_line(words)}"
        return Obstacle(Reason.IMAGE_PULL_FAILED, what, group)
    last = map_at(status, "lastState", "terminated") or map_at(status, "state", "terminated")
    if last.get("exitCode"):
        words = _last_words(text_at(last, "message")) or text_at(last, "reason")
        how = f"ended with exit code {last['exitCode']}: {words}"
    elif reason in _START_FAILURES:
        how = f"cannot start ({reason}): {one_line(message)}"
    else:
        return None
    what = f"the container of pod {pod} {how}; see: kubectl logs {pod} --previous"
    return Obstacle(Reason.POD_FAILING, what, group)


def _is_unschedulable(pod: Json) -> bool:
    scheduled = condition_of(pod, "PodScheduled")
    return text_at(scheduled, "status") == "False"


def _without_node(cluster: Cluster, group: str, pod: Json, snapshot: ClusterSnapshot) -> Obstacle:
    name = name_of(pod)
    words = one_line(_PREEMPTION.sub("", text_at(condition_of(pod, "PodScheduled"), "message")))
    for claim in snapshot.volume_claims or ():
        event = snapshot.events.get(name_of(claim), "")
        if name_of(claim).endswith(f"-{name}") and event and _is_unbound(claim):
            what = f"volume claim {name_of(claim)} is not bound: {one_line(event)}"
            return Obstacle(Reason.VOLUME_PENDING, what, group)
    what = f"no node accepts pod {name}: {words}"
    if group and snapshot.nodes is not None:
        selector = cluster.spec.scheduling.node_selector
        fitting = fitting_nodes(snapshot.nodes, selector, tolerations(cluster))
        needed = cluster.spec.members_per_group
        if len(fitting) < needed:
            names = ", ".join(fitting) or "none"
            what += (
                f". Members of a group never share a node: {needed} nodes are needed that are"
                f" ready and match nodeSelector and tolerations, and there are {len(fitting)}"
                f" ({names})"
            )
    return Obstacle(Reason.POD_UNSCHEDULABLE, what, group)


def _is_unbound(claim: Json) -> bool:
    return text_at(claim, "status", "phase") != "Bound"


def _of_leadership(cluster: Cluster, group: Group, snapshot: ClusterSnapshot) -> list[Obstacle]:
    """Explain why a group that once had a master has none."""
    lease = group.lease
    if lease is None or group.has_master:
        return []
    if lease.damage:
        what = f"Lease {lease.name} is damaged: {lease.damage}; members elect no master by it"
        return [Obstacle(Reason.NO_MASTER, what, group.name)]
    if not group.has_formed:
        return []
    if lease.holder and lease.holder not in group.numbers:
        what = f"Lease {lease.name} names member {lease.holder}, which the group does not have"
        return [Obstacle(Reason.NO_MASTER, what, group.name)]
    if _are_volumes_newer(cluster, group, snapshot.volume_claims):
        what = (
            f"Lease {lease.name} is of epoch {lease.epoch}, but all volumes of {group.name} are"
            " newer: the data is gone, or the claims were created again. Restore the volumes, or"
            f" give up the data: kubectl annotate brokercluster {cluster.names.cluster}"
            f" {ALLOW_LEASE_EDITS}=true, then kubectl delete lease {lease.name}"
        )
        return [Obstacle(Reason.NO_MASTER, what, group.name)]
    whole = [each for each in group.members if each.number in group.in_sync]
    if not any(each.is_running and not each.is_leaving for each in whole):
        pods = ", ".join(each.pod_name for each in whole) or "members that are gone"
        what = (
            f"{group.name} has no master: none of the members with every acknowledged message runs"
            f" ({pods}); bring one of them back"
        )
        return [Obstacle(Reason.NO_MASTER, what, group.name)]
    return [Obstacle(Reason.NO_MASTER, f"{group.name} is electing a master", group.name)]


def _of_secret(
    cluster: Cluster, groups: Sequence[Group], snapshot: ClusterSnapshot
) -> list[Obstacle]:
    """Find groups in which a member that restarts cannot join the others."""
    secrets = Observed(snapshot.objects or {})
    name, found = cluster.names.secret, []
    secret = secrets.find(SECRET, name)
    for group in groups_with_old_secret(groups, secret, snapshot.known_secrets or {}):
        selector = cluster.names.selector(BROKER, group.name)
        labels = ",".join(f"{key}={value}" for key, value in selector.items())
        what = (
            f"Secret {name} was deleted and created again while pods of {group.name} ran: a member"
            " that restarts cannot join members that have not read it, which takes 1 to 2 minutes."
            " If it takes longer, restart all members of the group at once:"
            f" kubectl delete pod -n {cluster.names.namespace} -l {labels}"
        )
        found.append(Obstacle(Reason.SECRET_REPLACED, what, group.name))
    return found


def _are_volumes_newer(cluster: Cluster, group: Group, claims: Iterable[Json] | None) -> bool:
    """Whether no volume of the group existed when its last master renewed the Lease."""
    renewed_at = group.lease.renewed_at if group.lease else None
    if claims is None or renewed_at is None:
        return False
    names = {cluster.names.claim(group.name, number) for number in group.numbers}
    created = [
        seconds_at(claim, "metadata", "creationTimestamp")
        for claim in claims
        if name_of(claim) in names
    ]
    return len(created) == len(names) and all(
        each is not None and each > renewed_at for each in created
    )


def one_line(text: str) -> str:
    """Return a text of another program in one line, shortened, and without times."""
    line = _TIME.sub("...", " ".join(text.split()))
    return line if len(line) <= _WORDS_MAX else f"{line[:_WORDS_MAX]} ..."


def _last_words(text: str) -> str:
    """Return the end of a log, in which a process says why it ends."""
    line = _TIME.sub("...", " ".join(text.split()))
    return line if len(line) <= _WORDS_MAX else f"... {line[-_WORDS_MAX:]}"
