"""Tests the order of restarts, and what they wait for."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.plan.actions import AnnotateLease, Delete, Plan
from gantrymq.operator.plan.view.lease import SWITCH_TO
from gantrymq.operator_model.controllers import BAD
from gantrymq.operator_model.world import ROUNDS_MAX, World

NEW = {"fileReservedTime": "48"}


def running(**spec: Any) -> World:
    world = World(spec, nodes=4)
    world.settle()
    return world


def steps(world: World) -> list[str]:
    """Restarts and switchovers until nothing is left to do, in order."""
    found: list[str] = []
    for _ in range(ROUNDS_MAX):
        planned = world.reconcile()
        found += [step for step in map(_step, planned.actions) if step]
        if not planned.actions and planned.status["phase"] == "Running":
            break
    return found


def _step(action: object) -> str:
    if isinstance(action, Delete):
        return action.ref.name
    if isinstance(action, AnnotateLease) and action.is_disruptive:
        return f"{action.ref.name} to {action.annotations[SWITCH_TO]}"
    return ""


def restarts(planned: Plan) -> list[str]:
    return [each.ref.name for each in planned.actions if isinstance(each, Delete)]


def waits(planned: Plan) -> str:
    return "; ".join(f"{each.what}: {each.why}" for each in planned.waits)


def test_followers_come_first_then_a_switchover_then_the_old_master() -> None:
    world = running(membersPerGroup=3)
    world.change(config=NEW)
    assert steps(world) == [
        "orders-broker-0-2",
        "orders-broker-0-1",
        "orders-broker-0 to 2",
        "orders-broker-0-0",
    ]


def test_groups_follow_each_other() -> None:
    world = running(groups=2)
    world.change(config=NEW)
    groups = [step.split("-")[2].split(" ")[0] for step in steps(world)]
    assert groups == sorted(groups)


def test_a_group_of_one_is_restarted_without_a_switchover() -> None:
    world = running(membersPerGroup=1)
    world.change(config=NEW)
    assert steps(world) == ["orders-broker-0-0"]


def test_nothing_is_restarted_while_a_member_is_not_in_sync() -> None:
    world = running(membersPerGroup=3)
    world.set_node(_node_of(world, "orders-broker-0-2"), is_ready=False)
    world.change(config=NEW)
    for _ in range(4):
        assert not restarts(world.reconcile())
    planned = world.plan()
    assert "restart of orders-broker-0-1: not ready: orders-broker-0-2" in waits(planned)


def test_a_template_that_does_not_work_stops_at_the_first_member() -> None:
    world = running(groups=2)
    world.change(config={BAD: "1"})
    for _ in range(8):
        world.reconcile()
    broken = [
        pod["metadata"]["name"]
        for pod in world.api.of_kind("Pod")
        if "waiting" in pod["status"]["containerStatuses"][0]["state"]
    ]
    assert broken == ["orders-broker-0-1"]
    assert "group broker-0 comes first" in waits(world.plan())


def test_a_corrected_template_replaces_the_member_that_did_not_start() -> None:
    world = running(groups=2)
    world.change(config={BAD: "1"})
    for _ in range(8):
        world.reconcile()
    world.change(config={})
    assert world.settle().status["phase"] == "Running"


def test_a_member_that_crashes_by_itself_keeps_the_configuration_it_knows() -> None:
    """A ConfigMap that changes under a running pod must not reach it before its restart."""
    world = running(groups=1)
    world.change(config={BAD: "1"})
    world.execute(world.plan())
    world.lose("Pod", "orders-broker-0-0")
    pod = world.api.get("Pod", "orders-broker-0-1")
    assert pod is not None
    world.tick()
    statuses = pod["status"]["containerStatuses"]
    assert "running" in statuses[0]["state"]


def test_a_master_that_crashes_is_not_given_a_template_that_does_not_work() -> None:
    world = running(groups=1)
    world.change(config={BAD: "1"})
    for _ in range(8):
        world.reconcile()
    snapshot = world.snapshot()
    for pod in snapshot.pods or ():
        if pod["metadata"]["name"] == "orders-broker-0-0":
            state = {"terminated": {"exitCode": 137}}
            pod["status"]["containerStatuses"] = [{"state": state, "restartCount": 1}]
    planned = world.plan(pods=snapshot.pods)
    assert restarts(planned) == []
    assert "orders-broker-0-1 does not run with the new template" in waits(planned)


def test_a_group_that_is_down_as_a_whole_gets_a_corrected_template() -> None:
    world = running(groups=1)
    world.change(config={BAD: "1"})
    world.execute(world.plan())
    for ordinal in (0, 1):
        world.lose("Pod", f"orders-broker-0-{ordinal}")
    world.tick(3)
    assert world.plan().status["phase"] == "Unavailable"
    world.change(config={})
    assert world.settle().status["phase"] == "Running"


def test_a_running_member_outside_of_the_set_may_be_restarted() -> None:
    """A setting with which a member runs but never gets in sync has to be correctable."""
    world = running(groups=1)
    world.change(config=NEW)
    world.execute(world.plan())
    snapshot = world.snapshot()
    [lease] = world.api.of_kind("Lease")
    lease["metadata"]["annotations"]["gantrymq.dev/in-sync"] = "1"
    for pod in snapshot.pods or ():
        if pod["metadata"]["name"].startswith("orders-broker-0"):
            ready = [each for each in pod["status"]["conditions"] if each["type"] != "Ready"]
            pod["status"]["conditions"] = ready
    assert restarts(world.plan(pods=snapshot.pods)) == ["orders-broker-0-1"]


@pytest.mark.parametrize("member", [1, 2])
def test_the_only_member_in_sync_is_not_restarted(member: int) -> None:
    world = running(groups=1)
    world.change(config=NEW)
    world.execute(world.plan())
    [lease] = world.api.of_kind("Lease")
    lease["metadata"]["annotations"]["gantrymq.dev/in-sync"] = str(member)
    lease["spec"]["holderIdentity"] = str(member)
    assert f"orders-broker-0-{member - 1}" not in restarts(world.plan())


def test_a_master_whose_followers_are_fenced_is_not_restarted() -> None:
    world = running(groups=1)
    world.change(config=NEW)
    [lease] = world.api.of_kind("Lease")
    lease["metadata"]["annotations"]["gantrymq.dev/fenced"] = "2"
    for _ in range(6):
        world.reconcile()
    planned = world.plan()
    assert restarts(planned) == []
    assert "all other members are fenced" in waits(planned)


def test_a_switchover_that_failed_is_not_repeated_at_once() -> None:
    world = running(groups=1)
    world.change(config=NEW)
    while not any(isinstance(each, AnnotateLease) for each in world.plan().actions):
        world.reconcile()
    world.execute(world.plan())
    [lease] = world.api.of_kind("Lease")
    notes = lease["metadata"]["annotations"]
    notes["gantrymq.dev/granted"] = notes["gantrymq.dev/switch-number"]  # given up
    assert not world.plan().actions
    assert "a switchover was requested a moment ago" in waits(world.plan())
    world.api.now += 61
    assert any(isinstance(each, AnnotateLease) for each in world.plan().actions)


def test_a_switchover_that_was_asked_for_in_the_future_does_not_stop_a_restart() -> None:
    world = running(groups=1)
    world.change(config=NEW)
    [lease] = world.api.of_kind("Lease")
    lease["metadata"]["annotations"]["gantrymq.dev/switch-at"] = str(int(world.api.now) + 99999)
    assert "orders-broker-0 to 2" in steps(world)


def _node_of(world: World, pod: str) -> str:
    found = world.api.get("Pod", pod)
    assert found is not None
    return str(found["spec"]["nodeName"])
