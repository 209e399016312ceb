"""Tests the page of `kubectl gantry plan`."""

from __future__ import annotations

from gantrymq.operator.ctl.plan_page import plan_json, plan_lines, unread_parts
from gantrymq.operator.plan.actions import AnnotateLease, Apply, Delete, ObjectRef, Plan, Wait
from gantrymq.operator.plan.snapshot import ClusterSnapshot, OperatorDefaults

LEASE = ObjectRef("coordination.k8s.io/v1", "Lease", "shop", "orders-broker-0")
POD = ObjectRef("v1", "Pod", "shop", "orders-broker-0-1")
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "orders-broker-0"}}


def test_each_action_has_its_reason_and_waits_follow() -> None:
    plan = Plan(
        actions=(
            Apply(SERVICE, "it is missing"),
            Apply(SERVICE, "its ports were changed by hand", "7"),
            Delete(POD, "uid", "it runs an older template", is_disruptive=True),
            AnnotateLease(LEASE, "7", {}, "node1 has two masters"),
        ),
        waits=(Wait("restart of broker-1", "broker-0 is restarting"),),
    )
    assert plan_lines(plan) == [
        "create Service/orders-broker-0: it is missing",
        "change Service/orders-broker-0: its ports were changed by hand",
        "delete Pod/orders-broker-0-1: it runs an older template",
        "ask Lease/orders-broker-0: node1 has two masters",
        "",
        "Waiting:",
        "  restart of broker-1: broker-0 is restarting",
    ]
    assert plan_json(plan)["waits"] == [
        {"what": "restart of broker-1", "why": "broker-0 is restarting"}
    ]


def test_an_empty_plan_says_that_nothing_is_to_do() -> None:
    assert plan_lines(Plan()) == ["Nothing to do: the cluster is as its resource wants it."]


def test_what_the_user_may_not_list_is_named() -> None:
    defaults = OperatorDefaults("broker:1", "namesrv:1")
    snapshot = ClusterSnapshot({}, False, defaults, {}, None, (), {}, None, frozenset())
    assert unread_parts(snapshot) == ["pods", "nodes"]
