"""Tests that the kernel stores sends like the general path, or leaves them."""

from __future__ import annotations

import json
import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.fakes.stores.kernel import (
    ADDED,
    BORN_HOST,
    BORN_HOST_V6,
    EXT,
    FILE_BYTES,
    LEVELS,
    NOW_MS,
    QUEUES,
    STORE_HOST,
    UNIQUE,
    assert_same,
    command,
    entry_values,
    feed,
    frame,
    group,
    kernel,
    kernel_of,
    stored,
)
from gantrymq.store.append.kernel import KERNEL_FRAME_BYTES_MAX
from gantrymq.store.append.write_group import WriteGroup
from gantrymq.store.commitlog.arena import Arena
from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.wire import frames
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.message.record import Record

VECTORS = Path(__file__).parents[3] / "vectors"

# ------------------------------------------------------------------ what is taken

BOTH = pytest.mark.parametrize("encoding", [0, 1])

PLAIN = [
    {},
    {"e": "0", "f": "1", "h": "-7", "j": "16", "g": "-1"},
    {"f": "819", "h": "2147483647"},
    {"j": None, "k": None, "m": None, "n": None},
    {"l": "16", "k": "true"},
    {"a": "", "c": "é", "ns": "x", "lo": "y"},
    {"i": f"UNIQ_KEY\x01{UNIQUE}"},
    {"i": f"a\x01b\x02orderId\x01\u6807\u7b7e\U0001f600\x02UNIQ_KEY\x01{UNIQUE}\x02TAGS\x01\u6807"},
    {"i": f"ORDER\x01x\x02INSTANCE_ID\x01n\x02UNIQ_KEY\x01{UNIQUE}\x02__SHARDINGKEY\x01s"},
    {"i": f'q\x01"\\/\n\t\r\b\f\x02UNIQ_KEY\x01{UNIQUE}'},
    {"i": f"TAGS\x01a\x02TAGS\x01b\x02TAGS\x01\x02x\x02UNIQ_KEY\x01x\x02UNIQ_KEY\x01{UNIQUE}"},
]


@BOTH
@pytest.mark.parametrize("ext", PLAIN)
def test_kernel_stores_plain_messages_like_the_general_path(
    ext: dict[str, str], encoding: int
) -> None:
    data = frame(ext, encoding=encoding, opaque=77)
    assert assert_same(data).at == len(data)


@BOTH
@pytest.mark.parametrize("code", [10, 320])
def test_kernel_accepts_all_codes_of_sends(code: int, encoding: int) -> None:
    data = frame(encoding=encoding, code=code, opaque=-5)
    assert assert_same(data).count == 1


@BOTH
def test_records_of_many_frames_continue_in_the_next_file(encoding: int) -> None:
    data = b"".join(
        frame({"e": str(n % QUEUES)}, encoding=encoding, opaque=n, body=bytes(range(n + 1)))
        for n in range(60)
    )
    assert len(data) > 2 * FILE_BYTES
    assert assert_same(data, BORN_HOST_V6).count == 60


@BOTH
def test_a_oneway_send_has_no_reply(encoding: int) -> None:
    data = frame(encoding=encoding, flag=2) + frame(encoding=encoding, opaque=9)
    fed = assert_same(data)
    (reply,) = FrameReader().decode(fed.replies)
    assert (fed.count, reply.opaque) == (2, 9)


def test_both_encodings_may_share_a_connection() -> None:
    fed = assert_same(b"".join(frame(encoding=n % 2, opaque=n) for n in range(6)))
    replies = FrameReader().decode(fed.replies)
    assert [(reply.opaque, reply.encoding) for reply in replies] == [(n, n % 2) for n in range(6)]


