"""Tests that masters of Leases are used only if their pods have the addresses."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.shell.work.group_masters import has_address

NOW = 1_767_225_600.0
"""2026-01-01T00:00:00Z"""


def pod(ip: str, *, phase: str = "Running", ends: str = "") -> dict[str, Any]:
    metadata = {"name": "orders-broker-0-1"} | ({"deletionTimestamp": ends} if ends else {})
    return {"metadata": metadata, "status": {"phase": phase, "podIP": ip}}


@pytest.mark.parametrize(
    ("found", "address"),
    [
        (pod("10.0.0.7"), "10.0.0.7:10911"),
        (pod("fd00::7"), "[fd00::7]:10911"),
        (pod("fd00::7"), "[FD00:0:0:0::7]:10911"),
        (pod("10.0.0.7", ends="2026-01-01T00:00:30Z"), "10.0.0.7:10911"),
    ],
)
def test_an_address_that_the_pod_has_is_used(found: dict[str, Any], address: str) -> None:
    assert has_address(found, 2, address, NOW)


@pytest.mark.parametrize(
    ("found", "address"),
    [
        (None, "10.0.0.7:10911"),
        (pod("10.0.0.8"), "10.0.0.7:10911"),
        (pod("fd00::8"), "[fd00::7]:10911"),
        (pod(""), "10.0.0.7:10911"),
        (pod(""), ""),
        (pod("10.0.0.7"), "orders-broker-0-1:10911"),
        (pod("10.0.0.7", phase="Failed"), "10.0.0.7:10911"),
        (pod("10.0.0.7", phase="Succeeded"), "10.0.0.7:10911"),
        (pod("10.0.0.7", ends="2025-12-31T23:59:59Z"), "10.0.0.7:10911"),
    ],
)
def test_an_address_that_the_pod_does_not_have_is_not_used(
    found: dict[str, Any] | None, address: str
) -> None:
    assert not has_address(found, 2, address, NOW)


def test_the_pod_of_another_member_does_not_confirm_an_address() -> None:
    assert not has_address(pod("10.0.0.7"), 1, "10.0.0.7:10911", NOW)
