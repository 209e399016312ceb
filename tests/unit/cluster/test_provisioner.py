"""Tests what the volume provisioner decides from claims and volumes."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.local.provisioner import PROVISIONER, Provision, Reclaim, node_of, plan

Resource = dict[str, Any]


def claim(**changes: Any) -> Resource:
    annotations = {
        "volume.kubernetes.io/storage-provisioner": PROVISIONER,
        "volume.kubernetes.io/selected-node": "node2",
    }
    return {
        "metadata": {
            "name": "data-0",
            "namespace": "shop",
            "uid": "u1",
            "annotations": annotations | changes.get("annotations", {}),
            **changes.get("metadata", {}),
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local-ssd",
            "resources": {"requests": {"storage": "1Gi"}},
            **changes.get("spec", {}),
        },
        "status": {"phase": changes.get("phase", "Pending")},
    }


def provisioned() -> Resource:
    (action,) = plan([claim()], [])
    assert isinstance(action, Provision)
    return action.volume


def released(**changes: Any) -> Resource:
    volume = provisioned()
    volume["status"] = {"phase": changes.get("phase", "Released")}
    volume["metadata"].update(changes.get("metadata", {}))
    volume["spec"].update(changes.get("spec", {}))
    return volume


def test_a_claim_with_a_node_gets_a_volume_on_that_node() -> None:
    (action,) = plan([claim()], [])
    assert isinstance(action, Provision)
    assert action.node == "node2"
    assert node_of(action.volume) == "node2"
    spec = action.volume["spec"]
    assert spec["claimRef"]["uid"] == "u1"
    assert spec["capacity"] == {"storage": "1Gi"}
    assert spec["local"] == {"path": "/var/lib/gantry-volumes/pvc-u1"}


@pytest.mark.parametrize(
    "unready",
    [
        claim(annotations={"volume.kubernetes.io/selected-node": ""}),
        claim(annotations={"volume.kubernetes.io/storage-provisioner": "another"}),
        claim(phase="Bound"),
        claim(spec={"volumeName": "pvc-u1"}),
        claim(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        claim(metadata={"annotations": None}),
    ],
    ids=["no node", "another provisioner", "bound", "has a volume", "being deleted", "bare"],
)
def test_other_claims_get_none(unready: Resource) -> None:
    assert plan([unready], []) == []


def test_a_claim_whose_volume_exists_gets_no_second_one() -> None:
    assert plan([claim()], [provisioned()]) == []


def test_a_released_volume_is_reclaimed_from_its_node() -> None:
    assert plan([], [released()]) == [Reclaim("node2", "pvc-u1")]


@pytest.mark.parametrize(
    "kept",
    [
        released(phase="Bound"),
        released(phase="Available"),
        released(metadata={"annotations": {}}),
        released(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        released(spec={"persistentVolumeReclaimPolicy": "Retain"}),
    ],
    ids=["bound", "available", "not ours", "being deleted", "to be retained"],
)
def test_other_volumes_are_kept(kept: Resource) -> None:
    assert plan([], [kept]) == []
