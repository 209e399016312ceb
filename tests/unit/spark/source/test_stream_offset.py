"""Offsets in checkpoints: equal offsets have equal texts, and the replay of a batch is exact."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.source.stream_offset import StreamOffset, StreamOffsetError

A, B = QueueKey("t", "b", 2), QueueKey("t", "b", 10)
QUEUES = st.builds(QueueKey, st.text(max_size=3), st.text(max_size=3), st.integers(0, 20))
POSITIONS = st.dictionaries(QUEUES, st.integers(0, 1 << 62), max_size=8)
OFFSETS = st.builds(
    StreamOffset, POSITIONS, POSITIONS, is_initial=st.booleans(), lost=st.integers(0, 9)
)


def test_an_offset_is_written_in_the_order_of_its_queues() -> None:
    offset = StreamOffset({B: 7, A: 5}, {A: 1}, is_initial=True, lost=3)
    assert json.dumps(offset.to_json()) == (
        '{"v": 1, "q": {"t": {"b": {"2": 5, "10": 7}}}, "from": {"t": {"b": {"2": 1}}},'
        ' "init": 1, "lost": 3}'
    )


@given(OFFSETS)
def test_an_offset_is_read_back(offset: StreamOffset) -> None:
    assert StreamOffset.from_json(json.loads(json.dumps(offset.to_json()))) == offset


@given(OFFSETS, st.randoms())
def test_equal_offsets_have_equal_texts(offset: StreamOffset, chance: object) -> None:
    shuffle = chance.shuffle  # type: ignore[attr-defined]  # hypothesis' random.Random
    queues = list(offset.positions)
    shuffle(queues)
    other = StreamOffset(
        {queue: offset.positions[queue] for queue in queues},
        offset.bases,
        offset.is_initial,
        offset.lost,
    )
    assert json.dumps(other.to_json()) == json.dumps(offset.to_json())


def test_a_replayed_batch_begins_where_it_was_logged_to_begin() -> None:
    logged = StreamOffset({A: 10, B: 4}, {A: 3, B: 0})
    asked_anew = StreamOffset({A: 8, B: 4}, is_initial=True)
    assert logged.base(asked_anew) == {A: 3, B: 0}


def test_a_later_batch_begins_at_the_end_of_the_one_before() -> None:
    start = StreamOffset({A: 10}, {A: 3})
    assert StreamOffset({A: 12, B: 4}, {B: 1}).base(start) == {A: 10, B: 1}


@pytest.mark.parametrize(
    "value",
    [{}, {"v": 2, "q": {}}, {"v": 1}, {"v": 1, "q": 5}, {"v": 1, "q": {"t": {"b": {"x": 1}}}}],
)
def test_offsets_of_other_sources_are_refused(value: dict[str, object]) -> None:
    with pytest.raises(StreamOffsetError, match="the checkpoint has an offset"):
        StreamOffset.from_json(value)
