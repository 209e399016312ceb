"""Tests the messages that say why a cluster is not ready, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.groups import group_sizes
from gantrymq.operator.plan.status.obstacles import Obstacle, find_obstacles
from gantrymq.operator.plan.view.members import read_groups
from gantrymq.operator.plan.view.observed import Observed
from gantrymq.operator.resources.reasons.conditions import Reason
from gantrymq.operator_model.samples import cluster, lease
from gantrymq.operator_model.world import World

POD = "orders-broker-0-1"


def obstacles(world: World, spec: dict[str, Any] | None = None, **seen: Any) -> list[Obstacle]:
    snapshot = world.snapshot(**seen)
    observed = Observed(snapshot.objects or {})
    wanted = cluster(**(spec or {}))
    sizes = group_sizes(wanted, {}, observed.group_stateful_sets())
    groups = read_groups(sizes, wanted.names, observed, snapshot, snapshot.pods or ())
    return find_obstacles(wanted, groups, snapshot)


def only(found: list[Obstacle], reason: Reason) -> str:
    assert [each.reason for each in found] == [reason], found
    return found[0].message


@pytest.fixture
def world() -> World:
    found = World({})
    found.settle()
    return found


def pod(world: World) -> Json:
    found = world.api.get("Pod", POD)
    assert found is not None
    return found


def break_pod(world: World, status: Json) -> None:
    """Let the follower be not ready, with this state of its container."""
    found = pod(world)
    found["status"]["conditions"] = []
    found["status"]["containerStatuses"] = [{"name": "broker", "restartCount": 3, **status}]


def waiting(reason: str, message: str = "") -> Json:
    return {"state": {"waiting": {"reason": reason, "message": message}}, "image": "b:1"}


def test_a_healthy_cluster_has_none(world: World) -> None:
    assert obstacles(world) == []


def test_a_storage_class_that_does_not_exist(world: World) -> None:
    spec = {"storage": {"storageClassName": "fast"}}
    message = only(obstacles(world, spec), Reason.STORAGE_CLASS_MISSING)
    assert message == "StorageClass fast does not exist (there are: local-ssd); create it"


def test_an_image_that_cannot_be_pulled_reads_the_same_while_the_kubelet_waits(
    world: World,
) -> None:
    cause = "rpc error: not found"
    break_pod(world, waiting("ErrImagePull", cause))
    first = only(obstacles(world), Reason.IMAGE_PULL_FAILED)
    again = f'Back-off pulling image "b:1": ErrImagePull: {cause}'
    break_pod(world, waiting("ImagePullBackOff", again))
    assert only(obstacles(world), Reason.IMAGE_PULL_FAILED) == first
    assert first == f"pod {POD} cannot pull image b:1: {cause}"


def test_a_crash_loop_shows_the_last_words(world: World) -> None:
    words = "2026-11-27T10:00:01Z gantry broker: flushDiskType=X is unknown"
    ended = {"lastState": {"terminated": {"exitCode": 78, "message": words}}}
    break_pod(world, waiting("CrashLoopBackOff", "back-off 40s") | ended)
    message = only(obstacles(world), Reason.POD_FAILING)
    assert "exit code 78: ... gantry broker: flushDiskType=X is unknown" in message
    assert f"kubectl logs {POD} --previous" in message
    break_pod(world, {"state": {"running": {}}} | ended)
    assert only(obstacles(world), Reason.POD_FAILING) == message


def test_a_container_that_cannot_start(world: World) -> None:
    break_pod(world, waiting("CreateContainerConfigError", 'secret "s" not found'))
    assert 'secret "s" not found' in only(obstacles(world), Reason.POD_FAILING)


def unschedule(world: World) -> None:
    found = pod(world)
    found["spec"].pop("nodeName")
    words = (
        "0/3 nodes are available: 3 node(s) didn't match anti-affinity. no new claims to"
        " deallocate, preemption: 0/3 nodes are available: 3 No preemption victims found."
    )
    scheduled = {"type": "PodScheduled", "status": "False", "message": words}
    found["status"] = {"phase": "Pending", "conditions": [scheduled]}


def test_a_node_pool_that_is_too_small_says_how_many_nodes_are_needed(world: World) -> None:
    unschedule(world)
    for number in (1, 2):
        world.set_node(f"node-{number}", is_ready=False)
    found = [each for each in obstacles(world) if each.reason is Reason.POD_UNSCHEDULABLE]
    assert "didn't match anti-affinity" in found[0].message
    assert "preemption" not in found[0].message
    assert "2 nodes are needed" in found[0].message
    assert "there are 1 (node-0)" in found[0].message


def test_a_cause_stands_before_its_consequences(world: World) -> None:
    unschedule(world)
    master = world.api.get("Pod", "orders-broker-0-0")
    assert master is not None
    master["status"]["conditions"] = []
    events = {"orders-broker-0-0": "FailedMount: secret is late"}
    reasons = [each.reason for each in obstacles(world, events=events)]
    assert reasons == [Reason.POD_UNSCHEDULABLE, Reason.MEMBERS_NOT_READY]


def test_consequences_of_a_missing_storage_class_are_left_out(world: World) -> None:
    unschedule(world)
    spec = {"storage": {"storageClassName": "fast"}}
    only(obstacles(world, spec), Reason.STORAGE_CLASS_MISSING)


def test_a_probe_that_fails_explains_nothing(world: World) -> None:
    pod(world)["status"]["conditions"] = []
    assert obstacles(world, events={POD: "Unhealthy: Readiness probe failed: 503"}) == []


def test_a_claim_that_is_not_bound_says_why(world: World) -> None:
    unschedule(world)
    claim = world.api.get("PersistentVolumeClaim", f"store-{POD}")
    assert claim is not None
    claim["status"]["phase"] = "Pending"
    events = {f"store-{POD}": "ProvisioningFailed: no space left in the pool"}
    message = only(obstacles(world, events=events), Reason.VOLUME_PENDING)
    assert message.endswith("ProvisioningFailed: no space left in the pool")


def test_a_quota_that_refuses_a_pod(world: World) -> None:
    world.api.remove("Pod", POD)
    events = {"orders-broker-0": "FailedCreate: exceeded quota: pods"}
    message = only(obstacles(world, events=events), Reason.POD_REFUSED)
    assert message == f"pod {POD} cannot be created: FailedCreate: exceeded quota: pods"


def test_a_pod_on_a_node_that_is_not_ready(world: World) -> None:
    found = pod(world)
    found["status"]["conditions"] = []
    world.set_node(found["spec"]["nodeName"], is_ready=False)
    message = next(each.message for each in obstacles(world) if POD in each.message)
    assert "which is not ready" in message


def test_a_refusal_of_the_api_server_is_shown_without_its_times(world: World) -> None:
    refusal = "Role/mq/orders-broker: forbidden at 2026-11-27T10:00:01Z"
    message = only(obstacles(world, refusal=refusal), Reason.API_REFUSED)
    assert message.endswith("forbidden at ...")


def stop_group(world: World) -> None:
    for member in world.api.of_kind("Pod"):
        if "broker" in member["metadata"]["name"]:
            member["status"]["conditions"] = []
            member["status"]["containerStatuses"] = []
            member["status"]["phase"] = "Pending"


def leadership(world: World, content: Json) -> str:
    found = obstacles(world, leases={"broker-0": content})
    return next(each.message for each in found if each.reason is Reason.NO_MASTER)


def test_in_sync_members_that_do_not_run_are_named(world: World) -> None:
    stop_group(world)
    message = leadership(world, lease(0, "2"))
    assert f"none of the members with every acknowledged message runs ({POD})" in message


def test_a_lease_with_an_epoch_while_all_volumes_are_new(world: World) -> None:
    stop_group(world)
    content = lease(0, "1,2", epoch=9)
    content["spec"]["renewTime"] = "2020-01-01T00:00:00.000000Z"
    message = leadership(world, content)
    assert "is of epoch 9" in message
    assert "kubectl delete lease orders-broker-0" in message


def test_a_damaged_lease_is_shown(world: World) -> None:
    assert "is damaged" in leadership(world, lease(0, "x"))


def test_a_master_that_the_group_does_not_have(world: World) -> None:
    assert "names member 7" in leadership(world, lease(7, "7"))


def test_an_election_under_way(world: World) -> None:
    assert leadership(world, lease(0, "1,2")) == "broker-0 is electing a master"