def test_kernel_accepts_frames_of_a_java_client() -> None:
    traffic = json.loads((VECTORS / "traffic-5.3.3.json").read_text())
    sends = [one for one in traffic if one["name"] == "SEND_MESSAGE_V2"]
    taken = 0
    for one in sends:
        java = kernel(topics=[one["request"]["ext"]["b"].encode()])
        request = bytes.fromhex(one["request"]["frame"])
        fed = java.feed(group(), request, 0, BORN_HOST)
        taken += fed.count
        if fed.replies:
            (reply,) = FrameReader().decode(fed.replies)
            (answer,) = FrameReader().decode(bytes.fromhex(one["response"]["frame"]))
            assert reply.ext is not None
            assert answer.ext is not None
            assert reply.ext.keys() == answer.ext.keys()
            assert reply.ext["transactionId"] == answer.ext["transactionId"]
            assert (reply.opaque, reply.flag, reply.version) == (answer.opaque, 1, answer.version)
    assert taken >= len(sends) - 3  # delayed and transactional ones


# ------------------------------------------------------------------ what is not

NOT_PLAIN = [
    {"b": "unknown"},
    {"b": None},
    {"c": None},
    {"d": "x"},
    {"d": "2147483648"},
    {"e": "4"},
    {"e": "-1"},
    {"e": ""},
    {"f": "4"},
    {"f": "8"},
    {"f": "64"},
    {"g": "1e3"},
    {"g": None},
    {"h": " 1"},
    {"l": "9999999999"},
    {"m": "TRUE"},
    {"i": None},
    {"i": "TAGS\x01a"},
    {"i": "UNIQ_KEY\x01not plain"},
    {"i": f"UNIQ_KEY\x01{UNIQUE}\x02WAIT\x01false"},
    {"i": f"UNIQ_KEY\x01{UNIQUE}\x02DELAY\x013"},
    {"i": f"UNIQ_KEY\x01{UNIQUE}\x02TRAN_MSG\x01true"},
    {"i": f"UNIQ_KEY\x01{UNIQUE}\x02TIMER_DELAY_SEC\x013"},
    {"i": f"UNIQ_KEY\x01{UNIQUE}\x02POP_CK\x013"},
    {"i": f"CLUSTER\x01other\x02UNIQ_KEY\x01{UNIQUE}"},
    {"i": f"__CRC32#\x010\x02UNIQ_KEY\x01{UNIQUE}"},
    {"i": f"INNER_MULTI_DISPATCH\x01%LMQ%a\x02UNIQ_KEY\x01{UNIQUE}"},
    {"i": f"UNIQ_KEY\x01{UNIQUE}\x02a\x01b\0"},
    {"i": f"UNIQ_KEY\x01{UNIQUE}\x02a\x01" + "x" * FILE_BYTES},
]


@BOTH
@pytest.mark.parametrize("ext", NOT_PLAIN)
def test_kernel_leaves_special_messages_to_the_general_path(
    ext: dict[str, str | None], encoding: int
) -> None:
    good = frame(encoding=encoding)
    mine = group()
    fed = feed(good + frame(ext, encoding=encoding) + good, mine)
    assert (fed.count, fed.at) == (1, len(good))
    assert len(mine.entries) == 1
    assert assert_same(good + frame(ext, encoding=encoding)).count == 1


def test_properties_up_to_the_limit_are_accepted() -> None:
    room = 32_767 - len(ADDED) - len(f"UNIQ_KEY\x01{UNIQUE}\x02a\x01\x02")
    for length, count in ((room, 1), (room + 1, 0)):
        data = frame({"i": f"UNIQ_KEY\x01{UNIQUE}\x02a\x01" + "x" * length})
        large = WriteGroup(Arena(0, 1 << 20, NOW_MS), LEVELS)
        assert kernel(1 << 20).feed(large, data, 0, BORN_HOST).count == count


@BOTH
@pytest.mark.parametrize(
    ("code", "flag", "body"),
    [
        (319, 0, b"x"),
        (11, 0, b"x"),
        (310, 1, b"x"),
        (310, 4, b"x"),
        (310, 0, b""),
        (310, 0, bytes(1001)),
        (310, 0, bytes(KERNEL_FRAME_BYTES_MAX)),
    ],
)
def test_kernel_leaves_other_requests(code: int, flag: int, body: bytes, encoding: int) -> None:
    assert feed(frame(encoding=encoding, code=code, flag=flag, body=body)).at == 0


