"""Tests that Leases are parsed leniently for requests, and strictly for members' fields."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.plan.view.lease import read_lease
from gantrymq.operator_model.samples import lease


def test_a_lease_is_read() -> None:
    found = read_lease(lease(2, "1,2", 7, preferred="1", switch_to="1", switch_number="4"))
    assert (found.holder, found.in_sync, found.epoch) == (2, frozenset({1, 2}), 7)
    assert (found.preferred, found.switch_to, found.switch_number) == (1, 1, 4)
    assert found.is_switching
    assert found.damage == ""
    assert found.resource_version == "7"


def test_a_switchover_that_was_granted_is_over() -> None:
    assert not read_lease(lease(switch_to="2", switch_number="4", granted="4")).is_switching


def test_a_switch_number_that_members_ignore_counts_as_absent() -> None:
    found = read_lease(lease(switch_to="2", switch_number="1000000001", granted="4"))
    assert (found.switch_number, found.is_switching) == (0, False)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [("preferred", "broker-2"), ("fenced", "one"), ("switch_number", "4.0")],
)
def test_a_request_that_cannot_be_read_counts_as_absent(annotation: str, value: str) -> None:
    notes: dict[str, Any] = {annotation: value}
    found = read_lease(lease(**notes))
    assert (found.preferred, found.fenced, found.switch_number) == (0, frozenset(), 0)
    assert found.damage == ""
    assert value in found.ignored


def test_spaces_between_fenced_members_are_ignored() -> None:
    assert read_lease(lease(fenced="1, 2")).fenced == {1, 2}


@pytest.mark.parametrize(
    ("holder", "in_sync", "epoch"), [(1, "", 3), (1, "a,b", 3), (1, "1,0", 3), (1, "1", 10**19)]
)
def test_a_lease_that_members_damaged_is_not_relied_on(
    holder: int, in_sync: str, epoch: int
) -> None:
    assert read_lease(lease(holder, in_sync, epoch)).damage


def test_the_lease_of_another_program_is_damaged() -> None:
    content = lease()
    content["spec"]["holderIdentity"] = "kube-scheduler_1"
    assert "holderIdentity" in read_lease(content).damage


def test_a_lease_without_anything_names_no_master() -> None:
    found = read_lease({"metadata": {"name": "x"}})
    assert (found.holder, found.epoch, found.in_sync, found.damage) == (0, 0, frozenset(), "")


def test_problems_of_the_master_have_a_line_each() -> None:
    found = read_lease(lease(problems="the Service: no\n\nanother one"))
    assert found.problems == ("the Service: no", "another one")
    assert read_lease(lease()).problems == ()
