"""Tests what is planned for an object that is missing, differs, or cannot be changed."""

from __future__ import annotations

from copy import deepcopy

from gantrymq.operator.plan.actions import Apply, Json, Patch
from gantrymq.operator.plan.objects.repair import Repairs
from gantrymq.operator.plan.objects.service_repair import DETACH_SECONDS, DETACHED_AT
from gantrymq.operator.plan.objects.services import group_service, members_service
from gantrymq.operator.plan.view.observed import Observed
from gantrymq.operator_model.samples import cluster

SERVICE = group_service(cluster(), "broker-0", "")
NOW = 1_800_000_000.0


def stored(body: Json) -> Json:
    """As the API server has it."""
    found = deepcopy(body)
    found["metadata"] |= {"uid": "u", "resourceVersion": "5"}
    found["spec"].setdefault("clusterIP", "10.96.0.7")
    for port in found["spec"]["ports"]:
        port["targetPort"] = port["port"]
    return found


def repairs_of(*found: Json, now: float = NOW) -> Repairs:
    return Repairs(Observed({"Service": found}), now)


def test_a_missing_object_is_created() -> None:
    repairs = repairs_of()
    assert repairs.want(SERVICE)
    assert repairs.actions == [Apply(SERVICE, "Service orders-broker-0 does not exist")]


def test_an_object_without_drift_is_not_changed() -> None:
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


def test_an_object_that_is_being_deleted_is_waited_for() -> None:
    found = stored(SERVICE)
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    repairs = repairs_of(found)
    assert repairs.want(SERVICE)
    assert repairs.actions == []
    assert "is being deleted" in repairs.waits[0].why


def test_an_added_port_is_removed_and_the_service_keeps_its_address() -> None:
    found = stored(SERVICE)
    found["spec"]["ports"].append({"name": "web", "port": 80})
    repairs = repairs_of(found)
    assert repairs.want(SERVICE)
    assert repairs.remakes == []
    [action] = repairs.actions
    assert isinstance(action, Patch)
    assert action.resource_version == "5"
    assert action.changes == {"spec": {"ports": SERVICE["spec"]["ports"]}}
    assert action.reason == "Service orders-broker-0: spec.ports has web 80"


def test_an_added_label_of_a_selector_is_removed() -> None:
    wanted = members_service(cluster(), "broker-0")
    found = stored(wanted)
    found["spec"]["selector"]["extra"] = "label"
    repairs = repairs_of(found)
    repairs.want(wanted)
    [action] = repairs.actions
    assert isinstance(action, Patch)
    selector = {"extra": None, **wanted["spec"]["selector"]}
    assert action.changes == {"spec": {"selector": selector}}


def test_a_selector_of_a_group_service_goes_after_kubernetes_has_removed_its_endpoints() -> None:
    found = stored(SERVICE)
    found["spec"]["selector"] = {"app": "x"}
    first = repairs_of(found)
    first.want(SERVICE)
    [detach] = first.actions
    assert isinstance(detach, Patch)
    selector = {"app": None, DETACHED_AT: str(int(NOW))}
    assert detach.changes == {"spec": {"selector": selector}}

    found["spec"]["selector"] = {DETACHED_AT: str(int(NOW))}
    second = repairs_of(found, now=NOW + DETACH_SECONDS - 1)
    assert second.want(SERVICE)
    assert second.actions == []
    assert "endpoints of its former selector" in second.waits[0].why

    third = repairs_of(found, now=NOW + DETACH_SECONDS)
    third.want(SERVICE)
    [remove] = third.actions
    assert isinstance(remove, Patch)
    assert remove.changes == {"spec": {"selector": None}}


def test_a_service_that_is_headless_by_mistake_is_created_again_later() -> None:
    found = stored(SERVICE)
    found["spec"]["clusterIP"] = "None"
    repairs = repairs_of(found)
    assert repairs.want(SERVICE)
    assert repairs.actions == []
    [action] = repairs.remakes
    assert (action.uid, action.is_disruptive) == ("u", True)
    assert action.reason == "Service orders-broker-0 is created again: spec.clusterIP is None"


def test_the_address_of_a_service_is_no_drift() -> None:
    again = group_service(cluster(), "broker-0", "10.96.0.7")
    assert not repairs_of(stored(SERVICE)).want(again)
