"""Tests the parser of watch events."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.operator.kube.errors import ExpiredError, UnavailableError
from gantrymq.operator.kube.watch.watch_events import LINE_BYTES_MAX, WatchEvent, WatchLines

EVENTS = [
    WatchEvent("ADDED", {"metadata": {"name": "a", "resourceVersion": "1"}}),
    WatchEvent("MODIFIED", {"metadata": {"name": "ä", "resourceVersion": "2"}}),
    WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "7"}}),
]
BODY = b"".join(
    json.dumps({"type": event.type, "object": event.object}).encode() + b"\n" for event in EVENTS
)


@given(cuts=st.lists(st.integers(0, len(BODY)), max_size=8).map(sorted))
def test_events_are_the_same_wherever_the_network_cuts(cuts: list[int]) -> None:
    lines = WatchLines()
    edges = [0, *cuts, len(BODY)]
    pieces = [BODY[start:end] for start, end in itertools.pairwise(edges)]

    assert [event for piece in pieces for event in lines.decode(piece)] == EVENTS


def test_events_arrive_byte_by_byte() -> None:
    lines = WatchLines()

    assert [event for byte in BODY for event in lines.decode(bytes([byte]))] == EVENTS


def test_an_event_shows_the_version_to_go_on_from() -> None:
    assert [event.version for event in EVENTS] == ["1", "2", "7"]


def test_an_expired_version_asks_for_a_new_list() -> None:
    status = {"code": 410, "reason": "Expired", "message": "too old resource version"}
    line = json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"

    with pytest.raises(ExpiredError, match="too old resource version"):
        list(WatchLines().decode(line))


@pytest.mark.parametrize("line", [b"garbage\n", b"[]\n", b"{}\n", b'{"type":"ADDED"}\n'])
def test_nonsense_ends_the_watch(line: bytes) -> None:
    with pytest.raises(UnavailableError, match="is not an event"):
        list(WatchLines().decode(line))


def test_a_line_without_end_is_not_collected_for_ever() -> None:
    lines = WatchLines()
    piece = b"x" * (LINE_BYTES_MAX // 2 + 1)
    assert list(lines.decode(piece)) == []

    with pytest.raises(UnavailableError, match="exceeds"):
        list(lines.decode(piece))
