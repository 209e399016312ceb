"""Tests the conversion of typed headers with one small header that shows every rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest

from gantrymq.base.errors import LocalError
from gantrymq.wire.header import (
    Header,
    HeaderError,
    Int32,
    Int64,
    Wire,
    required_names,
    wire_names,
)
from gantrymq.wire.header_fields import parse_int32, parse_int64


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Header):
    topic: str
    queue_id: Int32
    begin_offset: Int64 | None = None
    is_order: bool | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable(Header):
    ratio: float


def test_names_become_camel_case_unless_told_otherwise() -> None:
    assert wire_names(Sample) == ("topic", "queueId", "beginOffset", "isOrder", "bname")
    assert required_names(Sample) == {"topic", "queueId"}


def test_decode_returns_typed_values_and_ignores_unknown_fields() -> None:
    ext = {"topic": "T", "queueId": "-3", "isOrder": "true", "bname": "b", "newer": "x"}
    assert Sample.decode(ext) == Sample(topic="T", queue_id=-3, is_order=True, broker_name="b")


def test_encode_leaves_out_none() -> None:
    header = Sample(topic="", queue_id=0, is_order=False)
    assert header.encode() == {"topic": "", "queueId": "0", "isOrder": "false"}


def test_missing_ext_equals_empty_ext() -> None:
    with pytest.raises(HeaderError, match=r"the custom field <topic> is null \(Sample\)"):
        Sample.decode(None)


@pytest.mark.parametrize("text", ["true", "TRUE", "True"])
def test_true_in_any_case_is_true(text: str) -> None:
    assert Sample.decode({"topic": "T", "queueId": "0", "isOrder": text}).is_order is True


@pytest.mark.parametrize("text", ["false", "", "1", "yes", " true"])
def test_every_other_text_is_false(text: str) -> None:
    assert Sample.decode({"topic": "T", "queueId": "0", "isOrder": text}).is_order is False


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("+7", 7), ("-7", -7), ("007", 7), ("2147483647", 2**31 - 1), ("-0", 0)],
)
def test_ints_are_read_as_java_reads_them(text: str, number: int) -> None:
    assert parse_int32(text) == number
    assert parse_int64(text) == number


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "1_0", "1.0", "1e3", "0x1", "+", "-", "--1", "٣", "²", "null", "9" * 99],
)
def test_text_that_java_refuses_is_refused(text: str) -> None:
    for parse in (parse_int32, parse_int64):
        with pytest.raises(ValueError, match="not a"):
            parse(text)


@pytest.mark.parametrize("bits", [32, 64])
def test_integers_end_at_their_width(bits: int) -> None:
    parse = parse_int32 if bits == 32 else parse_int64
    limit = 1 << (bits - 1)
    assert (parse(str(limit - 1)), parse(str(-limit))) == (limit - 1, -limit)
    for beyond in (limit, -limit - 1):
        with pytest.raises(ValueError, match="not a"):
            parse(str(beyond))


def test_error_shortens_a_long_value() -> None:
    with pytest.raises(HeaderError) as error:
        Sample.decode({"topic": "T", "queueId": "x" * 100_000})
    assert len(str(error.value)) < 150


def test_type_without_an_encoding_is_a_programming_error() -> None:
    with pytest.raises(LocalError, match="no ext field can be of type"):
        Unusable.decode({"ratio": "1.5"})
