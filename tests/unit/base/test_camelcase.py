"""Tests the conversion of names to Java's spelling."""

from __future__ import annotations

import pytest

from gantrymq.base.camelcase import camel_case


@pytest.mark.parametrize(
    ("ours", "javas"),
    [
        ("topic", "topic"),
        ("queue_id", "queueId"),
        ("body_crc32", "bodyCrc32"),
        ("mapped_file_size_commit_log", "mappedFileSizeCommitLog"),
    ],
)
def test_words_are_joined_with_capitals(ours: str, javas: str) -> None:
    assert camel_case(ours) == javas
