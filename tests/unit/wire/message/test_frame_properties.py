"""Tests that properties of many messages at once equal those of each message."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.wire import hosts
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.frame_properties import property_entries, value_positions
from gantrymq.wire.message.frame_walk import walk
from gantrymq.wire.message.record import Record, encode

HOST = hosts.parse("10.1.2.3:54321")

# Few names and separators at every place, so that all the rules of reading are met.
pieces = st.sampled_from([b"K", b"KE", b"KEYS", b"S", b"\x01", b"\x02", b"v", "ü".encode()])
stored_properties = st.lists(pieces, max_size=14).map(b"".join)


def buffer_of(properties: list[bytes]) -> bytes:
    return b"".join(
        encode(
            Record(b"T", b"", properties=each, queue_offset=offset, born_host=HOST, store_host=HOST)
        )
        for offset, each in enumerate(properties)
    )


def ints_of(data: bytes) -> list[int]:
    return [number for (number,) in struct.iter_unpack("<i", data)]


def maps_of(properties: list[bytes]) -> list[dict[str, str]]:
    """The properties, read with `property_entries`."""
    buffer = buffer_of(properties)
    entries = property_entries(buffer, walk(buffer, 0, len(properties)))
    places = ints_of(entries.positions)
    assert places == sorted(places)
    pairs = [
        (buffer[places[at] : places[at + 1]], buffer[places[at + 2] : places[at + 3]])
        for at in range(0, len(places) - 1, 4)
    ]
    kept = iter([pair for at, pair in enumerate(pairs) if at not in entries.repeated])
    maps = []
    for count in ints_of(entries.counts):
        found = [next(kept) for _ in range(count)]
        assert len(dict(found)) == count
        maps.append({name.decode(): value.decode() for name, value in found})
    assert next(kept, None) is None
    return maps


def values_of(properties: list[bytes], name: str) -> list[str | None]:
    """The properties, read with `value_positions`."""
    buffer = buffer_of(properties)
    places = ints_of(value_positions(buffer, walk(buffer, 0, len(properties)), name))
    assert places == sorted(places)
    values = [buffer[places[at] : places[at + 1]] for at in range(0, len(places) - 1, 2)]
    return [value.decode() or None for value in values]


def test_properties_of_two_messages() -> None:
    properties = [b"KEYS\x01k1\x02TAGS\x01a", b"TAGS\x01b\x02"]
    assert maps_of(properties) == [{"KEYS": "k1", "TAGS": "a"}, {"TAGS": "b"}]
    assert values_of(properties, "TAGS") == ["a", "b"]
    assert values_of(properties, "KEYS") == ["k1", None]


def test_last_of_equal_names_wins() -> None:
    properties = [b"A\x011\x02B\x012\x02A\x013\x02", b"A\x014\x02A\x015\x02A\x016\x02"]
    assert maps_of(properties) == [{"A": "3", "B": "2"}, {"A": "6"}]
    assert values_of(properties, "A") == ["3", "6"]


@given(st.lists(stored_properties, max_size=5))
def test_all_properties_are_those_that_each_message_has(properties: list[bytes]) -> None:
    assert maps_of(properties) == [codec.parse(each) for each in properties]


@given(st.lists(stored_properties, max_size=5), st.sampled_from(["K", "KE", "KEYS", "S"]))
def test_value_of_a_name_is_what_each_message_has(properties: list[bytes], name: str) -> None:
    assert values_of(properties, name) == [codec.get(each, name) for each in properties]
