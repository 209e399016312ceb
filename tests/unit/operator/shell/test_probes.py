"""Tests when the operator counts as alive and ready."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gantrymq.operator.shell import probes


@dataclass
class Listening:
    title: str
    last_heard: float


def test_a_silent_reflector_is_named() -> None:
    reflectors = [Listening("pods", 100.0), Listening("topics", 180.0)]

    assert probes.silent_reflectors(reflectors, 190) is None
    assert probes.silent_reflectors(reflectors, 191) == ("no event and no bookmark: pods for 91 s")


def test_a_key_that_waits_for_too_long_is_reported() -> None:
    assert probes.late_keys(120) is None
    assert "has waited for 121 s" in (probes.late_keys(121) or "")


@pytest.mark.parametrize(
    ("is_leader", "error", "is_ready"),
    [(True, "", True), (False, "", True), (True, "out", True), (False, "out", False)],
)
def test_a_process_is_ready_when_it_leads_or_could(
    is_leader: bool, error: str, is_ready: bool
) -> None:
    reason = probes.cannot_lead(is_leader=is_leader, last_error=error)

    assert (reason is None) == is_ready
