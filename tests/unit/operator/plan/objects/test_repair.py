"""What is done about an object that is missing, differs, or cannot be put right."""

from __future__ import annotations

from copy import deepcopy

import pytest

from gantrymq.operator.plan.actions import Apply, Delete, Json
from gantrymq.operator.plan.objects.repair import Repairs
from gantrymq.operator.plan.objects.services import group_service, members_service
from gantrymq.operator.plan.view.observed import Observed
from gantrymq.operator_model.samples import cluster

SERVICE = group_service(cluster(), "broker-0", "")


def stored(body: Json) -> Json:
    """As the API server has it."""
    found = deepcopy(body)
    found["metadata"] |= {"uid": "u", "resourceVersion": "5"}
    found["spec"].setdefault("clusterIP", "10.96.0.7")
    for port in found["spec"]["ports"]:
        port["targetPort"] = port["port"]
    return found


def repairs_of(*found: Json) -> Repairs:
    return Repairs(Observed({"Service": found}))


def test_what_is_missing_is_made() -> None:
    repairs = repairs_of()
    assert repairs.want(SERVICE)
    assert repairs.actions == [Apply(SERVICE, "Service orders-broker-0 does not exist")]


def test_what_is_as_it_should_be_is_left_alone() -> None:
    repairs = repairs_of(stored(SERVICE))
    assert not repairs.want(SERVICE)
    assert repairs.actions == []


def test_an_edit_is_reverted_with_the_version_that_was_seen() -> None:
    found = stored(SERVICE)
    found["spec"]["type"] = "NodePort"
    repairs = repairs_of(found)
    assert repairs.want(SERVICE)
    [action] = repairs.actions
    assert isinstance(action, Apply)
    assert action.resource_version == "5"
    assert action.reason == "Service orders-broker-0: spec.type is 'NodePort'"


def test_what_is_being_deleted_is_waited_for() -> None:
    found = stored(SERVICE)
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    repairs = repairs_of(found)
    assert repairs.want(SERVICE)
    assert repairs.actions == []
    assert "is being deleted" in repairs.waits[0].why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"selector": {"app": "x"}}, "spec.selector has app"),
        ({"clusterIP": "None"}, "spec.clusterIP is None"),
        ({"ports": [{"name": "web", "port": 80}]}, "spec.ports has web 80"),
    ],
)
def test_a_service_that_cannot_be_put_right_is_made_anew(change: Json, why: str) -> None:
    found = stored(SERVICE)
    found["spec"] |= change
    repairs = repairs_of(found)
    repairs.want(SERVICE)
    [action] = repairs.actions
    assert isinstance(action, Delete)
    assert (action.uid, action.is_disruptive) == ("u", False)
    assert action.reason == f"Service orders-broker-0 is made anew: {why}"


def test_a_label_more_in_a_selector_finds_no_pods() -> None:
    wanted = members_service(cluster(), "broker-0")
    found = stored(wanted)
    found["spec"]["selector"]["extra"] = "label"
    repairs = repairs_of(found)
    repairs.want(wanted)
    assert isinstance(repairs.actions[0], Delete)


def test_the_address_of_a_service_is_no_drift() -> None:
    again = group_service(cluster(), "broker-0", "10.96.0.7")
    assert not repairs_of(stored(SERVICE)).want(again)
