"""Tests which blocks of the log are cached, and for how long."""

from __future__ import annotations

from gantrymq.store.commitlog.log_blocks import BLOCKS_MAX, LOOKS_MIN, LogBlocks


def test_block_is_wanted_after_enough_looks() -> None:
    blocks = LogBlocks(10)
    assert [blocks.is_wanted(20) for _ in range(2 * LOOKS_MIN)] == [
        *[False] * (LOOKS_MIN - 1),
        True,
        *[False] * (LOOKS_MIN - 1),
        True,
    ]


def test_looks_are_forgotten_after_looks_at_other_blocks() -> None:
    blocks = LogBlocks(10)
    for _ in range(LOOKS_MIN - 1):
        assert not blocks.is_wanted(0)
    for number in range(1, BLOCKS_MAX + 1):
        assert not blocks.is_wanted(number * 10)
    assert not blocks.is_wanted(0)
    assert len(blocks._looks) == BLOCKS_MAX


def test_oldest_block_is_evicted_first() -> None:
    blocks = LogBlocks(10)
    for number in range(BLOCKS_MAX + 1):
        blocks.keep(number * 10, b"%d" % number)
    assert blocks.find(0) is None
    assert blocks.find(10) == b"1"
    assert blocks.find(BLOCKS_MAX * 10) == b"%d" % BLOCKS_MAX
    blocks.clear()
    assert blocks.find(10) is None
