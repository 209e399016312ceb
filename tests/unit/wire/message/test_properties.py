"""Tests property strings: reading and deleting as in Java, and the quick paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.wire.message import properties, property_names

VECTORS = Path(__file__).parents[3] / "vectors"
FUNCTIONS = json.loads((VECTORS / "functions-5.3.3.json").read_text())
MESSAGES = json.loads((VECTORS / "messages-5.3.3.json").read_text())

# Few letters make collisions of names, and separators in every place.
strings = st.lists(st.sampled_from([b"A", b"B", b"\x01", b"\x02"]), max_size=24).map(b"".join)
names = st.sampled_from(["A", "B", "AB", "AA", "C"])
words = st.text(st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1)


def plain(text: str) -> bytes:
    """`^` and `$` stand for the separators, so that examples can be read."""
    return text.replace("^", "\x01").replace("$", "\x02").encode()


@pytest.mark.parametrize("item", FUNCTIONS["properties"])
def test_parses_as_java(item: dict[str, Any]) -> None:  # Any: mixed JSON
    assert properties.parse(item["string"].encode()) == item["parsed"]


@pytest.mark.parametrize("item", FUNCTIONS["deleteProperty"])
def test_deletes_as_java(item: dict[str, str]) -> None:
    assert properties.delete(item["in"].encode(), item["name"]) == item["out"].encode()


def test_encodes_javas_string() -> None:
    said = MESSAGES[0]["propertiesString"].encode()
    parsed = properties.parse(said)
    assert parsed == MESSAGES[0]["decoded"]["properties"]
    assert properties.encode(parsed) == said


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("A^b$", {"A": "b"}),
        ("AB$C^d", {"C": "d"}),
        ("A^$B^c", {"B": "c"}),
        ("^b$C^d", {"C": "d"}),
        ("A^^$", {"A": "\x01"}),
        ("A^^b", {"A": "\x01b"}),
        ("ab^", {}),
        ("$$A^b$$", {"A": "b"}),
        ("A^b$A^c$", {"A": "c"}),
        ("A^b$A^$", {"A": "b"}),
        (" ^ $", {" ": " "}),
        ("", {}),
    ],
)
def test_reading_is_as_lenient_as_java(text: str, parsed: dict[str, str]) -> None:
    assert properties.parse(plain(text)) == parsed


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("A^b$", ""),
        ("A^b", ""),
        ("XA^b$A^c$", "XA^b$"),
        ("A^b$A^c$B^d", "B^d"),
        ("B^A^b$A^c", "B^A^b$"),
        ("A", "A"),
        ("A$A^b", "A$"),
        ("C^x$A^", "C^x$"),
        ("C^x$A^$D^y$", "C^x$D^y$"),
        ("A^b^c$D^e$", "D^e$"),
        ("Q^A$A^1$", "Q^A$"),
        ("XA^b", "XA^b"),
    ],
)
def test_delete_gives_what_javas_library_gives(text: str, left: str) -> None:
    assert properties.delete(plain(text), "A") == plain(left)


@given(strings, names)
def test_get_agrees_with_parse(text: bytes, name: str) -> None:
    assert properties.get(text, name) == properties.parse(text).get(name)


@given(strings, names)
def test_delete_removes_one_name_and_nothing_else(text: bytes, name: str) -> None:
    left = properties.parse(properties.delete(text, name))
    assert left == {key: value for key, value in properties.parse(text).items() if key != name}


@given(strings, names)
def test_append_and_replace_set_the_value(text: bytes, name: str) -> None:
    wanted = properties.parse(text) | {name: "new"}
    assert properties.parse(properties.append(text, name, "new")) == wanted
    assert properties.parse(properties.replace(text, name, "new")) == wanted
    assert properties.replace(text, name, "new").count(f"\x02{name}\x01".encode()) <= 1


@given(st.dictionaries(words, words))
def test_dictionaries_survive_the_round_trip(pairs: dict[str, str]) -> None:
    text = properties.encode(pairs)
    assert properties.parse(text) == pairs
    assert properties.parse(text.removesuffix(b"\x02")) == pairs
    for name, value in pairs.items():
        assert properties.get(text, name) == value


@given(st.binary(max_size=60))
def test_any_bytes_can_be_read(data: bytes) -> None:
    parsed = properties.parse(data)
    assert properties.get(data, "A") == parsed.get("A")


def test_join_puts_the_missing_separator_in() -> None:
    assert properties.join(plain("A^b"), plain("C^d$")) == plain("A^b$C^d$")
    assert properties.join(plain("A^b$"), plain("C^d")) == plain("A^b$C^d")
    assert properties.join(plain("A^b"), b"") == plain("A^b")
    assert properties.join(b"", plain("A^b")) == plain("A^b")


def test_lone_surrogates_are_written_as_java_writes_them() -> None:
    assert properties.encode({"a": "\ud800"}) == plain("a^?$")


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("KEYS", "x", "The Property<KEYS> is used by system, input another please"),
        ("", "x", "can not be null or blank"),
        ("a", " ", "can not be null or blank"),
        ("a\x01", "x", "ends names"),
        ("a\x02", "x", "ends properties"),
        ("a", "x\x02", "ends properties"),
    ],
)
def test_invalid_user_property_is_refused(name: str, value: str, why: str) -> None:
    assert why in (properties.fault(name, value) or "")


def test_user_value_is_accepted_if_it_can_be_read_back() -> None:
    assert properties.fault("a", "x\x01y") is None
    assert properties.fault("CHECK_IMMUNITY_TIME_IN_SECONDS", "10") is None


def test_reserved_are_the_names_that_java_refuses() -> None:
    assert len(property_names.RESERVED) == 51
    assert property_names.TRANSACTION_ID not in property_names.RESERVED
