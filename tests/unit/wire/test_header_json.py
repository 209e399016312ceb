"""Tests that JSON headers are read and written as in Java."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire import header_json
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import Command

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
COMMANDS = st.builds(
    Command,
    INT32,
    opaque=INT32,
    flag=INT32,
    language=st.sampled_from(LanguageCode).map(int),
    version=INT32,
    remark=st.none() | TEXT,
    ext=st.none() | st.dictionaries(TEXT, TEXT),
)


def decode(header: bytes) -> Command:
    return header_json.decode(header, 0, len(header))


def decode_text(header: str) -> Command:
    return decode(header.encode())


@given(COMMANDS)
def test_written_header_is_read_back(command: Command) -> None:
    header = header_json.encode(command)
    assert decode(header) == command
    assert header_json.parse(header) == command


@given(COMMANDS)
def test_written_header_is_json_with_sorted_keys(command: Command) -> None:
    fields = json.loads(header_json.encode(command))
    assert list(fields) == sorted(fields)
    assert fields["serializeTypeCurrentRPC"] == "JSON"


def test_null_remark_and_ext_are_left_out() -> None:
    assert header_json.encode(Command(17, opaque=-5, flag=1, version=479)) == (
        b'{"code":17,"flag":1,"language":"JAVA","opaque":-5,'
        b'"serializeTypeCurrentRPC":"JSON","version":479}'
    )


def test_empty_remark_and_ext_are_written() -> None:
    header = header_json.encode(Command(0, remark="", ext={}))
    assert b'"extFields":{},' in header
    assert b'"remark":"",' in header


def test_a_header_is_read_out_of_the_middle_of_a_buffer() -> None:
    assert header_json.decode(b'}{"code":7}{"', 1, 11) == Command(7)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("{}", Command(0)),
        (' { "code" : 7 ,\n"opaque" : 8 } ', Command(7, opaque=8)),
        ('{"code":1,"code":2}', Command(2)),
        (r'{"cod\u0065":7}', Command(7)),
        ('{"code":7,"foo":{"a":[1,{}]},"bar":null,"suspended":true}', Command(7)),
        ('{"code":null,"opaque":null,"remark":null,"extFields":null}', Command(0)),
        ('{"code":"310","opaque":"-2147483648"}', Command(310, opaque=-(1 << 31))),
        ('{"code":1.0,"opaque":2.5,"flag":"1.0"}', Command(1, opaque=2, flag=1)),
        ('{"code":"","flag":"null","version":true}', Command(0, version=1)),
        ('{"opaque":-0}', Command(0)),
        ('{"serializeTypeCurrentRPC":"FOO"}', Command(0)),
        ('{"remark":5}', Command(0, remark="5")),
        ('{"remark":[1,"x"]}', Command(0, remark='[1,"x"]')),
    ],
)
def test_a_field_is_read_as_java_reads_it(header: str, expected: Command) -> None:
    assert decode_text(header) == expected


@pytest.mark.parametrize(
    ("value", "language"),
    [
        ('"JAVA"', LanguageCode.JAVA),
        ('"NODE_JS"', LanguageCode.NODE_JS),
        ('"KLINGON"', LanguageCode.OTHER),
        ('"java"', LanguageCode.OTHER),
        ("9", LanguageCode.GO),
        ("99", LanguageCode.OTHER),
        ("-1", LanguageCode.OTHER),
        ("null", LanguageCode.JAVA),
    ],
)
def test_an_unknown_language_is_other(value: str, language: LanguageCode) -> None:
    assert decode_text(f'{{"language":{value}}}').language == language


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1", "1"),
        ("true", "true"),
        ("false", "false"),
        ("1.50", "1.50"),
        ("12345678901234567890123", "12345678901234567890123"),
        ('{"b":1, "c":"x"}', '{"b":1,"c":"x"}'),
        ('[1, "2"]', '[1,"2"]'),
        ('""', ""),
    ],
)
def test_ext_value_that_is_no_text_is_read_as_its_json(value: str, text: str) -> None:
    assert decode_text(f'{{"extFields":{{"a":{value}}}}}').ext == {"a": text}


def test_a_null_ext_value_is_dropped() -> None:
    assert decode_text('{"extFields":{"a":null,"b":"c"}}').ext == {"b": "c"}


@pytest.mark.parametrize(
    ("header", "remark"),
    [
        (rb'{"remark":"a\u0041\/\"\\\b\f\n\r\tz"}', 'aA/"\\\b\f\n\r\tz'),
        (rb'{"remark":"\u4e3B\u00e9\ud83d\ude00"}', "主é😀"),
        (rb'{"remark":"\ud800z\uDC00"}', "?z?"),
        (rb'{"remark":"\\ud800"}', "\\ud800"),
        (b'{"remark":"a\nb\x00"}', "a\nb\x00"),
        (b'{"remark":"a\xffb"}', "a\ufffdb"),
        (b'{"remark":"a\xe4\xb8"}', "a\ufffd"),
        (b'{"remark":"\xc3\\u0041"}', "\ufffdA"),
    ],
)
def test_texts_are_read_as_java_reads_them(header: bytes, remark: str) -> None:
    assert decode(header).remark == remark


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ('{"code":1}x', "not JSON"),
        ('{"code":01}', "not JSON"),
        ('{"remark":"\\q"}', "not JSON"),
        ('{"extFields":{1:"a"}}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"code":' + "9" * 5000 + "}", "not JSON"),
        ("[]", "a list, not an object"),
        ("null", "a NoneType, not an object"),
        ('{"code":2147483648}', "code .* no 32-bit integer: '2147483648'"),
        ('{"opaque":"-2147483649"}', "opaque .* no 32-bit integer"),
        ('{"flag":" 3"}', "flag .* no 32-bit integer"),
        ('{"version":[1]}', "version .* no 32-bit integer"),
        ('{"code":NaN}', "code .* no 32-bit integer"),
        ('{"extFields":[]}', "extFields is a list"),
        ('{"extFields":"x"}', "extFields is a str"),
    ],
)
def test_malformed_header_is_refused_with_the_reason(header: str, reason: str) -> None:
    with pytest.raises(RemoteError, match=reason) as refusal:
        decode_text(header)
    assert len(str(refusal.value)) < 300


def test_lone_surrogate_is_written_as_a_question_mark() -> None:
    assert decode(header_json.encode(Command(0, remark="a\ud800b"))).remark == "a?b"


def test_unknown_language_is_written_as_other() -> None:
    assert b'"language":"OTHER"' in header_json.encode(Command(0, language=99))


@pytest.mark.parametrize("field", ["code", "opaque", "flag", "version"])
def test_numbers_beyond_32_bits_are_a_programming_error(field: str) -> None:
    command = Command(0)
    setattr(command, field, 1 << 31)
    with pytest.raises(LocalError, match="2147483648 does not fit"):
        header_json.encode(command)
