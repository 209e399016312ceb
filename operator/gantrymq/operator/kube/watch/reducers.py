"""Reduces objects of the API to the fields that the operator reads, so that caches stay small.

Every reducer drops `managedFields`, which is often the larger half of an object.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final, TypeAlias

from gantrymq.base.group_secret import fingerprint, secret_lines
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.access import SECRET_ENTRY
from gantrymq.operator.plan.objects.secret import AUTHORITY, ENTRIES, FINGERPRINTS
from gantrymq.operator.plan.objects.security import AUTHORITY_ENTRY

Reducer: TypeAlias = Callable[[Json], Json]

_METADATA: Final = (
    "name", "namespace", "uid", "resourceVersion", "generation", "labels", "annotations",
    "ownerReferences", "finalizers", "creationTimestamp", "deletionTimestamp",
)  # fmt: skip
_APPLIED_BY_KUBECTL: Final = "kubectl.kubernetes.io/last-applied-configuration"


def whole(item: Json) -> Json:
    """Keep all but `managedFields` and kubectl's last-applied annotation."""
    return item | {"metadata": _metadata(item)}


def secret(item: Json) -> Json:
    """Keep the metadata of a Secret. Its content is replaced by the names of the entries, the
    fingerprint of each line of a replication secret, and the certificate of an authority, which is
    not secret."""
    return {
        "apiVersion": item.get("apiVersion", ""),
        "kind": item.get("kind", ""),
        "metadata": _metadata(item),
        FINGERPRINTS: [fingerprint(line) for line in lines_of_secret(item)],
        ENTRIES: sorted(item.get("data") or {}),
        AUTHORITY: entry_of_secret(item, AUTHORITY_ENTRY),
    }


def entry_of_secret(item: Json, entry: str) -> str:
    """Return the text of an entry; empty if it is missing or not valid."""
    try:
        return base64.b64decode((item.get("data") or {}).get(entry, "")).decode()
    except ValueError:
        return ""


def lines_of_secret(item: Json) -> tuple[bytes, ...]:
    """Return the lines that members read; none if the content is not valid."""
    try:
        return secret_lines(base64.b64decode((item.get("data") or {}).get(SECRET_ENTRY, "")))
    except ValueError:
        return ()


def pod(item: Json) -> Json:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    return {
        "metadata": _metadata(item),
        "spec": _picked(spec, "nodeName", "terminationGracePeriodSeconds")
        | {"containers": [_picked(each, "name", "image") for each in spec.get("containers", ())]},
        "status": _picked(
            status, "phase", "reason", "message", "podIP", "conditions", "containerStatuses"
        ),
    }


def volume_claim(item: Json) -> Json:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    return {
        "metadata": _metadata(item),
        "spec": _picked(spec, "storageClassName", "resources", "volumeName", "accessModes"),
        "status": _picked(status, "phase", "capacity", "conditions"),
    }


def node(item: Json) -> Json:
    """Keep labels, taints, `unschedulable` and the Ready condition without its heartbeat."""
    metadata, spec = item["metadata"], item.get("spec") or {}
    conditions = (item.get("status") or {}).get("conditions") or ()
    ready = [_picked(each, "type", "status") for each in conditions if each.get("type") == "Ready"]
    return {
        "metadata": _picked(metadata, "name", "labels", "resourceVersion"),
        "spec": _picked(spec, "taints", "unschedulable"),
        "status": {"conditions": ready},
    }


def name_only(item: Json) -> Json:
    return {
        "metadata": _picked(
            item["metadata"], "name", "namespace", "labels", "annotations", "resourceVersion"
        )
    }


def is_same(old: Json, new: Json) -> bool:
    """Whether two reduced objects are equal apart from their versions."""
    return old.keys() == new.keys() and all(
        _without_version(old[key]) == _without_version(new[key])
        if key == "metadata"
        else old[key] == new[key]
        for key in old
    )


def _metadata(item: Json) -> Json:
    metadata = _picked(item["metadata"], *_METADATA)
    annotations = metadata.get("annotations")
    if annotations and _APPLIED_BY_KUBECTL in annotations:
        kept = {key: value for key, value in annotations.items() if key != _APPLIED_BY_KUBECTL}
        metadata["annotations"] = kept
    return metadata


def _without_version(metadata: Json) -> Json:
    return {key: value for key, value in metadata.items() if key != "resourceVersion"}


def _picked(section: Json, *names: str) -> Json:
    return {name: section[name] for name in names if name in section}
