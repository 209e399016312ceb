"""The operator has the rights that it uses, and no others: by the audit log of the API server.

It runs last, when the other tests have made the operator do everything. Only the local test cluster
writes such a log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gantrymq.e2e.figures import Figures
from gantrymq.e2e.kubectl import LOCAL_STATE, run
from gantrymq.e2e.operator_install import NAMESPACE, Operator

USER = f"system:serviceaccount:{NAMESPACE}:gantry-operator"
LOG = LOCAL_STATE / "log" / "audit.log"
Right = tuple[str, str, str]
"""API group, resource with its subresource, verb."""

# Granted, and used only where these tests do not lead.
RARE = {
    ("", "secrets", "patch"): "owner of a replication secret that outlived its cluster",
    ("", "events", "patch"): "repeats of an Event",
    ("", "persistentvolumeclaims", "get"): "read when a claim is deleted by name",
    ("", "pods", "get"): "read when a pod is restarted by name",
    ("", "services", "delete"): "a Service that cannot be changed is made anew",
    ("", "configmaps", "delete"): "configurations that no pod reads",
    ("apps", "statefulsets", "delete"): "deletion of a cluster with its volumes",
    ("policy", "poddisruptionbudgets", "delete"): "groups that are not wanted any more",
    ("discovery.k8s.io", "endpointslices", "create"): "given to brokers",
    ("discovery.k8s.io", "endpointslices", "update"): "given to brokers",
    ("discovery.k8s.io", "endpointslices", "get"): "given to brokers",
    ("discovery.k8s.io", "endpointslices", "delete"): "given to brokers",
    ("discovery.k8s.io", "endpointslices/restricted", "create"): "given to brokers",
    ("coordination.k8s.io", "leases", "create"): "given to brokers",
    ("coordination.k8s.io", "leases", "update"): "given to brokers",
    ("gantrymq.dev", "brokerclusters/finalizers", "update"): "owner references, on OpenShift",
}


@pytest.mark.e2e
def test_the_operator_has_the_rights_that_it_uses(operator: Operator, figures: Figures) -> None:
    del operator
    if not LOG.exists():
        pytest.fail(f"{LOG} is missing: this cluster records no requests", pytrace=False)
    used: set[Right] = set()
    refused: set[Right] = set()
    for right, is_allowed in _requests():
        (used if is_allowed else refused).add(right)
    refused -= used  # helm removes the rights before the pods that it uninstalls
    granted = set(_granted())
    unused = sorted(granted - used - RARE.keys())
    figures.keep(
        f"rights: {len(granted)} granted, {len(used)} used, {len(refused)} refused\n"
        f"  granted and not used: {unused}",
        granted=len(granted), used=len(used), refused=sorted(refused), unused=unused,
    )  # fmt: skip
    assert not refused, "the operator asked for something that it may not do"
    assert not unused, "rights that no test makes the operator use, and RARE does not explain"


def _requests() -> Iterator[tuple[Right, bool]]:
    """What the operator asked for, and whether its rights allow that. A namespace that is being
    deleted refuses new objects as well, whatever the rights are."""
    for event in _events():
        found = event.get("objectRef")
        if event["user"]["username"] != USER or not found or "resource" not in found:
            continue
        # Server-side apply creates and changes alike; both are asked for by `patch`.
        sub = f"/{found['subresource']}" if found.get("subresource") else ""
        right = (found.get("apiGroup", ""), found["resource"] + sub, event["verb"])
        yield right, event["annotations"].get("authorization.k8s.io/decision") == "allow"
        if event["verb"] == "patch" and event.get("responseStatus", {}).get("code") == 201:
            yield (right[0], right[1], "create"), True


def _events() -> Iterator[Any]:  # Any: JSON
    """All that is recorded, in the files that were rotated away as well."""
    for log in LOG.parent.glob(f"{LOG.stem}*{LOG.suffix}"):
        with log.open() as lines:
            yield from map(json.loads, lines)


def _granted() -> Iterator[Right]:
    kinds = ("clusterrole/gantry-operator", f"role/gantry-operator-leader -n {NAMESPACE}")
    for kind in kinds:
        for rule in json.loads(run("get", *kind.split(), "-o", "json"))["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        yield group, resource, verb
