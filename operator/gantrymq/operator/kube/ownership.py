"""Decides whether an object belongs to a cluster, so that the operator changes no other object."""

from __future__ import annotations

from typing import Final

from gantrymq.operator.kube.errors import RefusedError
from gantrymq.operator.kube.kinds import BROKER_CLUSTER
from gantrymq.operator.kube.watch.object_store import cluster_of
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import label_of, list_at, text_at

_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_GANTRY: Final = "gantry"


def belongs_to(found: Json, uid: str, cluster: str) -> bool:
    """Whether the BrokerCluster with this uid and name owns an object.

    The labels decide about an object without an owner, or whose owner is an earlier BrokerCluster
    of the same name.
    """
    owners = list_at(found, "metadata", "ownerReferences")
    if any(text_at(owner, "uid") == uid for owner in owners):
        return True
    is_labelled = label_of(found, _MANAGED_BY) == _GANTRY and cluster_of(found) == cluster
    return is_labelled and all(
        text_at(owner, "kind") == BROKER_CLUSTER.name and text_at(owner, "name") == cluster
        for owner in owners
    )


def foreign(found: Json, title: str) -> RefusedError:
    """Return the error that says why the operator does not change an object of another owner."""
    owners = list_at(found, "metadata", "ownerReferences")
    controller = next((owner for owner in owners if owner.get("controller")), None)
    owner = controller or next(iter(owners), None)
    manager = label_of(found, _MANAGED_BY)
    if owner is not None:
        belongs = f"belongs to {text_at(owner, 'kind')}/{text_at(owner, 'name')}"
    elif manager:
        belongs = f"is managed by {manager}"
    else:
        belongs = "was made by hand or by another tool: it has no owner"
    words = (
        f"an object of this name exists, and {belongs}. Delete or rename it, or create the"
        " BrokerCluster under another name"
    )
    return RefusedError(f"{title}: {words}", status=409, reason="AlreadyExists", words=words)
