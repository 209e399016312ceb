"""Tests that a secret rotation takes steps, each of which all members have reached."""

from __future__ import annotations

import base64
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gantrymq.base.group_secret import fingerprint
from gantrymq.operator.kube.watch.reducers import lines_of_secret
from gantrymq.operator.plan.actions import ChangeSecret, Delete, Json, Plan
from gantrymq.operator.plan.objects.secret import REQUEST_MAX, ROTATION, STEP
from gantrymq.operator_model.world import World

SECRET = "orders-replication"  # noqa: S105 - the name of an object
EXAMPLES = int(os.environ.get("GANTRY_PLANS", "15"))
"""Histories; raise it for a long search."""
STEPS = ["NewAccepted", "NewUsed", "OldRemoved"]


def running(**spec: Any) -> World:
    world = World(spec, nodes=3)
    world.settle()
    return world


def secret_of(world: World) -> Json:
    found = world.api.get("Secret", SECRET)
    assert found is not None
    return found


def lines_of(world: World) -> tuple[bytes, ...]:
    return lines_of_secret(secret_of(world))


def rotation_of(planned: Plan) -> Json:
    found: Json = planned.status["secretRotation"]
    return found


def changes(planned: Plan) -> list[ChangeSecret]:
    return [each for each in planned.actions if isinstance(each, ChangeSecret)]


def test_a_change_that_is_asked_for_takes_three_steps_and_restarts_no_member() -> None:
    world = running(groups=2)
    [old] = lines_of(world)
    world.ask_for_a_new_secret("monday")
    seen = []
    for _ in range(30):
        planned = world.reconcile()
        assert not any(isinstance(each, Delete) for each in planned.actions)
        seen += [(secret_of(world)["metadata"]["annotations"].get(STEP), lines_of(world))]
    [new] = lines_of(world)
    assert new != old
    files = [each for number, each in enumerate(seen) if each not in seen[:number]]
    assert files == [
        ("NewAccepted", (old, new)),
        ("NewUsed", (new, old)),
        ("OldRemoved", (new,)),
        (None, (new,)),
    ]
    assert rotation_of(world.plan()) == {"request": "monday", "step": "Done", "waitsFor": []}
    assert set(world.files.known().values()) == {(fingerprint(new),)}


def test_the_same_request_is_carried_out_once() -> None:
    world = running()
    world.ask_for_a_new_secret("monday")
    world.settle()
    [new] = lines_of(world)
    assert world.settle().actions == ()
    assert lines_of(world) == (new,)


def test_another_request_meanwhile_is_carried_out_afterwards() -> None:
    world = running()
    world.ask_for_a_new_secret("monday")
    world.reconcile()
    world.ask_for_a_new_secret("tuesday")
    assert rotation_of(world.reconcile())["request"] == "monday"
    assert rotation_of(world.settle()) == {"request": "tuesday", "step": "Done", "waitsFor": []}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_waits_for_each_member_and_the_status_names_those_that_miss(step: str) -> None:
    world = running()
    world.ask_for_a_new_secret("monday")
    while secret_of(world)["metadata"].get("annotations", {}).get(STEP) != step:
        planned = world.plan()
        world.execute(planned)
        if secret_of(world)["metadata"].get("annotations", {}).get(STEP) != step:
            world.tick()
    late = world.api.get("Pod", "orders-broker-0-1")
    assert late is not None
    world.files.held.add(late["spec"]["nodeName"])
    assert not [each for _ in range(5) for each in changes(world.reconcile())]
    planned = world.plan()
    assert rotation_of(planned) == {
        "request": "monday",
        "step": step,
        "waitsFor": ["orders-broker-0-1"],
    }
    [wait] = planned.waits
    assert wait.what == "rotation of Secret orders-replication"
    assert "not read yet by orders-broker-0-1" in wait.why
    quiesced = next(each for each in planned.status["conditions"] if each["type"] == "Quiesced")
    assert quiesced["status"] == "False"
    world.files.held.clear()
    assert rotation_of(world.settle()) == {"request": "monday", "step": "Done", "waitsFor": []}


def test_a_member_that_does_not_answer_delays_a_step() -> None:
    world = running()
    world.ask_for_a_new_secret("monday")
    known = world.files.known()
    del known["orders-broker-0-0"]
    planned = world.plan(known_secrets=known)
    assert not changes(planned)
    [wait] = planned.waits
    assert "no answer from orders-broker-0-0 at port 5557" in wait.why


