"""Names of topics and groups."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.names.name_rules import group_fault, topic_fault


@pytest.mark.parametrize("name", ["T", "%RETRY%g", "a|b_c-9", "t" * 127, "%DLQ%" + "g" * 200])
def test_names_that_are_fit(name: str) -> None:
    assert topic_fault(name) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "The specified topic is blank."),
        (" \t", "The specified topic is blank."),
        (
            "a b",
            "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        ),
        ("a/../b", "The specified topic contains illegal characters"),
        ("ü", "The specified topic contains illegal characters"),
        ("T\n", "The specified topic contains illegal characters"),
        ("t" * 128, "The specified topic is longer than topic max length."),
        ("%RETRY%" + "g" * 249, "The specified topic is longer than topic max length."),
    ],
)
def test_names_that_no_topic_has(name: str, words: str) -> None:
    assert (topic_fault(name) or "").startswith(words)


@pytest.mark.parametrize(
    ("name", "words"), [("", "blank"), ("g" * 256, "max length 255"), ("a@b", "illegal characters")]
)
def test_names_that_no_group_has(name: str, words: str) -> None:
    assert group_fault("g" * 255) is None
    assert words in (group_fault(name) or "")
