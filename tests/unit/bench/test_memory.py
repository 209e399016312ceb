"""Tests memory that is touched before a round."""

from __future__ import annotations

import pytest

from bench.memory import touch


def test_available_memory_is_touched_and_freed() -> None:
    touch(1 << 20)


def test_more_than_the_available_memory_is_an_error() -> None:
    with pytest.raises(MemoryError, match="a round needs 1073741824 MiB"):
        touch(1 << 50)
