"""Tests that edited Services keep their address, and are deleted only if necessary."""

from __future__ import annotations

from gantrymq.operator.plan.actions import Delete, Json, Plan
from gantrymq.operator_model.world import World

GROUP = "orders-broker-0"


def running() -> World:
    world = World({"groups": 1}, nodes=3)
    world.settle()
    return world


def service(world: World, name: str = GROUP) -> Json:
    found = world.api.get("Service", name)
    assert found is not None
    return found


def deleted_services(planned: Plan) -> list[str]:
    found = [each.ref for each in planned.actions if isinstance(each, Delete)]
    return [each.name for each in found if each.kind == "Service"]


def test_a_port_and_a_selector_added_by_hand_do_not_change_the_address_of_a_group() -> None:
    world = running()
    before = service(world)
    uid, address = before["metadata"]["uid"], before["spec"]["clusterIP"]
    before["spec"]["ports"].append({"name": "web", "port": 80})
    before["spec"]["selector"] = {"app": "x"}
    world.api.touch(before)
    for _ in range(4):
        assert deleted_services(world.reconcile()) == []
    after = service(world)
    assert (after["metadata"]["uid"], after["spec"]["clusterIP"]) == (uid, address)
    assert [each["name"] for each in after["spec"]["ports"]] == ["broker", "fast", "ha"]
    assert "selector" not in after["spec"]


def test_a_service_is_not_recreated_while_other_actions_are_planned() -> None:
    world = running()
    service(world, f"{GROUP}-members")["spec"]["clusterIP"] = "10.96.9.9"
    world.change(config={"fileReservedTime": "48"})
    planned = world.plan()
    assert planned.actions
    assert deleted_services(planned) == []
    assert any("after all other actions" in each.why for each in planned.waits)
    world.settle()
    assert service(world, f"{GROUP}-members")["spec"]["clusterIP"] == "None"


def test_a_group_service_that_was_made_headless_gets_the_address_it_had() -> None:
    world = running()
    address = service(world)["spec"]["clusterIP"]
    service(world)["spec"]["clusterIP"] = "None"
    assert deleted_services(world.plan()) == [GROUP]
    world.settle()
    assert service(world)["spec"]["clusterIP"] == address