@pytest.mark.parametrize(
    "header",
    [
        '{"code":310,"extFields":%s,"flag":0,"opaque":1,"x":1}',
        '{ "code":310,"extFields":%s,"flag":0,"opaque":1}',
        '{"opaque":1,"code":310,"extFields":%s,"flag":0}',
        '{"code":310,"extFields":%s,"extFields":%s,"flag":0,"opaque":1}',
        '{"code":310,"extFields":%s,"flag":0,"opaque":01}',
        '{"code":310,"extFields":%s,"flag":0,"opaque":2147483648}',
        '{"code":310,"extFields":{},"flag":0,"opaque":1}',
        '{"code":310,"extFields":%s,"flag":0,"opaque":1}}',
        '{"code":310,"extFields":%s,"flag":0,"opaque":1',
    ],
)
def test_kernel_leaves_json_that_java_does_not_write(header: str) -> None:
    data = header.replace("%s", json.dumps(EXT, separators=(",", ":"))).encode()
    assert feed(struct.pack(">ii", 4 + len(data) + 1, len(data)) + data + b"x").at == 0


def test_kernel_leaves_half_a_surrogate_pair() -> None:
    data = frame({"i": f"a\x01?\x02UNIQ_KEY\x01{UNIQUE}"}).replace(b"?", b"\\ud800")
    size = len(data) - 5 - 8
    data = struct.pack(">ii", 4 + size + 5, size) + data[8:]
    assert feed(data).at == 0


def test_kernel_leaves_bytes_that_are_not_utf8() -> None:
    for encoding in (0, 1):
        data = frame({"i": f"a\x01?\x02UNIQ_KEY\x01{UNIQUE}"}, encoding=encoding)
        assert feed(data.replace(b"?", b"\xff")).at == 0


@pytest.mark.parametrize("topic", [b"", b"%RETRY%g", b"SCHEDULE_TOPIC_XXXX", b"t" * 128, b"a\0"])
def test_topics_whose_messages_are_changed_cannot_be_served(topic: bytes) -> None:
    with pytest.raises(LocalError):
        kernel().serve(topic, QUEUES)


def test_kernel_leaves_sends_to_a_forgotten_topic() -> None:
    mine = kernel()
    mine.forget(b"orders")
    assert mine.feed(group(), frame(), 0, BORN_HOST).at == 0


# ------------------------------------------------------------------ the group


def test_refused_write_group_returns_its_queue_offsets() -> None:
    mine = kernel()
    refused, taken = group(), group()
    mine.feed(refused, frame({"e": "0"}), 0, BORN_HOST)
    refused.end()
    mine.feed(taken, frame({"e": "0"}) + frame({"e": "0"}), 0, BORN_HOST)
    offsets = [entry.queue_offset for entry in refused.entries + taken.entries]
    assert offsets == [1, 1, 2]


def test_kernel_leaves_queues_that_are_new_or_deleted() -> None:
    queues = stored([])
    mine = kernel_of(queues)
    data = frame({"e": "1"})
    assert mine.feed(group(), data, 0, BORN_HOST).count == 0
    queues.append("orders", 1, 0, 0, 1, 0)
    taken = group()
    assert mine.feed(taken, data, 0, BORN_HOST).count == 1
    taken.end()
    queues.delete_topic("orders")
    assert mine.feed(group(), data, 0, BORN_HOST).count == 0


def test_feed_continues_at_the_given_position() -> None:
    data = frame({"b": "unknown"}) + frame()
    fed = kernel().feed(group(), data, len(frame({"b": "unknown"})), BORN_HOST)
    assert (fed.at, fed.count) == (len(data), 1)


