"""Tests that objects are reduced to what the operator reads."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from gantrymq.base.group_secret import fingerprint
from gantrymq.operator.kube.watch import reducers
from gantrymq.operator.plan.actions import Json

METADATA: dict[str, Any] = {
    "name": "a",
    "namespace": "one",
    "uid": "u",
    "resourceVersion": "5",
    "managedFields": [{}],
    "selfLink": "/old",
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "1"},
}


def test_metadata_is_reduced() -> None:
    metadata = reducers.whole({"metadata": METADATA, "spec": {"a": 1}})["metadata"]

    assert metadata == {
        "name": "a",
        "namespace": "one",
        "uid": "u",
        "resourceVersion": "5",
        "annotations": {"kept": "1"},
    }


def secret(**data: str) -> Json:
    return {"kind": "Secret", "apiVersion": "v1", "metadata": METADATA, "data": data}


def test_fingerprints_stand_for_the_content_of_a_secret() -> None:
    text = base64.b64encode(b"0123456789abcdef\nfedcba9876543210\n").decode()

    reduced = reducers.secret(secret(secret=text))

    assert "data" not in reduced
    expected = [fingerprint(b"0123456789abcdef"), fingerprint(b"fedcba9876543210")]
    assert reduced["fingerprints"] == expected


@pytest.mark.parametrize("content", [{}, {"other": "YQ=="}, {"secret": "a"}], ids=str)
def test_a_secret_without_a_text_has_no_lines(content: dict[str, str]) -> None:
    assert reducers.secret(secret(**content))["fingerprints"] == []
    assert reducers.secret({"metadata": METADATA, "data": None})["fingerprints"] == []


def test_a_pod_keeps_its_state() -> None:
    pod = {
        "metadata": METADATA,
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "broker", "image": "b:1", "env": [{"name": "A"}]}],
            "volumes": [{"name": "store"}],
        },
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "broker", "restartCount": 2}],
            "qosClass": "Burstable",
        },
    }

    reduced = reducers.pod(pod)

    assert reduced["spec"] == {
        "nodeName": "node-1",
        "containers": [{"name": "broker", "image": "b:1"}],
    }
    assert set(reduced["status"]) == {"phase", "podIP", "conditions", "containerStatuses"}


def test_a_pod_that_is_not_scheduled_is_reduced_as_well() -> None:
    assert reducers.pod({"metadata": METADATA}) == {
        "metadata": reducers.whole({"metadata": METADATA})["metadata"],
        "spec": {"containers": []},
        "status": {},
    }


def test_a_heartbeat_of_a_node_is_no_change() -> None:
    def node(version: str, heartbeat: str, ready: str) -> dict[str, Any]:
        conditions = [
            {"type": "MemoryPressure", "status": "False", "lastHeartbeatTime": heartbeat},
            {"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat},
        ]
        return reducers.node(
            {
                "metadata": {"name": "n", "labels": {"zone": "a"}, "resourceVersion": version},
                "spec": {"podCIDR": "10.0.0.0/24", "taints": [{"key": "t"}]},
                "status": {"conditions": conditions, "images": [{"names": ["x"]}] * 50},
            }
        )

    assert reducers.is_same(node("1", "10:00", "True"), node("2", "10:05", "True"))
    assert not reducers.is_same(node("1", "10:00", "True"), node("2", "10:05", "False"))


def test_an_object_that_lost_a_section_is_different() -> None:
    assert not reducers.is_same({"metadata": {}, "spec": {}}, {"metadata": {}})
