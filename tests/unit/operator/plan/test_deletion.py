"""Tests what the deletion of a cluster deletes and keeps, and that it always ends."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.plan.actions import Delete, EventNote, SetFinalizers
from gantrymq.operator.plan.deletion import FINALIZER, MEMBERS_SECONDS, PODS_SECONDS
from gantrymq.operator_model.samples import lease
from gantrymq.operator_model.world import World

DELETE = {"onClusterDeletion": "Delete"}
CLAIM = "PersistentVolumeClaim"


def running(**spec: Any) -> World:
    world = World(spec, nodes=3)
    world.settle()
    return world


def end(world: World, rounds: int = 40) -> None:
    """Reconcile until the resource is gone."""
    for _ in range(rounds):
        if world.resource is None:
            return
        world.reconcile()
    pytest.fail(f"hangs: {world.plan().waits}")


def test_retained_clusters_are_not_held() -> None:
    world = running()
    resource = world.resource
    assert resource is not None
    assert not resource["metadata"].get("finalizers")
    world.delete_resource()
    assert world.resource is None
    assert len(world.api.of_kind(CLAIM)) == 2


def test_a_cluster_that_deletes_its_volumes_is_held_before_anything_is_made() -> None:
    world = World({"storage": DELETE})
    first = world.plan().actions[0]
    assert isinstance(first, SetFinalizers)
    assert first.finalizers == (FINALIZER,)


def test_members_end_before_leases_and_claims_are_deleted() -> None:
    world = running(storage=DELETE, groups=2)
    world.delete_resource()
    kinds: list[str] = []
    for _ in range(20):
        if world.resource is None:
            break
        planned = world.reconcile()
        kinds += [each.ref.kind for each in planned.actions if isinstance(each, Delete)]
    assert world.resource is None
    assert world.api.of_kind(CLAIM) == []
    assert world.api.of_kind("Lease") == []
    assert max(i for i, kind in enumerate(kinds) if kind == "StatefulSet") < min(
        i for i, kind in enumerate(kinds) if kind == CLAIM
    )


def test_a_pod_on_a_dead_node_is_not_waited_for_for_ever() -> None:
    world = running(storage=DELETE)
    pod = world.api.get("Pod", "orders-broker-0-1")
    assert pod is not None
    world.set_node(str(pod["spec"]["nodeName"]), is_ready=False)
    world.delete_resource()
    before = world.api.now
    end(world)
    assert world.api.now - before >= PODS_SECONDS - 30
    assert world.api.get("Pod", "orders-broker-0-1") is not None


def test_a_namespace_that_is_deleted_does_not_wait_for_the_operator() -> None:
    world = running(storage=DELETE)
    world.delete_resource()
    planned = world.plan(namespace_is_terminating=True)
    [action] = planned.actions
    assert isinstance(action, SetFinalizers)
    assert action.finalizers == ()


def test_finalizers_of_others_stay() -> None:
    world = running(storage=DELETE)
    resource = world.resource
    assert resource is not None
    resource["metadata"]["finalizers"] = ["example.org/other", FINALIZER]
    world.delete_resource()
    [action] = world.plan(namespace_is_terminating=True).actions
    assert isinstance(action, SetFinalizers)
    assert action.finalizers == ("example.org/other",)


def test_a_policy_that_is_changed_to_retain_lets_the_resource_go() -> None:
    world = running(storage=DELETE)
    world.change(storage={"onClusterDeletion": "Retain"})
    world.settle()
    resource = world.resource
    assert resource is not None
    assert not resource["metadata"].get("finalizers")


@pytest.mark.parametrize("hidden", ["objects", "pods", "volume_claims", "leases"])
def test_data_is_not_deleted_with_an_incomplete_snapshot(hidden: str) -> None:
    world = running(storage=DELETE)
    world.delete_resource()
    while world.api.of_kind("StatefulSet") or world.api.of_kind("Pod"):
        world.reconcile()
    planned = world.plan(**{hidden: None})
    assert planned.actions == ()
    assert planned.requeue_seconds is not None
    assert world.plan().actions


def test_a_paused_cluster_can_be_deleted() -> None:
    world = running(storage=DELETE)
    world.change(paused=True)
    world.delete_resource()
    end(world)


def test_an_invalid_cluster_can_be_deleted() -> None:
    world = running(storage=DELETE)
    world.change(groups="many")
    world.delete_resource()
    end(world)


def test_the_slices_of_masters_go_with_their_epochs() -> None:
    world = running(storage=DELETE)
    world.delete_resource()
    while world.api.of_kind("StatefulSet") or world.api.of_kind("Pod"):
        world.reconcile()
    slices = {"broker-0": lease(name="orders-broker-0-master")}
    actions = world.plan(slices=slices).actions
    kinds = {each.ref.kind for each in actions if isinstance(each, Delete)}
    assert kinds == {CLAIM, "Lease", "EndpointSlice"}


def test_an_operator_that_is_killed_after_each_action_completes_the_deletion() -> None:
    world = running(storage=DELETE, groups=2)
    world.delete_resource()
    for _ in range(100):
        if world.resource is None:
            break
        world.reconcile(limit=1)
    assert world.resource is None
    assert world.api.of_kind(CLAIM) == []


def test_an_orphaning_deletion_deletes_nothing() -> None:
    world = running(storage=DELETE)
    resource = world.resource
    assert resource is not None
    resource["metadata"]["finalizers"] += ["orphan"]
    world.delete_resource()
    [action] = world.plan().actions
    assert isinstance(action, SetFinalizers)
    assert action.finalizers == ("orphan",)


def test_a_deletion_that_waits_says_for_what() -> None:
    world = running(storage=DELETE)
    world.set_node("node-1", is_ready=False)
    world.delete_resource()
    for _ in range(3):
        world.reconcile()
    planned = world.plan()
    conditions = {each["type"]: each for each in planned.status["conditions"]}
    assert conditions["Ready"]["reason"] == conditions["Progressing"]["reason"] == "Deleting"
    assert "pods that are ending: orders-broker-0-" in conditions["Progressing"]["message"]
    assert planned.status["waits"][0]["why"] in conditions["Ready"]["message"]


def test_a_deletion_that_the_api_server_refuses_says_so() -> None:
    world = running(storage=DELETE)
    world.delete_resource()
    planned = world.plan(refusal="StatefulSet/orders-broker-0: at 2026-01-01T00:00:00Z: no")
    assert planned.status["waits"][-1]["why"].endswith("StatefulSet/orders-broker-0: at ...: no")


def test_a_stateful_set_without_labels_is_deleted_by_what_its_pods_say() -> None:
    world = running(storage=DELETE)
    stateful_set = world.api.get("StatefulSet", "orders-broker-0")
    assert stateful_set is not None
    world.delete_resource()
    found = world.snapshot().objects
    assert found is not None
    planned = world.plan(objects={**found, "StatefulSet": ()})
    uids = {each.ref.name: each.uid for each in planned.actions if isinstance(each, Delete)}
    assert uids["orders-broker-0"] == stateful_set["metadata"]["uid"]
    assert "orders-namesrv" in uids


def test_a_stateful_set_that_does_not_end_holds_the_resource_for_a_bounded_time() -> None:
    world = running(storage=DELETE)
    stateful_set = world.api.get("StatefulSet", "orders-broker-0")
    assert stateful_set is not None
    stateful_set["metadata"]["finalizers"] = ["example.org/never"]
    world.delete_resource()
    for _ in range(4):
        world.reconcile()
    planned = world.plan()
    assert "StatefulSets that are being deleted: orders-broker-0" in planned.waits[0].why
    events: list[EventNote] = []
    for _ in range(60):
        if world.resource is None:
            break
        planned = world.reconcile()
        events += planned.events
    assert world.resource is None
    assert events[-1].reason == "LeftBehind"
    assert "orders-broker-0" in events[-1].message


def test_members_are_waited_for_after_a_late_reconciliation() -> None:
    world = running(storage=DELETE)
    world.delete_resource()
    world.api.now += MEMBERS_SECONDS + 1
    planned = world.plan()
    kinds = {each.ref.kind for each in planned.actions if isinstance(each, Delete)}
    assert kinds == {"StatefulSet"}


def test_nothing_is_created_in_a_namespace_that_is_deleted() -> None:
    world = World({}, nodes=3)
    world.settle()
    world.api.remove("Service", "orders-broker-0")
    assert world.plan().actions
    planned = world.plan(namespace_is_terminating=True)
    assert not planned.actions
    assert [wait.why for wait in planned.waits] == ["its namespace is being deleted"]
