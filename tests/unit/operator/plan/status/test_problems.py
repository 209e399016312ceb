"""Tests the problems that members report, in the status of their group."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator_model.world import World

POD = "orders-broker-0-1"
LEASE = "orders-broker-0"


@pytest.fixture
def world() -> World:
    found = World({})
    found.settle()
    return found


def problems(world: World, **seen: Any) -> list[str]:  # Any: fields of the snapshot
    [group] = world.plan(**seen).status["groups"]
    found: list[str] = group["problems"]
    return found


def annotate(world: World, **notes: str) -> None:
    found = world.api.get("Lease", LEASE)
    assert found is not None
    named = {f"gantrymq.dev/{name}": value for name, value in notes.items()}
    found["metadata"]["annotations"] |= named


def test_a_healthy_group_reports_none(world: World) -> None:
    assert problems(world) == []


def test_a_pod_that_is_not_ready_says_why_in_words_that_stay_while_the_cause_does(
    world: World,
) -> None:
    first = problems(world, unready={POD: "it lacks 4711 bytes of the log, after 0.7 s"})
    again = problems(world, unready={POD: "it lacks 12 bytes of the log, after 3 s"})
    assert first == again == [f"{POD} is not ready: it lacks ... bytes of the log, after ... s"]


def test_problems_of_the_master_count_while_the_group_has_a_master(world: World) -> None:
    annotate(world, problems="the Service also points elsewhere: EndpointSlice x")
    assert problems(world) == ["the Service also points elsewhere: EndpointSlice x"]
    found = world.api.get("Lease", LEASE)
    assert found is not None
    found["spec"]["holderIdentity"] = ""
    assert problems(world) == []


def test_an_ignored_request_is_reported_if_no_master_reports_it(world: World) -> None:
    annotate(world, preferred="broker-2")
    found = world.api.get("Lease", LEASE)
    assert found is not None
    found["spec"]["holderIdentity"] = ""
    [told] = problems(world)
    assert told.startswith(f"requests in Lease {LEASE} are ignored: gantrymq.dev/preferred is")
