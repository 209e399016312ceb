"""Tests when the operator requests another master, and when it does not."""

from __future__ import annotations

from typing import Any

from gantrymq.operator.plan.actions import AnnotateLease, Plan
from gantrymq.operator.plan.view.lease import PREFERRED, SWITCH_NUMBER, SWITCH_TO, read_lease
from gantrymq.operator_model.world import NAME, World


def running(**spec: Any) -> World:
    world = World(spec, nodes=2)
    world.settle()
    return world


def requests(planned: Plan) -> list[AnnotateLease]:
    return [each for each in planned.actions if isinstance(each, AnnotateLease)]


def master(world: World, group: str) -> int:
    lease = world.api.get("Lease", f"{NAME}-{group}")
    assert lease is not None
    return read_lease(lease).holder


def nodes_of_masters(world: World) -> list[str]:
    found = []
    for group in world.groups():
        pod = world.api.get("Pod", f"{NAME}-{group}-{master(world, group) - 1}")
        assert pod is not None
        found.append(str(pod["spec"]["nodeName"]))
    return found


def fail_over(world: World, group: str, to: int) -> None:
    lease = world.api.get("Lease", f"{NAME}-{group}")
    assert lease is not None
    lease["spec"]["holderIdentity"] = str(to)
    world.api.touch(lease)


def crowd(world: World) -> None:
    """Let all masters be on one node."""
    for group in world.groups():
        for member in (1, 2):
            pod = world.api.get("Pod", f"{NAME}-{group}-{member - 1}")
            assert pod is not None
            if pod["spec"]["nodeName"] == "node-0":
                fail_over(world, group, member)


def test_a_new_cluster_has_its_masters_on_all_nodes() -> None:
    world = running(groups=4)
    assert sorted(nodes_of_masters(world)) == ["node-0", "node-0", "node-1", "node-1"]


def test_a_group_that_has_formed_gets_a_preferred_master() -> None:
    world = running(groups=2)
    for lease in world.api.of_kind("Lease"):
        assert read_lease(lease).preferred == read_lease(lease).holder


def test_masters_on_a_crowded_node_are_moved_one_at_a_time() -> None:
    world = running(groups=4)
    crowd(world)
    world.api.now += 100
    [request] = requests(world.plan())
    assert request.is_disruptive
    assert "4 masters are on node node-0" in request.reason
    world.settle()
    assert sorted(nodes_of_masters(world)) == ["node-0", "node-0", "node-1", "node-1"]


def test_masters_are_not_moved_while_a_group_is_not_in_sync() -> None:
    world = running(groups=4)
    crowd(world)
    world.api.now += 100
    lease = world.api.get("Lease", f"{NAME}-broker-3")
    assert lease is not None
    lease["metadata"]["annotations"]["gantrymq.dev/in-sync"] = lease["spec"]["holderIdentity"]
    assert requests(world.plan()) == []


def test_a_failover_that_leaves_the_masters_spread_is_accepted() -> None:
    world = running(groups=1)
    fail_over(world, "broker-0", 2)
    assert requests(world.plan()) == []


def test_a_preference_of_the_user_moves_the_master_once() -> None:
    world = running(groups=2)
    other = 3 - master(world, "broker-0")
    world.change(preferredMasters={"broker-0": other})
    [request] = requests(world.plan())
    assert request.annotations[PREFERRED] == request.annotations[SWITCH_TO] == str(other)
    world.settle()
    assert master(world, "broker-0") == other
    world.change(groups=2)
    assert requests(world.plan()) == []


def test_a_preference_for_a_member_that_is_not_in_sync_waits() -> None:
    world = running(groups=1)
    lease = world.api.get("Lease", f"{NAME}-broker-0")
    assert lease is not None
    lease["metadata"]["annotations"]["gantrymq.dev/in-sync"] = lease["spec"]["holderIdentity"]
    world.change(preferredMasters={"broker-0": 3 - master(world, "broker-0")})
    planned = world.plan()
    assert requests(planned) == []
    assert planned.waits[0].why == "the group is not in sync"


def test_a_fenced_member_is_not_made_master() -> None:
    world = running(groups=1)
    other = 3 - master(world, "broker-0")
    lease = world.api.get("Lease", f"{NAME}-broker-0")
    assert lease is not None
    lease["metadata"]["annotations"]["gantrymq.dev/fenced"] = str(other)
    world.change(preferredMasters={"broker-0": other})
    planned = world.plan()
    assert requests(planned) == []
    assert planned.waits[0].why == f"member {other} is fenced"


def test_the_number_of_a_switchover_rises_above_what_was_granted() -> None:
    world = running(groups=1)
    lease = world.api.get("Lease", f"{NAME}-broker-0")
    assert lease is not None
    lease["metadata"]["annotations"] |= {
        "gantrymq.dev/granted": "9",
        "gantrymq.dev/switch-number": "9",
    }
    world.change(preferredMasters={"broker-0": 3 - master(world, "broker-0")})
    [request] = requests(world.plan())
    assert request.annotations[SWITCH_NUMBER] == "10"


def test_no_second_switchover_is_asked_for_while_one_is_under_way() -> None:
    world = running(groups=4)
    crowd(world)
    world.api.now += 100
    lease = world.api.get("Lease", f"{NAME}-broker-0")
    assert lease is not None
    lease["metadata"]["annotations"]["gantrymq.dev/switch-number"] = "5"
    assert requests(world.plan()) == []


def test_a_group_whose_members_are_all_fenced_keeps_its_master() -> None:
    world = running(groups=4)
    crowd(world)
    world.api.now += 100
    fenced = world.api.get("Lease", f"{NAME}-broker-0")
    assert fenced is not None
    fenced["metadata"]["annotations"]["gantrymq.dev/fenced"] = "1,2"
    del fenced["metadata"]["annotations"][PREFERRED]
    asked = requests(world.plan())
    assert len(asked) == 1
    assert asked[0].ref.name != f"{NAME}-broker-0"


def test_a_switchover_that_was_asked_for_in_the_future_is_repeated() -> None:
    world = running(groups=4)
    crowd(world)
    for lease in world.api.of_kind("Lease"):
        lease["metadata"]["annotations"]["gantrymq.dev/switch-at"] = str(int(world.api.now) + 9999)
    assert len(requests(world.plan())) == 1
