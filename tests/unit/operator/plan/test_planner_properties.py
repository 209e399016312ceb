"""Tests properties of every plan, after random histories of a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gantrymq.operator.plan.actions import AnnotateLease, Delete, Json
from gantrymq.operator_model.controllers import BAD
from gantrymq.operator_model.world import DEFAULTS, KINDS, NAME, World, must_be_single

Fault = Callable[[World], None]

EXAMPLES = int(os.environ.get("GANTRY_PLANS", "15"))
"""Histories of each property; raise it for a long search."""

SLOW = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SPECS = st.fixed_dictionaries(
    {
        "groups": st.integers(1, 3),
        "membersPerGroup": st.integers(1, 3),
        "nameServers": st.integers(1, 2),
        "replication": st.sampled_from(["sync", "async"]),
        "security": st.sampled_from([{}, {"profile": "secure"}]),
    }
)
CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "groups": st.integers(1, 4),
    "membersPerGroup": st.integers(1, 3),
    "nameServers": st.integers(1, 3),
    "flush": st.sampled_from(["sync", "async"]),
    "config": st.sampled_from(
        [{}, {"fileReservedTime": "48"}, {BAD: "1"}, {"tls.server.mode": "enforcing"}]
    ),
    "replicationTls": st.sampled_from(["accepted", "used", "required"]),
    "image": st.sampled_from([{}, {"broker": "example.org/broker:2"}, {"broker": BAD}]),
    "pods": st.sampled_from([{}, {"annotations": {"team": "a"}}]),
    "preferredMasters": st.sampled_from([{}, {"broker-0": 1}, {"broker-0": 2, "broker-1": 1}]),
    "storage": st.sampled_from([{"size": "20Gi"}, {"size": "40Gi"}]),
    "paused": st.booleans(),
}


def change(field: str, value: Any) -> Fault:  # Any: the value of a field of the spec
    return lambda world: world.change(**{field: value})


def lose(kind: str, number: int) -> Fault:
    def act(world: World) -> None:
        names = [each["metadata"]["name"] for each in world.api.of_kind(kind)]
        if names:
            world.lose(kind, names[number % len(names)])

    return act


def edit(what: str, number: int) -> Fault:
    """A user changes a field that the operator owns."""

    def act(world: World) -> None:
        kind = "StatefulSet" if what in ("replicas", "image") else what
        found = world.api.of_kind(kind)
        if not found:
            return
        content = found[number % len(found)]
        match what:
            case "replicas":
                content["spec"]["replicas"] = number % 4
            case "image":
                content["spec"]["template"]["spec"]["containers"][0]["image"] = BAD
            case "Service":
                content["spec"].setdefault("selector", {})["extra"] = "label"
            case "ConfigMap":
                content["data"] = {}
            case "PodDisruptionBudget":
                content["spec"]["maxUnavailable"] = 0
            case "Role":
                content["rules"] = []
        world.api.touch(content)

    return act


def request(annotation: str, value: str, number: int) -> Fault:
    def act(world: World) -> None:
        leases = world.api.of_kind("Lease")
        if leases:
            lease = leases[number % len(leases)]
            lease["metadata"]["annotations"][f"gantrymq.dev/{annotation}"] = value
            world.api.touch(lease)

    return act


def node(number: int, *, is_ready: bool) -> Fault:
    return lambda world: world.set_node(f"node-{number}", is_ready=is_ready)


def rotate(request: str) -> Fault:
    return lambda world: world.ask_for_a_new_secret(request)


def upgrade(world: World) -> None:
    """Another version of the operator, with other default images."""
    kinds = type(DEFAULTS)
    world.defaults = kinds("example.org/broker:9", "example.org/namesrv:9")


def run(limit: int | None) -> Fault:
    """The operator runs; with a limit it is killed after so many actions."""
    return lambda world: void(world.reconcile(limit))


def void(_: object) -> None:
    return None


NUMBERS = st.integers(0, 9)
FAULTS: st.SearchStrategy[Fault] = st.one_of(
    st.one_of([st.builds(change, st.just(name), values) for name, values in CHANGES.items()]),
    st.builds(lose, st.sampled_from([*KINDS, "Pod"]), NUMBERS),
    st.builds(
        edit,
        st.sampled_from(
            ["replicas", "image", "Service", "ConfigMap", "PodDisruptionBudget", "Role"]
        ),
        NUMBERS,
    ),
    st.builds(
        request,
        st.sampled_from(["preferred", "fenced", "switch-to", "switch-number"]),
        st.sampled_from(["1", "2", "broker-1", ""]),
        NUMBERS,
    ),
    st.builds(rotate, st.sampled_from(["monday", "tuesday"])),
    st.builds(lambda number: node(number, is_ready=False), st.integers(0, 3)),
    st.builds(lambda number: node(number, is_ready=True), st.integers(0, 3)),
    st.just(upgrade),
    st.builds(run, st.one_of(st.none(), NUMBERS)),
    st.builds(run, st.none()),
)
HISTORIES = st.lists(FAULTS, max_size=14)


def after(spec: dict[str, Any], history: list[Fault]) -> World:
    world = World(spec, nodes=4)
    for fault in history:
        fault(world)
    return world


def heal(world: World) -> None:
    """Everything that only people can repair."""
    for number in range(4):
        world.set_node(f"node-{number}", is_ready=True)
    resource = world.resource
    assert resource is not None
    fields: Json = {"paused": False, "config": {}, "image": {}, "preferredMasters": {}}
    if resource["spec"].get("security"):
        fields["replicationTls"] = None  # other values are refused of a secure cluster
    if any(resource["spec"].get(key, value) != value for key, value in fields.items()):
        world.change(**fields)
    for lease in world.api.of_kind("Lease"):
        lease["metadata"]["annotations"].pop("gantrymq.dev/fenced", None)


@SLOW
@given(SPECS, HISTORIES)
def test_every_history_converges_to_a_running_cluster(
    spec: dict[str, Any], history: list[Fault]
) -> None:
    world = after(spec, history)
    heal(world)
    planned = world.settle()
    assert planned.status["phase"] == "Running", planned.status
    assert planned.actions == ()
    assert planned.status["readyGroups"] == f"{len(world.groups())}/{len(world.groups())}"


@SLOW
@given(SPECS, HISTORIES)
def test_a_plan_is_the_same_for_the_same_snapshot(
    spec: dict[str, Any], history: list[Fault]
) -> None:
    world = after(spec, history)
    assert world.plan() == world.plan()


@SLOW
@given(SPECS, HISTORIES, st.sampled_from(["objects", "pods", "leases", "nodes", "volume_claims"]))
def test_nothing_disruptive_is_planned_with_an_incomplete_snapshot(
    spec: dict[str, Any], history: list[Fault], hidden: str
) -> None:
    world = after(spec, history)
    planned = world.plan(**{hidden: None})
    assert not [each for each in planned.actions if isinstance(each, AnnotateLease)]
    assert not [
        each for each in planned.actions if isinstance(each, Delete) and each.ref.kind == "Pod"
    ]
    if hidden == "objects":
        assert planned.actions == ()


@SLOW
@given(SPECS, HISTORIES)
def test_a_lease_that_cannot_be_read_stops_restarts_and_requests_of_its_group(
    spec: dict[str, Any], history: list[Fault]
) -> None:
    world = after(spec, history)
    leases = dict(world.snapshot().leases or {})
    leases.pop("broker-0", None)
    for action in world.plan(leases=leases).actions:
        if isinstance(action, AnnotateLease | Delete) and action.is_disruptive:
            assert not action.ref.name.startswith(f"{NAME}-broker-0")


@SLOW
@given(SPECS, HISTORIES)
def test_a_plan_disrupts_a_group_at_most_once(spec: dict[str, Any], history: list[Fault]) -> None:
    must_be_single(after(spec, history).plan().actions)


@SLOW
@given(SPECS, st.integers(0, 40))
def test_an_operator_that_is_killed_after_each_action_still_converges(
    spec: dict[str, Any], changed_after: int
) -> None:
    world = World(spec, nodes=4)
    for number in range(400):
        if number == changed_after:
            world.change(config={"fileReservedTime": "48"})
        if number > changed_after and not world.plan().actions:
            world.tick()
            if not world.plan().actions:
                break
        world.reconcile(limit=1)
    else:
        pytest.fail("does not converge")
    assert world.settle().status["phase"] == "Running"


@SLOW
@given(SPECS)
def test_a_new_operator_restarts_nothing(spec: dict[str, Any]) -> None:
    world = World(spec, nodes=4)
    world.settle()
    upgrade(world)
    assert world.plan().actions == ()


@SLOW
@given(SPECS, st.sampled_from(["preferredMasters", "paused", "storage"]))
def test_a_field_that_pods_do_not_depend_on_restarts_no_pod(
    spec: dict[str, Any], field: str
) -> None:
    world = World(spec, nodes=4)
    world.settle()
    values = {"preferredMasters": {"broker-0": 1}, "paused": True, "storage": {"size": "40Gi"}}
    world.change(**{field: values[field]})
    for _ in range(6):
        planned = world.reconcile()
        assert not [each for each in planned.actions if isinstance(each, Delete)]
