"""Tests that unsupported changes are reported, and others are made."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator_model.world import World


def condition(world: World, kind: str) -> dict[str, Any]:
    found = {each["type"]: each for each in world.settle().status["conditions"]}
    return dict(found[kind])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"groups": 1}, "set it back to 2"),
        ({"membersPerGroup": 3}, "spec.membersPerGroup is 3, and broker-0 was created with 2"),
        ({"storage": {"size": "40Gi"}}, "spec.storage.size is 40Gi"),
    ],
    ids=str,
)
def test_the_condition_says_what_to_do_and_the_cluster_keeps_running(
    change: dict[str, Any], words: str
) -> None:
    world = World({"groups": 2})
    world.settle()
    world.change(**change, config={"fileReservedTime": "48"})
    applied = condition(world, "ConfigurationApplied")
    assert (applied["status"], applied["reason"]) == ("False", "ChangeNotSupported")
    assert words in applied["message"]
    assert condition(world, "Ready")["status"] == "True"
    for group in ("broker-0", "broker-1"):
        config = world.api.get("ConfigMap", f"orders-{group}")
        assert config is not None
        assert "fileReservedTime=48" in "".join(config["data"].values())


def test_the_same_size_in_other_words_is_no_change() -> None:
    world = World({"storage": {"size": "20Gi"}})
    world.settle()
    world.change(storage={"size": "20480Mi"})
    assert condition(world, "ConfigurationApplied")["status"] == "True"


def test_the_condition_clears_when_the_field_is_set_back() -> None:
    world = World({"groups": 2})
    world.settle()
    world.change(groups=1)
    world.settle()
    world.change(groups=2)
    assert condition(world, "ConfigurationApplied")["status"] == "True"
