"""Tests properties text against java.util.Properties, and against files written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.configuration.properties import (
    decode_properties,
    format_properties,
    parse_properties,
    rewrite_properties,
    update_properties,
)
from gantrymq.base.errors import ConfigurationError


# Each pair was put to java.util.Properties of JDK 17.
@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("a=b", {"a": "b"}),
        ("a:b\nc d\ne\tf\ng", {"a": "b", "c": "d", "e": "f", "g": ""}),
        ("a = b\nc : d\ne  =f", {"a": "b", "c": "d", "e": "f"}),
        ("a==b\nc=:d", {"a": "=b", "c": ":d"}),
        ("  a=b  ", {"a": "b  "}),
        ("# a=b\n ! c=d\n\n \t\n", {}),
        ("a=b#c", {"a": "b#c"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b\r\nc=d\re=f", {"a": "b", "c": "d", "e": "f"}),
        ("a=b,\\\n   c,\\\r\n\td", {"a": "b,c,d"}),
        ("a=b\\\n#c", {"a": "b#c"}),
        ("#a\\\nb=c", {"b": "c"}),
        ("a=b\\", {"a": "b"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\n\nc=d", {"a": "b", "c": "d"}),
        ("\\\n#a\nb=c", {"b": "c"}),
        (r"a\ b\=c\:d=e", {"a b=c:d": "e"}),
        (r"\#a=b", {"#a": "b"}),
        (r"a=\t\n\r\f\\\q\u00e9\uD83D\uDE00", {"a": "\t\n\r\f\\qé😀"}),
        ("a=b\x0bc\x85d\u2028e", {"a": "b\x0bc\x85d\u2028e"}),
        ("=b", {"": "b"}),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, values: dict[str, str]) -> None:
    assert parse_properties(text) == values


def test_a_broken_unicode_escape_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigurationError, match=r"line 3: \\u needs four"):
        parse_properties("a=b\n# \\u\nc=\\u12x4\n")


def test_files_are_utf8_or_latin1_as_in_java() -> None:
    assert decode_properties("a=é".encode()) == "a=é"
    assert decode_properties("a=é".encode("iso-8859-1")) == "a=é"


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    for text in ("a=é".encode(), "a=é".encode("iso-8859-1")):
        assert decode_properties(b"\xef\xbb\xbf" + text) == "a=é"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_a_rewritten_file_keeps_the_bytes_of_other_lines(mark: bytes, encoding: str) -> None:
    note, old = "# café\r\n".encode(encoding), b"b=1\r\n"
    data = rewrite_properties(mark + note + old, {"b": "2"})
    assert data == mark + note + b"b=2\n"
    data = rewrite_properties(mark + note + old, {"b": "é😀"})
    assert data.startswith(mark + note)
    assert parse_properties(decode_properties(data)) == {"b": "é😀"}


def test_plain_values_are_written_as_java_writes_them() -> None:
    values = {"listenPort": "9876", "namesrvAddr": "a:9876;b:9876", "x": "", "note": "a = b #c"}
    assert format_properties(values) == (
        "listenPort=9876\nnamesrvAddr=a:9876;b:9876\nx=\nnote=a = b #c\n"
    )


@given(st.dictionaries(st.text(), st.text()))
def test_written_values_are_read_back(values: dict[str, str]) -> None:
    assert parse_properties(format_properties(values)) == values


FILE = """# our broker
brokerName = broker-a

! ports
listenPort:10911
namesrvAddr=a:9876;\\
    b:9876
own.key=kept
"""


def test_one_changed_key_leaves_everything_else_as_it_was() -> None:
    changed = update_properties(FILE, {"listenPort": "10921"})
    assert changed == FILE.replace("listenPort:10911", "listenPort=10921")


def test_a_value_over_several_lines_is_replaced_whole() -> None:
    changed = update_properties(FILE, {"namesrvAddr": "c:9876", "own.key": "new"})
    assert changed.endswith("listenPort:10911\nnamesrvAddr=c:9876\nown.key=new\n")


def test_a_new_key_goes_to_the_end() -> None:
    assert update_properties("a=b", {"c": "d"}) == "a=b\nc=d\n"
    assert update_properties("", {"c": "d"}) == "c=d\n"


def test_a_value_that_stays_keeps_its_spelling() -> None:
    changes = {"namesrvAddr": "a:9876;b:9876", "brokerName": "broker-a"}
    assert update_properties(FILE, changes) == FILE


def test_effective_line_of_a_repeated_key_changes() -> None:
    assert update_properties("a=1\na=2\n", {"a": "3"}) == "a=1\na=3\n"


def test_a_dangling_backslash_does_not_swallow_the_new_line() -> None:
    for text in ("a=b\\", "a=b\\\n", "a=b\\\r", "a=b\\\r\n"):
        assert parse_properties(update_properties(text, {"c": "d"})) == {"a": "b", "c": "d"}


def test_a_changed_last_line_keeps_the_text_apart() -> None:
    assert update_properties("a=1\nb=2\\", {"b": "3", "c": "4"}) == "a=1\nb=3\nc=4\n"


TEXTS = st.text(alphabet="ab=: \t#!\\\n\r", max_size=30)


@given(TEXTS, st.dictionaries(st.text("abc", min_size=1), st.text(), max_size=3))
def test_update_changes_only_the_given_values(text: str, changes: dict[str, str]) -> None:
    changed = parse_properties(update_properties(text, changes))
    assert changed == parse_properties(text) | changes
