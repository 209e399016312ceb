"""Tests which nodes fit a member."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.plan.view.nodes import fitting_nodes


def node(status: str = "True", **spec: Any) -> dict[str, Any]:
    labels = {"disk": "ssd"}
    ready = {"conditions": [{"type": "Ready", "status": status}]}
    return {"metadata": {"labels": labels}, "spec": spec, "status": ready}


def taint(effect: str = "NoSchedule") -> dict[str, Any]:
    return {"taints": [{"key": "dedicated", "value": "mq", "effect": effect}]}


def test_nodes_that_are_not_ready_or_cordoned_do_not_fit() -> None:
    nodes = {"a": node(), "b": node("Unknown"), "c": node(unschedulable=True)}
    assert fitting_nodes(nodes, {}, []) == ["a"]


def test_nodes_without_a_label_of_the_selector_do_not_fit() -> None:
    assert fitting_nodes({"a": node()}, {"disk": "ssd"}, []) == ["a"]
    assert fitting_nodes({"a": node()}, {"disk": "hdd"}, []) == []


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "dedicated", "operator": "Exists"}, True),
        ({"key": "dedicated", "value": "mq"}, True),
        ({"key": "dedicated", "value": "mq", "effect": "NoExecute"}, False),
        ({"key": "dedicated", "value": "db"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
    ids=str,
)
def test_a_taint_has_to_be_tolerated(toleration: dict[str, str], fits: bool) -> None:
    assert bool(fitting_nodes({"a": node(**taint())}, {}, [toleration])) is fits


def test_a_taint_that_only_prefers_excludes_nothing() -> None:
    assert fitting_nodes({"a": node(**taint("PreferNoSchedule"))}, {}, []) == ["a"]