def test_a_plan_for_which_no_member_was_asked_changes_nothing() -> None:
    world = running()
    world.ask_for_a_new_secret("monday")
    planned = world.plan(known_secrets=None)
    assert not changes(planned)
    assert "the members were not asked" in planned.waits[0].why


def test_a_paused_cluster_keeps_its_secret() -> None:
    world = running()
    world.change(paused=True)
    world.ask_for_a_new_secret("monday")
    before = lines_of(world)
    world.settle()
    assert lines_of(world) == before
    world.change(paused=False)
    world.settle()
    assert lines_of(world) != before


def test_a_request_that_is_too_long_is_reported_and_changes_nothing() -> None:
    world = running()
    world.ask_for_a_new_secret("x" * (REQUEST_MAX + 1))
    planned = world.plan()
    assert not changes(planned)
    assert f"has {REQUEST_MAX + 1} characters, but may have {REQUEST_MAX}" in planned.waits[0].why


def edit(world: World, text: bytes | None, step: str) -> None:
    secret = secret_of(world)
    if text is not None:
        secret["data"]["secret"] = base64.b64encode(text).decode()
    secret["metadata"].setdefault("annotations", {})[STEP] = step
    world.api.touch(secret)


@pytest.mark.parametrize(
    ("text", "step", "told"),
    [
        (None, "Later", "is 'Later', which is no step"),
        (
            None,
            "NewUsed",
            "it has 1 lines, but must have 2 while gantrymq.dev/rotation-step is NewUsed",
        ),
        (b"a" * 16 + b"\n" + b"b" * 16, "OldRemoved", "it has 2 lines, but must have 1 while"),
        (b"", "OldRemoved", "it has 0 lines"),
    ],
)
def test_a_secret_that_was_edited_during_a_rotation_is_reported_and_not_changed(
    text: bytes | None, step: str, told: str
) -> None:
    world = running()
    edit(world, text, step)
    planned = world.plan()
    assert not changes(planned)
    assert told in planned.waits[0].why
    assert "remove gantrymq.dev/rotation-step" in planned.waits[0].why


def test_a_change_by_hand_is_left_alone() -> None:
    world = running()
    edit(world, b"a" * 16 + b"\n" + b"b" * 16, "")
    planned = world.plan()
    assert planned.actions == ()
    assert planned.waits == ()


def test_a_recreated_secret_fulfils_the_request() -> None:
    world = running()
    world.ask_for_a_new_secret("monday")
    world.lose("Secret", SECRET)
    world.settle()
    assert secret_of(world)["metadata"]["annotations"] == {ROTATION: "monday"}
    assert rotation_of(world.plan()) == {"request": "monday", "step": "Done", "waitsFor": []}


def test_a_plan_does_not_show_the_new_secret() -> None:
    world = running()
    world.ask_for_a_new_secret("monday")
    [change] = changes(world.plan())
    assert change.added
    assert change.added not in repr(change)


# ---------------------------------------------------------------------- histories

ACTS = st.sampled_from(
    ["ask", "kill", "hold", "release", "lose a pod", "restart all", "down", "up", "grow", "run"]
)


def act(world: World, what: str, number: int) -> None:
    node, pods = f"node-{number % 3}", [each["metadata"]["name"] for each in _brokers(world)]
    match what:
        case "ask":
            world.ask_for_a_new_secret(f"request {number}")
        case "kill":  # the operator, after some actions
            world.reconcile(limit=number)
        case "hold":
            world.files.held.add(node)
        case "release":
            world.files.held.clear()
        case "lose a pod" if pods:
            world.lose("Pod", pods[number % len(pods)])
        case "restart all":
            world.change(config={"fileReservedTime": str(number + 1)})
        case "down":
            world.set_node(node, is_ready=False)
        case "up":
            world.set_node(node, is_ready=True)
        case "grow" if number % 3 == 0:
            world.change(groups=2)
    world.reconcile()


def _brokers(world: World) -> list[Json]:
    pods = world.api.of_kind("Pod")
    return [pod for pod in pods if "gantrymq.dev/group" in pod["metadata"]["labels"]]


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(ACTS, st.integers(0, 9)), max_size=25))
def test_members_always_accept_each_other_and_every_rotation_ends(
    history: list[tuple[str, int]],
) -> None:
    world = running()
    world.ask_for_a_new_secret("first")
    for what, number in history:
        act(world, what, number)  # World.tick asserts that members believe each other
    world.files.held.clear()
    for number in range(3):
        world.set_node(f"node-{number}", is_ready=True)
    planned = world.settle()
    assert rotation_of(planned)["step"] == "Done"
    assert len(lines_of(world)) == 1
    assert planned.status["phase"] == "Running"
