"""Offsets, timestamps and queues in JSON: what is read, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.spark.options.assignment import (
    QueueKey,
    parse_offsets,
    parse_queues,
    parse_timestamps,
)

NAMES = st.text(min_size=1, max_size=8)


def test_offsets_are_a_word_or_one_number_per_queue() -> None:
    assert parse_offsets("Earliest") == "earliest"
    assert parse_offsets('{"t":{"b":{"0":23,"1":-1},"c":{"0":-2}}}') == {
        QueueKey("t", "b", 0): 23,
        QueueKey("t", "b", 1): -1,
        QueueKey("t", "c", 0): -2,
    }


@given(st.dictionaries(st.tuples(NAMES, NAMES, st.integers(0, 99)), st.integers(-2, 10**12)))
def test_offsets_written_as_json_are_read_back(
    offsets: dict[tuple[str, str, int], int],
) -> None:
    nested: dict[str, dict[str, dict[str, int]]] = {}
    for (topic, broker_name, queue_id), offset in offsets.items():
        nested.setdefault(topic, {}).setdefault(broker_name, {})[str(queue_id)] = offset
    if offsets:
        assert parse_offsets(json.dumps(nested)) == offsets


@pytest.mark.parametrize(
    "text",
    [
        "",
        "newest",
        "[]",
        "{}",
        '{"t":5}',
        '{"t":{"b":[0]}}',
        '{"t":{"b":{"x":1}}}',
        '{"t":{"b":{"-1":1}}}',
        '{"t":{"b":{"0":-3}}}',
        '{"t":{"b":{"0":1.5}}}',
        '{"t":{"b":{"0":true}}}',
        '{"t":{"b":{"0":9223372036854775808}}}',
        '{"t":{"b":{"2147483648":0}}}',
    ],
)
def test_invalid_offsets_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the texts are json's own, too
        parse_offsets(text)


def test_a_timestamp_is_never_negative() -> None:
    assert parse_timestamps('{"t":{"b":{"0":0}}}') == {QueueKey("t", "b", 0): 0}
    with pytest.raises(ValueError, match="from 0 on"):
        parse_timestamps('{"t":{"b":{"0":-1}}}')


def test_queues_are_lists_of_ids() -> None:
    assert parse_queues('{"t":{"b":[0,2]}}') == {QueueKey("t", "b", 0), QueueKey("t", "b", 2)}
    for text in ('{"t":{"b":{"0":1}}}', '{"t":{"b":[-1]}}', '{"t":{"b":[true]}}', "{}"):
        with pytest.raises(ValueError, match="queue"):
            parse_queues(text)
