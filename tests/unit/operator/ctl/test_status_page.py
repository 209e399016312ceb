"""Tests the screen of `kubectl gantry status`."""

from __future__ import annotations

from typing import Any

from gantrymq.operator.ctl.status_page import status_lines


def cluster(**status: Any) -> dict[str, Any]:
    metadata = {"namespace": "shop", "name": "orders", "generation": 3}
    return {"metadata": metadata, "status": status}


MEMBERS = [
    {
        "pod": "orders-broker-0-0", "member": 1, "node": "node1", "ready": True,
        "role": "follower", "inSync": True, "restarts": 0, "lag": "0",
    },
    {
        "pod": "orders-broker-0-1", "member": 2, "node": "node2", "ready": True,
        "role": "master", "inSync": True, "restarts": 2,
    },
]  # fmt: skip


def test_it_begins_with_the_phase_and_shows_each_member() -> None:
    groups = [{"name": "broker-0", "epoch": 7, "members": MEMBERS}]
    lines = status_lines(
        cluster(phase="Running", observedGeneration=3, groups=groups, readyMembers="2/2")
    )
    assert lines[0] == "shop/orders: Running"
    assert any(line.split() == ["members", "2/2"] for line in lines)
    [master] = [line for line in lines if " master " in line]
    assert master.split() == [
        *("broker-0", "2", "orders-broker-0-1", "node2", "master", "yes", "yes", "-", "2", "7")
    ]


def test_waits_and_bad_conditions_are_named_and_good_ones_are_not() -> None:
    conditions = [
        {"type": "Available", "status": "True", "reason": "AllGroups", "message": "fine"},
        {"type": "InSync", "status": "False", "reason": "MemberBehind", "message": "2 catches up"},
        {"type": "Degraded", "status": "True", "reason": "MemberBehind", "message": "one behind"},
        {"type": "Paused", "status": "False", "reason": "NotPaused", "message": "no"},
    ]
    waits = [{"what": "spread masters", "why": "broker-1 is not in sync"}]
    text = "\n".join(status_lines(cluster(phase="Degraded", conditions=conditions, waits=waits)))
    assert "spread masters: broker-1 is not in sync" in text
    assert "InSync=False (MemberBehind): 2 catches up" in text
    assert "Degraded=True (MemberBehind): one behind" in text
    assert "Available" not in text
    assert "Paused" not in text


def test_a_generation_that_the_operator_has_not_seen_is_shown() -> None:
    text = "\n".join(status_lines(cluster(phase="Running", observedGeneration=2)))
    assert "3 wanted, 2 seen by the operator" in text


def test_a_cluster_without_a_status_says_to_look_for_the_operator() -> None:
    lines = status_lines(cluster())
    assert lines[0] == "shop/orders: not seen by the operator yet"
    assert "kubectl get pods" in lines[1]


def test_topics_without_a_resource_are_named() -> None:
    unmanaged = {"count": 3, "names": ["a", "b"]}
    lines = status_lines(cluster(phase="Running", unmanagedTopics=unmanaged))
    assert lines[-1] == "  a, b and 1 more"


def test_problems_that_members_report_are_shown_with_their_group() -> None:
    groups = [{"name": "broker-0", "members": MEMBERS, "problems": ["the Service: no right to"]}]
    text = "\n".join(status_lines(cluster(phase="Running", groups=groups)))
    assert "Problems:\n  broker-0: the Service: no right to" in text
    assert "Problems" not in "\n".join(status_lines(cluster(phase="Running", groups=[])))


def test_a_new_secret_is_shown_until_it_is_done() -> None:
    rotation = {"request": "monday", "step": "NewUsed"}
    lines = status_lines(cluster(phase="Running", secretRotation=rotation))
    assert any(line.split() == ["secret", "rotation", "NewUsed", "(monday)"] for line in lines)
    lines = status_lines(cluster(phase="Running", secretRotation=rotation | {"step": "Done"}))
    assert not any("secret rotation" in line for line in lines)
