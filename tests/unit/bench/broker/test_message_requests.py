"""Tests requests that send and pull messages, as brokers read them."""

from __future__ import annotations

import pytest

from bench.broker.broker_reads import count_messages
from bench.broker.message_requests import PULL, pulls, sends
from gantrymq.interop.wire import Answer, decode
from gantrymq.wire.message import batch as batch_codec


def cut(data: bytes) -> list[Answer]:
    frames = []
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        frames.append(decode(data[at + 4 : end]))
        at = end
    return frames


@pytest.mark.parametrize("binary", [False, True])
def test_sends_go_to_all_queues_in_turn(binary: bool) -> None:
    frames = cut(sends("orders", 2, 128, 3, binary=binary))
    assert [frame.ext and frame.ext["e"] for frame in frames] == ["0", "1", "0"]
    assert {frame.code for frame in frames} == {310}
    assert {len(frame.body) for frame in frames} == {128}


def test_no_two_messages_have_the_same_key() -> None:
    properties = {frame.ext["i"] for frame in cut(sends("orders", 2, 1, 100)) if frame.ext}
    assert len(properties) == 100


def test_a_batch_holds_its_messages() -> None:
    (frame,) = cut(sends("orders", 1, 128, 1, batch=16))
    parts = list(batch_codec.decode(frame.body))
    assert frame.code == 320
    assert len(parts) == 16
    assert len({bytes(part.properties) for part in parts}) == 16
    assert {len(part.body) for part in parts} == {128}


def test_pulls_ask_for_whole_pieces_of_what_queues_hold() -> None:
    frames = [decode(frame[4:]) for frame in pulls("orders", [2 * PULL, PULL - 1, PULL + 1])]
    asked = [(frame.ext["queueId"], frame.ext["queueOffset"]) for frame in frames if frame.ext]
    assert asked == [("0", "0"), ("0", str(PULL)), ("2", "0")]


def test_messages_are_counted_by_their_lengths() -> None:
    record = (8).to_bytes(4, "big") + bytes(4)
    assert count_messages(record * 3) == 3
