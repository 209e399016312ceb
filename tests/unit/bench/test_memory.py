"""Memory that is touched before a round."""

from __future__ import annotations

import pytest

from bench.memory import touch


def test_what_is_there_is_touched_and_freed() -> None:
    touch(1 << 20)


def test_more_than_there_is_is_refused_in_words() -> None:
    with pytest.raises(MemoryError, match="a round needs 1073741824 MiB"):
        touch(1 << 50)
