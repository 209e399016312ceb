"""Tests the slots that bound HTTP connections, and which errors of peers are not logged."""

from __future__ import annotations

import pytest
from aiohttp import ClientConnectionResetError
from aiohttp.http_exceptions import HttpProcessingError

from gantrymq.runtime.http.http_connections import Slots, error_logger


def test_new_connection_gets_a_free_slot() -> None:
    slots: Slots[str] = Slots(2, seconds=10.0)

    assert slots.take("first", "10.0.0.1", now=0.0) is None
    assert slots.take("second", "10.0.0.2", now=0.0) is None
    assert len(slots) == 2


def test_new_connection_replaces_the_oldest_of_the_address_with_most_slots() -> None:
    slots: Slots[str] = Slots(3, seconds=10.0)
    slots.take("kubelet", "10.0.0.1", now=0.0)
    slots.take("flood 1", "10.0.0.2", now=1.0)
    slots.take("flood 2", "10.0.0.2", now=2.0)

    assert slots.take("flood 3", "10.0.0.2", now=3.0) == "flood 1"
    assert slots.take("prometheus", "10.0.0.3", now=4.0) == "flood 2"
    assert slots.free("kubelet") == "10.0.0.1"


def test_a_connection_that_ended_has_no_slot() -> None:
    slots: Slots[str] = Slots(1, seconds=10.0)
    slots.take("first", "10.0.0.1", now=0.0)

    assert slots.free("first") == "10.0.0.1"
    assert slots.free("first") is None
    assert slots.take("second", "10.0.0.1", now=0.0) is None


def test_a_slot_is_held_for_a_limited_time() -> None:
    slots: Slots[str] = Slots(3, seconds=10.0)
    slots.take("first", "10.0.0.1", now=0.0)
    slots.take("second", "10.0.0.1", now=5.0)

    assert slots.expired(now=9.0) == []
    assert slots.expired(now=10.0) == ["first"]
    assert slots.expired(now=15.0) == ["first", "second"]


def test_only_the_address_with_most_slots_is_refused_if_all_are_taken() -> None:
    slots: Slots[str] = Slots(3, seconds=10.0)
    slots.take("prometheus", "10.0.0.1", now=0.0)
    slots.take("flood 1", "10.0.0.2", now=1.0)
    assert not slots.refuses("10.0.0.2")
    slots.take("flood 2", "10.0.0.2", now=2.0)

    assert slots.refuses("10.0.0.2")
    assert not slots.refuses("10.0.0.1")
    assert not slots.refuses("10.0.0.3")
    slots.free("flood 2")
    assert not slots.refuses("10.0.0.2")


@pytest.mark.parametrize(
    ("error", "is_logged"),
    [
        (ClientConnectionResetError("Cannot write to closing transport"), False),
        (HttpProcessingError(message="bad request"), False),
        (KeyError("a defect of ours"), True),
    ],
)
def test_errors_that_a_peer_causes_are_not_logged(
    error: Exception, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    error_logger().error("Error handling request", exc_info=error)

    assert bool(caplog.records) == is_logged
