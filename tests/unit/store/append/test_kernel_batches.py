"""Tests that the kernel stores batches like the general path, or leaves them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.fakes.stores.kernel import (
    BORN_HOST,
    BORN_HOST_V6,
    EXT,
    FILE_BYTES,
    LEVELS,
    NOW_MS,
    QUEUES,
    SETTINGS,
    UNIQUE,
    assert_same,
    feed,
    frame,
    group,
    kernel,
)
from gantrymq.store.append.kernel import Fed
from gantrymq.store.append.kernel_counts import SIZE_BOUNDS
from gantrymq.store.append.write_group import WriteGroup
from gantrymq.store.commitlog.arena import Arena
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.message import batch
from gantrymq.wire.message.batch import BatchPart

OWN = b"KEYS\x01k\x02UNIQ_KEY\x01A\x02WAIT\x01true\x02TAGS\x01T\x02"
BOTH = pytest.mark.parametrize("encoding", [0, 1])


def batch_frame(
    parts: list[BatchPart],
    shared: str = f"UNIQ_KEY\x01{UNIQUE}\x02WAIT\x01true\x02",
    *,
    encoding: int = 0,
    code: int = 320,
    flag: int = 0,
    queue_id: int = 3,
    opaque: int = 0,
) -> bytes:
    ext = {"m": "true", "e": str(queue_id), "i": shared}
    body = batch.encode(parts)
    return frame(ext, encoding=encoding, code=code, flag=flag, body=body, opaque=opaque)


def part(body: bytes = b"hello", own: bytes = OWN) -> BatchPart:
    return BatchPart(body, 3, own)


# ------------------------------------------------------------------ what is taken

PLAIN = [
    [part()],
    [part(b"0"), part(b"1"), part(b"2" * 50)],
    [part(own=b""), part(own=b"a\x01b"), part(own=b"junk"), part(own=b"TAGS\x01\x02")],
    [BatchPart(b"x", -1, b"TAGS\x01a\x02TAGS\x01b"), BatchPart(b"y", 1 << 30, b"\xff\x01\xfe\x02")],
    [part(own=b"ORDER\x01x\x02INSTANCE_ID\x01n\x02__SHARDINGKEY\x01s\x02")],
]
SHARED = [
    f"UNIQ_KEY\x01{UNIQUE}\x02WAIT\x01true\x02",
    f"UNIQ_KEY\x01{UNIQUE}",
    f"TAGS\x01all\x02KEYS\x01z\x02UNIQ_KEY\x01{UNIQUE}\x02",
    "WAIT\x01true\x02",
    "",
]


@BOTH
@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("parts", PLAIN)
def test_kernel_stores_plain_batches_like_the_general_path(
    parts: list[BatchPart], shared: str, encoding: int
) -> None:
    data = batch_frame(parts, shared, encoding=encoding, opaque=77)
    assert assert_same(data).at == len(data)


@BOTH
@pytest.mark.parametrize("code", [10, 310, 320])
def test_batch_field_of_the_header_decides_and_not_the_code(code: int, encoding: int) -> None:
    data = batch_frame([part(b"0"), part(b"1")], encoding=encoding, code=code)
    mine = group()
    assert feed(data, mine).count == 1
    assert len(mine.entries) == 2
    assert_same(data)


@BOTH
def test_batches_and_messages_continue_in_the_next_file(encoding: int) -> None:
    data = b"".join(
        batch_frame(
            [part(bytes([n])) for n in range(size)], encoding=encoding, queue_id=size % QUEUES
        )
        + frame({"e": str(size % QUEUES)}, encoding=encoding)
        for size in range(1, 10)
    )
    fed = assert_same(data, BORN_HOST_V6)
    assert fed.count == 18
    assert len(data) > FILE_BYTES


def test_a_batch_stays_in_one_file() -> None:
    mine = group()
    data = b"".join(batch_frame([part(b"x" * 50)] * 5) for _ in range(4))
    assert kernel().feed(mine, data, 0, BORN_HOST).count == 4
    files = [
        {entry.physical_offset // FILE_BYTES for entry in mine.entries[first : first + 5]}
        for first in range(0, 20, 5)
    ]
    assert [len(each) for each in files] == [1, 1, 1, 1]
    assert len(set.union(*files)) > 1


def test_a_oneway_batch_has_no_reply() -> None:
    fed = assert_same(batch_frame([part(), part()], flag=2) + batch_frame([part()], opaque=9))
    (reply,) = FrameReader().decode(fed.replies)
    assert (fed.count, reply.opaque) == (2, 9)


def test_accepted_sends_count_by_message_and_by_request() -> None:
    mine, taken = kernel(), group()
    mine.feed(taken, batch_frame([part(), part(), part()]) + frame(), 0, BORN_HOST)
    size = sum(entry.size for entry in taken.entries)
    (counts,) = mine.take_counts()
    assert (counts.topic, counts.count, counts.size, counts.requests) == ("orders", 4, size, 2)
    assert not counts.is_fifo
    assert mine.take_counts() == []


def test_a_request_counts_by_the_mean_size_of_its_messages() -> None:
    mine, taken = kernel(), group()
    mine.feed(taken, batch_frame([part(b"x"), part(b"x" * 840)]) + frame(), 0, BORN_HOST)
    first, second, single = (entry.size for entry in taken.entries)
    (counts,) = mine.take_counts()
    assert counts.mean_sizes == (first + second) // 2 + single
    assert counts.sizes == [2, 0, 0, 0, 0, 0, 0]
    assert second > SIZE_BOUNDS[0], "alone it would count as larger"


def test_messages_with_a_sharding_key_count_as_ordered() -> None:
    mine = kernel()
    ordered = EXT["i"] + "__SHARDINGKEY\x01account\x02"
    mine.feed(group(), frame({"i": ordered}) + frame(), 0, BORN_HOST)
    normal, fifo = mine.take_counts()
    assert (normal.is_fifo, normal.count) == (False, 1)
    assert (fifo.is_fifo, fifo.count) == (True, 1)


# ------------------------------------------------------------------ what is not

ODD = [
    b"DELAY\x011",
    b"DELAY\x010",
    b"WAIT\x01false",
    b"TRAN_MSG\x01true",
    b"TIMER_DELAY_SEC\x013",
    b"POP_CK\x01x",
    b"__CRC32#\x010",
    b"a\x01b\0c",
    b"a\x01" + b"x" * 32_765,
]


def left_alone(data: bytes) -> None:
    """Assert that the kernel leaves this batch and accepts the send before it."""
    good = batch_frame([part()])
    mine = group()
    fed: Fed = feed(good + data + good, mine)
    assert (fed.count, fed.at, len(mine.entries)) == (1, len(good), 1)
    mine.end()
    assert assert_same(good + data).count == 1


@BOTH
@pytest.mark.parametrize("own", ODD)
def test_kernel_leaves_a_batch_with_one_special_message(own: bytes, encoding: int) -> None:
    left_alone(batch_frame([part(), part(own=own)], encoding=encoding))


@BOTH
@pytest.mark.parametrize("own", ODD[:6])
def test_kernel_leaves_a_batch_with_special_properties(own: bytes, encoding: int) -> None:
    left_alone(batch_frame([part()], own.decode(), encoding=encoding))


@pytest.mark.parametrize(
    "parts",
    [
        [part(), part(b"")],
        [part(b"x" * 450)] * 2,  # maxMessageSize holds for the whole body of the batch
        [part(b"x")] * 30,  # more than a file of the log
    ],
)
def test_kernel_leaves_a_batch_beyond_a_limit(parts: list[BatchPart]) -> None:
    left_alone(batch_frame(parts))


def test_kernel_leaves_a_batch_whose_shared_properties_are_too_long() -> None:
    plenty = "k\x01" + "y" * 30_000 + "\x02"
    one = WriteGroup(Arena(0, 1 << 20, NOW_MS), LEVELS)
    large = kernel(file_bytes=1 << 20)
    assert large.feed(one, batch_frame([part()] * 2, plenty), 0, BORN_HOST).count == 1
    assert large.feed(one, batch_frame([part()] * 3, plenty), 0, BORN_HOST).count == 0


def test_kernel_accepts_a_batch_larger_than_maxmessagesize_in_the_log() -> None:
    assert SETTINGS.max_message_size == 1000
    one = WriteGroup(Arena(0, 1 << 20, NOW_MS), LEVELS)
    parts = [part(b"x", own=b"")] * 40  # 920 bytes of body
    shared = "k\x01" + "y" * 1650 + "\x02"
    large = kernel(file_bytes=1 << 20)
    assert large.feed(one, batch_frame(parts, shared), 0, BORN_HOST).count == 1
    assert sum(entry.size for entry in one.entries) > 1000 + 65_536


def test_kernel_accepts_a_batch_at_a_limit() -> None:
    assert SETTINGS.max_message_size == 1000
    assert len(batch.encode([part(b"x" * 478, own=b"")] * 2)) == 1000
    assert assert_same(batch_frame([part(b"x" * 478, own=b"")] * 2)).count == 1


@pytest.mark.parametrize("body", [b"", b"hello", batch.encode([part()])[:-1]])
def test_kernel_leaves_a_body_that_is_no_batch(body: bytes) -> None:
    left_alone(frame({"m": "true"}, code=320, body=body))


# ------------------------------------------------------------------ anything at all

PARTS = st.builds(
    BatchPart,
    st.binary(max_size=30),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.sampled_from(
        [OWN, b"", b"TAGS\x01a", b"x\x01y\x02", b"DELAY\x011", b"WAIT\x01false", b"\0"]
    ),
)


@given(st.lists(PARTS, min_size=1, max_size=4), st.sampled_from(SHARED), st.sampled_from([0, 1]))
def test_any_accepted_batch_is_stored_like_by_the_general_path(
    parts: list[BatchPart], shared: str, encoding: int
) -> None:
    assert_same(batch_frame(parts, shared, encoding=encoding))


@given(st.sampled_from([0, 1]), st.integers(0, 10_000), st.integers(1, 255))
def test_any_damaged_batch_is_left_or_stored_like_by_the_general_path(
    encoding: int, at: int, change: int
) -> None:
    data = bytearray(batch_frame([part(), part(b"second", b"a\x01b")], encoding=encoding))
    data[at % len(data)] ^= change
    try:
        assert_same(bytes(data))
    except RemoteError:
        pytest.fail("the kernel took what is no frame")


@given(st.binary(max_size=80))
def test_any_body_is_left_or_stored_like_by_the_general_path(body: bytes) -> None:
    assert_same(frame({"m": "true"}, code=320, body=body))
