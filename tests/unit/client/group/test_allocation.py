"""Shares of queues, equal to Java's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.client.core.errors import StateError
from gantrymq.client.core.group.allocation import (
    Allocate,
    Configured,
    ConsistentHash,
    MachineRoom,
    NearMachineRoom,
    average,
    average_by_circle,
    in_order,
    strategy,
)
from gantrymq.wire.bodies.shared import MessageQueue

VECTORS = Path(__file__).parents[3] / "vectors" / "functions-5.3.3.json"
STRATEGIES: dict[str, Allocate] = {
    "AVG": average,
    "AVG_BY_CIRCLE": average_by_circle,
    "CONSISTENT_HASH": ConsistentHash(),
}


def queues_of(count: int, broker: str = "broker-a") -> list[MessageQueue]:
    return [MessageQueue("T", broker, number) for number in range(count)]


@pytest.mark.parametrize("name", STRATEGIES)
def test_shares_are_javas(name: str) -> None:
    cases = json.loads(VECTORS.read_text())["allocate"]
    assert len(cases) == 20
    for case in cases:
        ids = [f"cid-{number}" for number in range(case["consumers"])]
        queues = queues_of(case["queues"])
        shares = {
            each: [queue.queue_id for queue in STRATEGIES[name](each, queues, ids)] for each in ids
        }
        assert shares == case[name]


@given(st.integers(0, 40), st.integers(1, 12), st.sampled_from([*STRATEGIES.values()]))
def test_every_queue_has_one_owner(count: int, members: int, allocate: Allocate) -> None:
    ids = [f"10.0.0.{number}@1" for number in range(members)]
    queues = queues_of(count)
    shared = [queue for each in ids for queue in allocate(each, queues, ids)]
    assert sorted(shared) == queues


@pytest.mark.parametrize("allocate", [*STRATEGIES.values(), MachineRoom(frozenset("r"))], ids=str)
def test_a_client_outside_the_group_gets_no_queues(allocate: Allocate) -> None:
    assert allocate("stranger", queues_of(4), ["a", "b"]) == []


def test_ids_are_in_javas_order() -> None:
    # The first is two UTF-16 units from d800 on, the second is one, ff01.
    assert in_order(["\uff01", "\U0001f600", "b", "a"]) == ["a", "b", "\U0001f600", "\uff01"]


def test_a_machine_room_keeps_its_queues() -> None:
    near, far = queues_of(5, "r1@a"), queues_of(2, "r2@a")
    allocate = MachineRoom(frozenset({"r1"}))
    queues = sorted([*near, *far, *queues_of(1, "plain"), *queues_of(1, "r1@a@b")])
    shares = [allocate(each, queues, ["x", "y"]) for each in ("x", "y")]
    assert shares == [[near[0], near[1], near[4]], [near[2], near[3]]]


def test_a_room_without_members_is_shared_by_all() -> None:
    near, far = queues_of(2, "r1-a"), queues_of(4, "r2-a")
    allocate = NearMachineRoom(
        average, lambda queue: queue.broker_name[:2], lambda client: client[:2]
    )
    queues = sorted([*near, *far])
    ids = ["r1-x", "r1-y"]
    assert allocate("r1-x", queues, ids) == [near[0], far[0], far[1]]
    assert allocate("r1-y", queues, ids) == [near[1], far[2], far[3]]
    ids.append("r2-z")
    assert allocate("r1-x", queues, ids) == [near[0]]
    assert allocate("r2-z", queues, ids) == far


def test_a_room_has_a_name() -> None:
    allocate = NearMachineRoom(average, lambda queue: "", lambda client: "r")
    with pytest.raises(StateError, match="machine room of MessageQueue"):
        allocate("a", queues_of(1), ["a"])


def test_configured_queues_are_taken_regardless_of_members() -> None:
    own = MessageQueue("T", "broker-a", 3)
    allocate = Configured((own, MessageQueue("other", "broker-a", 0)))
    assert allocate("a", queues_of(4), ["a", "b"]) == [own]


def test_strategies_have_javas_names() -> None:
    assert strategy("AVG") is average
    assert strategy("AVG_BY_CIRCLE") is average_by_circle
    assert strategy("CONSISTENT_HASH") == ConsistentHash()
    assert strategy("MACHINE_ROOM:a, b") == MachineRoom(frozenset({"a", "b"}))
    for name in ("average", "MACHINE_ROOM", "MACHINE_ROOM:", "CONFIG", "MACHINE_ROOM_NEARBY-AVG"):
        with pytest.raises(ValueError, match="no strategy is called so"):
            strategy(name)