def test_kernel_and_general_path_share_write_group_and_queue_offsets() -> None:
    queues = stored([b"orders"])
    mine, together = kernel_of(queues), group()
    mine.feed(together, frame({"e": "1"}), 0, BORN_HOST)
    queue = queues.find("orders", 1)
    assert queue is not None
    records = [
        Record(topic, b"x", properties=own, born_host=BORN_HOST_V6, store_host=STORE_HOST)
        for topic in (b"orders", b"SCHEDULE_TOPIC_XXXX")
        for own in (b"DELAY\x012\x02KEYS\x01k", b"TAGS\x01T")
    ]
    records[0].queue_offset = int(together.number(queue, 1))
    together.add(records[0])
    together.add_batch(records[1:])
    mine.feed(together, frame({"e": "1"}), 0, BORN_HOST)
    (run,) = together.arena.runs()
    read = EntryReader(FILE_BYTES, LEVELS).read(run.data, run.position).found
    assert [entry_values(entry) for entry in together.entries] == [entry_values(e) for e in read]
    offsets = [entry.queue_offset for entry in read if entry.queue_id == 1 or entry.keys == b"k"]
    assert offsets[:2] + offsets[-1:] == [101, 102, 103]


# ------------------------------------------------------------------ anything at all

TEXTS = st.text(st.sampled_from('aZ09_ \x01\x02"\\/\n\0é\u6807\U0001f600'), max_size=12)
NUMBERS = st.sampled_from(["0", "1", "3", "-1", "-0", "007", "4", "", "+1", "2147483648", "x"])
OWN = st.lists(
    st.sampled_from(
        [
            f"UNIQ_KEY\x01{UNIQUE}",
            "TAGS\x01T",
            "KEYS\x01a b",
            "WAIT\x01true",
            "X\x01y",
            "DELAY\x011",
        ]
    ),
    max_size=5,
).map("\x02".join)
SENDS = st.builds(
    command,
    st.dictionaries(st.sampled_from("defghjl"), NUMBERS, max_size=2).flatmap(
        lambda numbers: st.fixed_dictionaries(
            {}, optional={"i": OWN | TEXTS, "a": TEXTS, "c": TEXTS, "zz": TEXTS}
        ).map(lambda texts: numbers | texts)
    ),
    encoding=st.sampled_from([0, 1]),
    body=st.binary(max_size=30),
    code=st.sampled_from([310, 310, 310, 10, 320]),
    opaque=st.integers(-(1 << 31), (1 << 31) - 1),
    flag=st.sampled_from([0, 0, 2, 1]),
)


@given(st.lists(SENDS, max_size=4))
def test_any_accepted_send_is_stored_like_by_the_general_path(sends: list[Command]) -> None:
    assert_same(b"".join(map(frames.encode, sends)))


@given(st.sampled_from([0, 1]), st.integers(0, 10_000), st.integers(1, 255))
def test_any_damaged_frame_is_left_or_stored_like_by_the_general_path(
    encoding: int, at: int, change: int
) -> None:
    data = bytearray(frame(encoding=encoding))
    data[at % len(data)] ^= change
    try:
        assert_same(bytes(data))
    except RemoteError:
        pytest.fail("the kernel took what is no frame")


@BOTH
def test_incomplete_frame_waits_for_the_rest(encoding: int) -> None:
    data = frame(encoding=encoding)
    assert [feed(data[:size]).at for size in range(len(data))] == [0] * len(data)


def test_unused_queues_of_a_wide_topic_take_no_memory() -> None:
    made = kernel()
    tracemalloc.start()
    try:
        for number in range(1000):
            made.serve(b"wide-%d" % number, 16_384)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 2_000_000


def test_kernel_serves_the_last_queue_of_a_wide_topic_and_none_behind_it() -> None:
    queues = stored([])
    queues.append("wide", 16_383, 7, 0, 1, 0)
    made = kernel_of(queues, topics=[])
    made.serve(b"wide", 16_384)

    def taken(queue_id: int) -> int:
        data = frame({"b": "wide", "e": str(queue_id)})
        return made.feed(group(), data, 0, BORN_HOST).count

    assert [taken(queue_id) for queue_id in (16_383, 16_384, 16_382, 16_383)] == [1, 0, 0, 1]
