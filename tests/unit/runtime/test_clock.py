"""Tests the virtual clock of tests and the units of the system's clocks."""

from __future__ import annotations

import pytest

from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock, VirtualClock


def test_virtual_time_passes_only_when_told() -> None:
    clock = VirtualClock(wall_ms=1_000)
    assert (clock.monotonic(), clock.wall_ms()) == (0.0, 1_000)

    clock.advance(1.5)

    assert (clock.monotonic(), clock.wall_ms()) == (1.5, 2_500)
    with pytest.raises(AssertionError):
        clock.advance(-1)


def test_the_system_s_clocks_have_the_port_s_units() -> None:
    clock: Clock = SYSTEM_CLOCK

    assert clock.wall_ms() > 1_700_000_000_000
    assert clock.monotonic() <= clock.monotonic()
