"""Tests the owner of the replication Secret, and the plans after it was deleted."""

from __future__ import annotations

from gantrymq.operator.plan.actions import Apply, Delete, Json, Patch, Plan
from gantrymq.operator_model.world import World

SECRET = "orders-replication"  # noqa: S105 - the name of an object


def running(nodes: int = 3) -> World:
    world = World({}, nodes=nodes)
    world.settle()
    return world


def secret_of(world: World) -> Json:
    found = world.api.get("Secret", SECRET)
    assert found is not None
    return found


def ready(planned: Plan) -> Json:
    conditions: list[Json] = planned.status["conditions"]
    return next(each for each in conditions if each["type"] == "Ready")


def test_the_secret_of_a_recreated_cluster_gets_the_new_owner_and_keeps_its_data() -> None:
    world = running()
    secret = secret_of(world)
    data = dict(secret["data"])
    secret["metadata"]["ownerReferences"][0]["uid"] = "uid-of-the-old-resource"
    world.api.touch(secret)
    [action] = world.plan().actions
    assert isinstance(action, Patch)
    assert action.changes.keys() == {"metadata"}
    world.settle()
    resource = world.resource
    assert resource is not None
    [owner] = secret_of(world)["metadata"]["ownerReferences"]
    assert owner["uid"] == resource["metadata"]["uid"]
    assert secret_of(world)["data"] == data


def test_owners_of_other_kinds_stay() -> None:
    world = running()
    secret = secret_of(world)
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}
    secret["metadata"]["ownerReferences"] = [foreign]
    world.settle()
    kinds = [each["kind"] for each in secret_of(world)["metadata"]["ownerReferences"]]
    assert kinds == ["ConfigMap", "BrokerCluster"]


def hold_kubelets(world: World) -> None:
    """No kubelet brings a change to a pod that runs."""
    world.files.held.update(each["metadata"]["name"] for each in world.api.of_kind("Node"))


def test_a_deleted_secret_is_created_again_and_the_status_says_what_to_do() -> None:
    world = running()
    hold_kubelets(world)
    world.lose("Secret", SECRET)
    planned = world.settle()
    condition = ready(planned)
    assert condition["reason"] == "SecretReplaced"
    assert (
        "kubectl delete pod -n mq -l app.kubernetes.io/instance=orders,"
        "app.kubernetes.io/component=broker,gantrymq.dev/group=broker-0" in condition["message"]
    )


def test_a_group_is_ready_again_once_all_members_have_read_the_new_secret() -> None:
    world = running()
    hold_kubelets(world)
    world.lose("Secret", SECRET)
    assert ready(world.settle())["reason"] == "SecretReplaced"
    world.files.held.clear()
    assert ready(world.settle())["reason"] == "AllReady"


def test_a_group_whose_pods_were_all_restarted_is_ready_again() -> None:
    world = running()
    hold_kubelets(world)
    world.lose("Secret", SECRET)
    world.settle()
    for number in (0, 1):
        world.lose("Pod", f"orders-broker-0-{number}")
    assert ready(world.settle())["reason"] == "AllReady"


def test_no_member_is_restarted_alone_while_the_others_know_another_secret() -> None:
    world = running()
    hold_kubelets(world)
    world.lose("Secret", SECRET)
    world.settle()
    world.change(config={"fileReservedTime": "48"})
    done = [action for _ in range(6) for action in world.reconcile().actions]
    assert not any(isinstance(each, Delete) for each in done)
    planned = world.plan()
    assert any("replication Secret was created again" in each.why for each in planned.waits)


def test_a_new_cluster_reports_nothing_about_its_secret() -> None:
    world = World({}, nodes=3)
    first = world.plan()
    assert any(isinstance(each, Apply) and each.body["kind"] == "Secret" for each in first.actions)
    assert ready(world.settle())["reason"] == "AllReady"
