"""Tests columns and conditions of a status, and that it does not change by itself."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.plan.snapshot import MemberReport
from gantrymq.operator.resources.reasons.conditions import ConditionType
from gantrymq.operator_model.world import World

MI = 1 << 20


def running(**spec: Any) -> World:
    world = World(spec, nodes=4)
    world.settle()
    return world


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


def test_a_running_cluster() -> None:
    world = running(groups=2)
    status = world.plan().status
    assert (status["phase"], status["readyGroups"], status["readyMembers"]) == (
        "Running",
        "2/2",
        "4/4",
    )
    assert status["masters"].startswith("broker-0=orders-broker-0-")
    assert conditions(status) == {
        "Ready": ("True", "AllReady"),
        "Available": ("True", "AllGroupsHaveMasters"),
        "InSync": ("True", "AllInSync"),
        "Progressing": ("False", "Idle"),
        "Degraded": ("False", "Healthy"),
        "Spread": ("True", "WellSpread"),
        "ConfigurationApplied": ("True", "Applied"),
        "Paused": ("False", "NotPaused"),
        "Quiesced": ("True", "NothingToDo"),
        "Secured": ("False", "PortsOpen"),
    }


def test_the_status_says_the_same_later() -> None:
    world = running()
    before = world.plan().status
    world.api.now += 3600
    assert world.plan().status == before


def test_a_new_cluster_is_being_created() -> None:
    status = World({}).plan().status
    assert status["phase"] == "Creating"
    assert conditions(status)["Ready"] == ("False", "Creating")
    assert conditions(status)["Progressing"] == ("True", "Creating")
    assert conditions(status)["Degraded"] == ("False", "Creating")


def test_a_lost_follower_degrades_a_group_that_acknowledges() -> None:
    world = running(replication="async")
    world.set_node(_node(world, "orders-broker-0-1"), is_ready=False)
    world.tick(2)
    status = world.plan().status
    assert status["phase"] == "Degraded"
    found = conditions(status)
    assert found["Available"] == ("True", "AllGroupsHaveMasters")
    assert found["InSync"] == ("False", "FollowerMissing")
    assert found["Degraded"] == ("True", "FollowerMissing")


def test_a_lost_follower_makes_a_group_unavailable_that_needs_two_copies() -> None:
    world = running()
    world.set_node(_node(world, "orders-broker-0-1"), is_ready=False)
    world.tick(2)
    status = world.plan().status
    assert status["phase"] == "Unavailable"
    assert status["readyGroups"] == "0/1"
    assert conditions(status)["Available"] == ("False", "NoMaster")


def test_the_lag_of_the_slowest_member_is_a_column() -> None:
    world = running()
    reports = {"broker-0": (MemberReport(1, True, 0), MemberReport(2, False, 12 * MI))}
    status = world.plan(reports=reports).status
    assert status["maxLag"] == "16Mi"
    assert [each["lag"] for each in status["groups"][0]["members"]] == ["0", "16Mi"]


def test_unmanaged_topics_are_counted_and_some_are_named() -> None:
    topics = tuple(f"t{number:03}" for number in range(30))
    status = running().plan(unmanaged_topics=topics).status
    assert status["unmanagedTopics"]["count"] == 30
    assert len(status["unmanagedTopics"]["names"]) == 20


@pytest.mark.parametrize("hidden", ["objects", "pods", "leases", "nodes", "volume_claims"])
def test_an_incomplete_snapshot_keeps_the_status(hidden: str) -> None:
    world = running()
    assert world.plan(**{hidden: None}).status == world.plan().status


def test_a_cluster_that_was_never_read_is_unknown() -> None:
    status = World({}).plan(objects=None).status
    assert conditions(status)["Ready"] == ("Unknown", "ObservationIncomplete")


def test_an_invalid_spec_is_reported_and_nothing_is_changed() -> None:
    world = running()
    world.change(groups=0)
    planned = world.plan()
    assert planned.actions == ()
    assert conditions(planned.status)["Ready"] == ("False", "InvalidSpec")
    assert conditions(planned.status)["Available"] == ("True", "AllGroupsHaveMasters")
    assert [each.reason for each in planned.events] == ["InvalidSpec"]
    world.change(groups=1)
    assert conditions(world.settle().status)["Ready"] == ("True", "AllReady")


def test_a_paused_cluster_is_only_watched() -> None:
    world = running()
    world.change(paused=True, config={"fileReservedTime": "48"})
    planned = world.plan()
    assert planned.actions == ()
    assert planned.status["phase"] == "Paused"
    assert conditions(planned.status)["ConfigurationApplied"] == ("False", "PausedBySpec")


def test_members_of_one_zone_are_reported_if_there_are_more_zones() -> None:
    world = World({}, nodes=4, zones=2)
    world.settle()
    assert conditions(world.plan().status)["Spread"][0] == "True"
    for pod in world.api.of_kind("Pod"):
        if "broker" in pod["metadata"]["name"]:
            ordinal = int(pod["metadata"]["name"][-1])
            pod["spec"]["nodeName"] = f"node-{ordinal * 2}"
    assert conditions(world.plan().status)["Spread"] == ("False", "ZonesShared")


def test_every_condition_has_a_verdict() -> None:
    of_topics = {ConditionType.IN_CONFLICT, ConditionType.DRAINED}
    expected = {each.value for each in ConditionType if each not in of_topics}
    assert conditions(running().plan().status).keys() == expected


def test_a_new_master_is_an_event() -> None:
    world = running()
    [lease] = world.api.of_kind("Lease")
    lease["spec"]["holderIdentity"] = "2" if lease["spec"]["holderIdentity"] == "1" else "1"
    assert "MasterChanged" in [each.reason for each in world.plan().events]


def _node(world: World, pod: str) -> str:
    found = world.api.get("Pod", pod)
    assert found is not None
    return str(found["spec"]["nodeName"])
