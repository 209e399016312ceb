"""Tests that TLS of links changes step by step, and that members can always connect."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gantrymq.base.configuration.properties import parse_properties
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.pods.replication_tls import LinkTls, link_settings, next_mode
from gantrymq.operator.plan.objects.pods.workloads import CONFIG_ENTRY
from gantrymq.operator_model.samples import cluster
from gantrymq.operator_model.world import World

MODES = {
    LinkTls.NONE: "tls.server.mode=disabled",
    LinkTls.ACCEPTED: "fileReservedTime=48",
    LinkTls.USED: "haTls=used",
    LinkTls.REQUIRED: "tls.server.mode=enforcing",
}
SPECS: dict[LinkTls, Json] = {
    LinkTls.NONE: {"config": {"tls.server.mode": "disabled"}},
    LinkTls.ACCEPTED: {},
    LinkTls.USED: {"replicationTls": "used"},
    LinkTls.REQUIRED: {"config": {"tls.server.mode": "enforcing"}},
}
_CONFIG = {"data": {mode.name: text for mode, text in MODES.items()}}


def chosen(wanted: LinkTls, template: LinkTls, pods: list[LinkTls] | None) -> LinkTls:
    def with_entry(mode: LinkTls) -> Json:
        return {"metadata": {"annotations": {CONFIG_ENTRY: mode.name}}}

    stateful_set = {"spec": {"template": with_entry(template)}}
    spec = cluster(**SPECS[wanted]).spec
    found = None if pods is None else [with_entry(each) for each in pods]
    return next_mode(spec, stateful_set, _CONFIG, found)


@pytest.mark.parametrize(
    ("wanted", "template", "pods", "expected"),
    [
        ("REQUIRED", "ACCEPTED", ["ACCEPTED", "ACCEPTED"], "USED"),
        ("REQUIRED", "USED", ["ACCEPTED", "USED"], "USED"),
        ("REQUIRED", "USED", ["USED", "USED"], "REQUIRED"),
        ("REQUIRED", "REQUIRED", ["USED", "REQUIRED"], "REQUIRED"),
        ("ACCEPTED", "REQUIRED", ["USED", "REQUIRED"], "USED"),
        ("ACCEPTED", "USED", ["USED"], "ACCEPTED"),
        ("USED", "NONE", ["NONE", "NONE"], "ACCEPTED"),
        ("NONE", "USED", ["USED", "USED"], "ACCEPTED"),
        ("NONE", "ACCEPTED", ["ACCEPTED"], "NONE"),
        ("REQUIRED", "USED", None, "USED"),
        ("ACCEPTED", "NONE", None, "ACCEPTED"),
        ("USED", "ACCEPTED", [], "USED"),
    ],
)
def test_a_template_is_one_step_from_what_runs(
    wanted: str, template: str, pods: list[str] | None, expected: str
) -> None:
    running = None if pods is None else [LinkTls[each] for each in pods]
    assert chosen(LinkTls[wanted], LinkTls[template], running) is LinkTls[expected]


MODE = st.sampled_from(LinkTls)


@given(MODE, MODE, st.lists(MODE, max_size=5))
def test_members_that_can_connect_can_still_connect(
    wanted: LinkTls, template: LinkTls, pods: list[LinkTls]
) -> None:
    running = [template, *pods]
    found = chosen(wanted, template, pods)
    if max(running) - min(running) <= 1:
        assert all(abs(found - each) <= 1 for each in running)
    if set(running) == {wanted}:
        assert found is wanted


def test_a_new_group_has_what_is_asked_for() -> None:
    assert next_mode(cluster(replicationTls="required").spec, None, None, []) is LinkTls.REQUIRED
    assert next_mode(cluster().spec, None, None, []) is LinkTls.ACCEPTED


def test_nothing_is_written_where_the_settings_say_it() -> None:
    for mode, spec in SPECS.items():
        said = {} if mode is not LinkTls.USED else {"haTls": "used"}
        assert link_settings(mode, cluster(**spec).spec) == said


# ---------------------------------------------------------------------- on the model


def modes_of(world: World, texts: dict[str, str]) -> list[set[LinkTls]]:
    """The modes of the pods of each group; `texts` are all entries of ConfigMaps ever seen."""
    for config in world.api.of_kind("ConfigMap"):
        texts.update(config["data"])
    found: dict[str, set[LinkTls]] = {}
    for pod in world.api.of_kind("Pod"):
        group = pod["metadata"]["labels"].get("gantrymq.dev/group")
        if group:
            values = parse_properties(texts[pod["metadata"]["annotations"][CONFIG_ENTRY]])
            found.setdefault(group, set()).add(mode_of(values))
    return list(found.values())


def mode_of(values: dict[str, str]) -> LinkTls:
    """As the broker reads its settings."""
    server = values.get("tls.server.mode", "permissive")
    if server == "disabled":
        return LinkTls.NONE
    default = "required" if server == "enforcing" else "accepted"
    return LinkTls[values.get("haTls", default).upper()]


def must_connect(world: World, texts: dict[str, str]) -> None:
    for modes in modes_of(world, texts):
        assert max(modes) - min(modes) <= 1, modes


def test_required_comes_in_two_rounds_of_restarts_and_links_can_always_be_made() -> None:
    world = World({"groups": 2}, nodes=3)
    world.settle()
    world.change(replicationTls="required")
    texts: dict[str, str] = {}
    seen = []
    for _ in range(60):
        world.reconcile()
        must_connect(world, texts)
        seen.append(modes_of(world, texts))
    for group in range(2):
        assert {LinkTls.USED} in [modes[group] for modes in seen]
    assert seen[-1] == [{LinkTls.REQUIRED}] * 2
    assert world.plan().actions == ()


def test_the_same_field_restarts_nothing() -> None:
    world = World({}, nodes=3)
    world.settle()
    world.change(replicationTls="accepted")
    assert world.plan().actions == ()


CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "replicationTls": st.sampled_from(["accepted", "used", "required"]),
    "config": st.sampled_from(
        [{}, *({"tls.server.mode": each} for each in ("permissive", "enforcing", "disabled"))]
    ),
}


CHANGE = st.one_of([st.tuples(st.just(name), values) for name, values in CHANGES.items()])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(CHANGE, st.integers(0, 9), st.integers(0, 12)), max_size=6))
def test_no_history_of_changes_has_members_that_cannot_connect(
    history: list[tuple[tuple[str, Any], int, int]],
) -> None:
    world, texts = World({}, nodes=3), dict[str, str]()
    world.settle()
    must_connect(world, texts)
    for (field, value), number, rounds in history:
        world.change(**{field: value})
        if number < 2:
            world.lose("Pod", f"orders-broker-0-{number}")
        for turn in range(rounds):
            world.reconcile(limit=1 if number == turn else None)
            must_connect(world, texts)
    world.change(config={}, replicationTls="used")
    assert world.settle().status["phase"] == "Running"
    assert modes_of(world, texts) == [{LinkTls.USED}]
