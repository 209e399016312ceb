"""Tests the YAML reader, which accepts only what a file of accounts needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.acl.plain import yaml_tree
from gantrymq.acl.plain.yaml_tree import DEPTH_MAX, YAML_BYTES_MAX
from gantrymq.base.errors import ConfigurationError


def test_texts_stay_as_they_are_written() -> None:
    content = b"a: 0123\nb: yes\nc: ~\nd: '~'\ne: [1.50, x y, null]\nf: {g: }\n"
    tree = {"a": "0123", "b": "yes", "c": None, "d": "~", "e": ["1.50", "x y", None]}
    assert yaml_tree.read(content) == {**tree, "f": {"g": None}}


@pytest.mark.parametrize("content", [b"", b"\n# nothing\n", b"\xef\xbb\xbf"])
def test_empty_text_is_none(content: bytes) -> None:
    assert yaml_tree.read(content) is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a: &x [1]\nb: *x\n", "line 2: an alias"),
        (b"a: " + b"[" * DEPTH_MAX + b"]" * DEPTH_MAX, "line 1: deeper than"),
        (b"[" * 100_000, "deeper than"),
        (b"? [a]\n: b\n", "a key that is no text"),
        (b"a: 1\n---\nb: 2\n", "more than one document"),
        (b"a: [1\nb: 2\n", "line"),
        (b"a: \xff\n", "utf-8"),
        (b"a: \x00\n", "."),
        (b"\t- a", "."),
        (b"#" * (YAML_BYTES_MAX + 1), "at most"),
    ],
)
def test_other_yaml_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        yaml_tree.read(content)


def test_tags_create_no_objects() -> None:
    assert yaml_tree.read(b"a: !!python/object/apply:os.system [x]") == {"a": ["x"]}


@given(st.binary(max_size=60) | st.text(alphabet="ab:-[]{}&*!|>'\"\n #?,%@`", max_size=40))
def test_nonsense_is_read_or_refused(content: bytes | str) -> None:
    try:
        yaml_tree.read(content if isinstance(content, bytes) else content.encode())
    except ConfigurationError:
        return
