"""Tests the declared headers against Java's header classes and recorded traffic.

java_headers.json holds the header classes of 5.3.3 (and the access control ones of 4.9.8) as
reflection over the released jars shows them: fields, types, and which are marked CFNotNull.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.header import Header, HeaderError, field_kinds, required_names, wire_names
from gantrymq.wire.headers.send import SendMessageRequest, SendMessageV2Request
from gantrymq.wire.headers.table import REQUEST_HEADERS, RESPONSE_HEADERS

HERE = Path(__file__).parent
VECTORS = HERE.parents[1] / "vectors"
# Any: the vectors are free-form JSON.
JAVA: list[dict[str, Any]] = json.loads((HERE / "java_headers.json").read_text())
TRAFFIC: list[dict[str, Any]] = json.loads((VECTORS / "traffic-5.3.3.json").read_text())

ALL_HEADERS = sorted(
    {*REQUEST_HEADERS.values(), *RESPONSE_HEADERS.values()}, key=lambda header: header.__name__
)

# Fields we read that the Java header classes do not have: Java takes them from the ext map by hand.
BY_HAND = {
    "bname",
    "ReqT",
    "_UNIQUE_KEY_QUERY",
    "__ZONE_NAME",
    "__ZONE_MODE",
    "MSG_REGION",
    "TRACE_ON",
    "lo",
    "removeOffset",  # 4.9
}

# Fields Java sends that no header of ours has: the request type matters to pulls alone.
UNREAD = {("request", "ReqT")}

# A pull that was refused says why and nothing else; others are answered without ext fields.
HEADER_COMES_WITH = {
    RequestCode.PULL_MESSAGE: {0, 19, 20, 21},
    RequestCode.LITE_PULL_MESSAGE: {0, 19, 20, 21},
}


def _java_cases() -> list[Any]:
    return [
        pytest.param(table[code], fields, id=f"{row['header']}-{code}")
        for row in JAVA
        for side, table in (
            ("request_codes", REQUEST_HEADERS),
            ("response_codes", RESPONSE_HEADERS),
        )
        for code in row.get(side, ())
        for fields in (row["fields"],)
    ]


@pytest.mark.parametrize(("header", "java"), _java_cases())
def test_header_has_the_fields_types_and_marks_of_its_java_class(
    header: type[Header], java: Mapping[str, str]
) -> None:
    ours = {
        name: kind + ("!" if name in required_names(header) else "")
        for name, kind in field_kinds(header).items()
        if name not in BY_HAND or name in java
    }
    # The short form calls the broker's name `n`; the inherited long name never comes with it.
    java = {name: kind for name, kind in java.items() if name in ours or name != "bname"}
    assert ours == java


def _messages(side: str) -> list[tuple[RequestCode, int, dict[str, str]]]:
    return [
        (
            RequestCode(exchange["request"]["code"]),
            exchange[side]["code"],
            exchange[side].get("ext") or {},
        )
        for exchange in TRAFFIC
        if exchange.get(side, {}).get("code") is not None
    ]


def _check_traffic(
    side: str,
    headers: Mapping[RequestCode, type[Header]],
    messages: list[tuple[RequestCode, int, dict[str, str]]],
) -> int:
    checked = 0
    for code, _, ext in messages:
        header = headers.get(code)
        known = set(wire_names(header)) if header is not None else set()
        unread = {(side, name) for name in ext if name not in known}
        assert unread <= UNREAD, f"{code.name}: {unread}"
        if header is not None:
            expected = {name: value for name, value in ext.items() if name in known}
            assert header.decode(ext).encode() == expected
            checked += 1
    return checked


def test_every_captured_request_decodes_and_encodes_the_same() -> None:
    assert _check_traffic("request", REQUEST_HEADERS, _messages("request")) > 120


def test_every_captured_answer_decodes_and_encodes_the_same() -> None:
    answers = [
        (code, answer, ext)
        for code, answer, ext in _messages("response")
        if answer in HEADER_COMES_WITH.get(code, {ResponseCode.SUCCESS})
    ]
    assert _check_traffic("response", RESPONSE_HEADERS, answers) > 60


def test_headers_write_their_fields_in_declaration_order() -> None:
    header = SendMessageV2Request.decode(dict.fromkeys("nmlkjihgfedcba", "1"))
    assert "".join(header.encode()) == "abcdefghijklmn"


def test_short_and_long_send_headers_have_the_same_attributes() -> None:
    names = set(SendMessageRequest.__dataclass_fields__)
    assert names == set(SendMessageV2Request.__dataclass_fields__)


@pytest.mark.parametrize("header", ALL_HEADERS)
def test_missing_required_field_is_named(header: type[Header]) -> None:
    sample = {"s": "text", "i": "1", "l": "1", "b": "true"}
    whole = {name: sample[kind] for name, kind in field_kinds(header).items()}
    header.decode(whole)
    for name in wire_names(header):
        lacking = {other: value for other, value in whole.items() if other != name}
        if name in required_names(header):
            with pytest.raises(HeaderError, match=f"the custom field <{name}> is null") as error:
                header.decode(lacking)
            assert (error.value.header, error.value.field) == (header.__name__, name)
        else:
            assert name not in header.decode(lacking).encode()


@pytest.mark.parametrize("header", ALL_HEADERS)
def test_invalid_number_is_named(header: type[Header]) -> None:
    sample = {"s": "text", "i": "1", "l": "1", "b": "true"}
    too_big = {"i": str(1 << 31), "l": str(1 << 63)}
    whole = {name: sample[kind] for name, kind in field_kinds(header).items()}
    for name, kind in field_kinds(header).items():
        if kind in too_big:
            with pytest.raises(HeaderError, match=f"<{name}> is '{too_big[kind]}', not a"):
                header.decode({**whole, name: too_big[kind]})


VALUES: dict[str, st.SearchStrategy[str | int | bool]] = {
    "s": st.text(),
    "i": st.integers(-(1 << 31), (1 << 31) - 1),
    "l": st.integers(-(1 << 63), (1 << 63) - 1),
    "b": st.booleans(),
}


@st.composite
def headers_of(draw: st.DrawFn, header: type[Header]) -> Header:
    values: dict[str, Any] = {}
    for attribute, name in zip(header.__dataclass_fields__, wire_names(header), strict=True):
        value = VALUES[field_kinds(header)[name]]
        if name not in required_names(header):
            values[attribute] = draw(st.none() | value)
        else:
            values[attribute] = draw(value)
    return header(**values)


@pytest.mark.parametrize("header", ALL_HEADERS)
def test_header_survives_the_round_trip(header: type[Header]) -> None:
    @given(headers_of(header))
    def round_trip(value: Header) -> None:
        assert header.decode(value.encode()) == value

    round_trip()


def test_every_java_request_header_in_scope_has_an_entry() -> None:
    by_side: dict[str, set[int]] = defaultdict(set)
    for row in JAVA:
        for side in ("request_codes", "response_codes"):
            by_side[side].update(row.get(side, ()))
    assert set(REQUEST_HEADERS) == by_side["request_codes"]
    # Java has no class for these two: a peek is answered as a pop, a heartbeat by hand.
    by_hand = {RequestCode.HEART_BEAT, RequestCode.PEEK_MESSAGE}
    assert set(RESPONSE_HEADERS) - by_hand == by_side["response_codes"]
