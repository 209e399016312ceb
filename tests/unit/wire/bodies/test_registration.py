"""Tests both forms of RegisterBrokerBody against Java's bytes, and against damage."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.wire.bodies import registration
from gantrymq.wire.bodies.registration import RegisterBrokerBody, fingerprint
from gantrymq.wire.bodies.shared import DataVersion, TopicConfig

VECTORS = Path(__file__).parents[3] / "vectors"

TOPIC = TopicConfig("TopicTest", 4, 4)
ORDERED = TopicConfig("TopicAttr", 8, 8, attributes={"message.type": "FIFO"})
COUNTERS = st.integers(0, 1 << 40)
NUMBERS = st.integers(0, 0x7FFFFFFF)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=20)
TOPICS = st.builds(
    TopicConfig,
    topic_name=NAMES,
    read_queue_nums=NUMBERS,
    write_queue_nums=NUMBERS,
    perm=st.integers(0, 15),
    attributes=st.dictionaries(NAMES, NAMES, max_size=3),
)
BODIES = st.builds(
    RegisterBrokerBody,
    data_version=st.builds(DataVersion, COUNTERS, COUNTERS, COUNTERS),
    topics=st.lists(TOPICS, max_size=5).map(lambda all_: {t.topic_name: t for t in all_}),
    filter_servers=st.lists(NAMES, max_size=3).map(tuple),
)


def vectors(release: str) -> dict[str, dict[str, str]]:
    text = (VECTORS / f"bodies-{release}.json").read_text()
    return {vector["name"]: vector for vector in json.loads(text)}


def compressed_of_java() -> bytes:
    vector = vectors("5.3.3")["REGISTER_BROKER request compressed (zlib level 9)"]
    return bytes.fromhex(vector["hex"])


def test_java_5_json() -> None:
    text = vectors("5.3.3")["REGISTER_BROKER request (not compressed)"]["json"]
    body = RegisterBrokerBody.decode(text.encode(), 479)
    assert body.data_version == DataVersion(1700000000000, 3)
    assert set(body.topics) == {"TopicTest", "TopicAttr"}
    assert body.topics["TopicAttr"].attributes == {"message.type": "FIFO"}
    assert body.filter_servers == ()


def test_java_4_json_has_a_version_without_state() -> None:
    text = vectors("4.9.8")["REGISTER_BROKER request"]["json"]
    body = RegisterBrokerBody.decode(text.encode(), 409)
    assert body.data_version == DataVersion(1700000000000, 3, 0)
    assert body.topics == {"TopicTest": TOPIC}


def test_java_compressed() -> None:
    body = RegisterBrokerBody.decode(compressed_of_java(), 479, compressed=True)
    assert body.data_version == DataVersion(1700000000000, 3)
    assert body.topics == {"TopicTest": TOPIC, "TopicAttr": ORDERED}
    assert body.filter_servers == ()


def test_compressed_body_is_detected_despite_the_header() -> None:
    assert "TopicTest" in RegisterBrokerBody.decode(compressed_of_java(), 479).topics


def test_before_3_0_11_the_body_is_the_inner_object() -> None:
    inner = b'{"dataVersion":{"counter":1,"timestamp":2},"topicConfigTable":{}}'
    body = RegisterBrokerBody.decode(inner, 36)
    assert body == RegisterBrokerBody(DataVersion(2, 1), {}, None)


def test_missing_body_is_a_broker_without_topics() -> None:
    assert RegisterBrokerBody.decode(b"", 479) == RegisterBrokerBody()


def test_null_and_empty_filter_servers_differ() -> None:
    assert RegisterBrokerBody.decode(b'{"filterServerList":[]}', 479).filter_servers == ()
    assert RegisterBrokerBody.decode(b"{}", 479).filter_servers is None


@given(BODIES)
def test_both_forms_survive_a_round_trip(body: RegisterBrokerBody) -> None:
    assert RegisterBrokerBody.decode(body.encode(), 479) == body
    assert RegisterBrokerBody.decode(body.encode_compressed(), 479, compressed=True) == body


def test_a_4_9_line_ends_after_the_filter_type() -> None:
    plain = zlib.decompress(
        RegisterBrokerBody(topics={"T": TopicConfig("T", 1, 2)}).encode_compressed()
    )
    without = plain.replace(b"SINGLE_TAG {}", b"SINGLE_TAG").replace(
        len(b"T 1 2 6 SINGLE_TAG {}").to_bytes(4, "big"),
        len(b"T 1 2 6 SINGLE_TAG").to_bytes(4, "big"),
    )
    body = RegisterBrokerBody.decode(zlib.compress(without), 409, compressed=True)
    assert body.topics == {"T": TopicConfig("T", 1, 2)}


def registrations_of_java() -> dict[int, bytes]:
    """By opaque: a master's with 14 topics and then with one, a slave's twice, 6 s apart."""
    traffic = json.loads((VECTORS / "traffic-5.3.3.json").read_text())
    asked = [each["request"] for each in traffic if each["name"] == "REGISTER_BROKER"]
    return {request["opaque"]: request["bodyText"].encode() for request in asked}


def test_fingerprint_stays_while_a_java_broker_registers_the_same() -> None:
    java = registrations_of_java()
    assert java[1333] != java[1432]
    assert fingerprint(java[1333]) == fingerprint(java[1432])


def test_the_fingerprint_changes_with_anything_else() -> None:
    java = registrations_of_java()
    body = java[1333]
    changed = body.replace(b'"perm":6', b'"perm":4', 1)
    later = body.replace(b'"dataVersion":{"counter":0', b'"dataVersion":{"counter":1', 1)
    assert len({fingerprint(each) for each in (java[0], java[7], body, changed, later)}) == 5


def test_the_fingerprint_leaves_compressed_bodies_whole() -> None:
    stream = zlib.compress(b'"mappingDataVersion":{}', 0)
    assert fingerprint(stream) != fingerprint(stream.replace(b"{}", b"{1}"))


def test_a_bomb_is_refused_while_it_inflates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "INFLATED_BYTES_MAX", 10_000)
    with pytest.raises(RemoteError, match="inflates to more than 10000"):
        RegisterBrokerBody.decode(zlib.compress(bytes(1_000_000)), 479)


def test_truncated_or_damaged_json_is_read_or_refused() -> None:
    data = RegisterBrokerBody(DataVersion(1, 2), {"T": ORDERED}, ("f:1",)).encode()
    cuts = [data[:at] for at in range(1, len(data))]
    damaged = [data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :] for at in range(len(data))]
    for body in cuts + damaged:
        try:
            again = RegisterBrokerBody.decode(body, 479)
        except RemoteError:
            continue
        assert RegisterBrokerBody.decode(again.encode(), 479) == again


@pytest.mark.parametrize("cut", range(1, len(compressed_of_java())))
def test_a_compressed_body_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(RemoteError):
        RegisterBrokerBody.decode(compressed_of_java()[:cut], 479, compressed=True)


def test_a_plain_stream_cut_short_is_refused() -> None:
    plain = zlib.decompress(compressed_of_java())
    ends = plain.rindex(b"[]") + 2  # what follows counts static topics and is not read
    for cut in range(ends):
        with pytest.raises(RemoteError):
            RegisterBrokerBody.decode(zlib.compress(plain[:cut]), 479, compressed=True)


def test_damaged_body_is_read_or_refused() -> None:
    plain = zlib.decompress(compressed_of_java())
    for at in range(len(plain)):
        damaged = bytearray(plain)
        damaged[at] ^= 0xFF
        try:
            RegisterBrokerBody.decode(zlib.compress(damaged), 479, compressed=True)
        except RemoteError:
            continue


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"nonsense",
        b'{"topicConfigSerializeWrapper":[1]}',
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{"perm":6}}}}',
        b'{"filterServerList":{}}',
    ],
)
def test_another_shape_is_refused(body: bytes) -> None:
    with pytest.raises(RemoteError):
        RegisterBrokerBody.decode(body, 479)


def compressed(*lines: bytes, count: int | None = None) -> bytes:
    texts = [b'{"counter":1}', *lines, b"[]"]
    parts = [len(text).to_bytes(4, "big") + text for text in texts]
    parts.insert(1, (len(lines) if count is None else count).to_bytes(4, "big"))
    return zlib.compress(b"".join(parts))


def json_of(*names: str) -> bytes:
    table = {f"key{at}": {"topicName": name} for at, name in enumerate(names)}
    return json.dumps({"topicConfigSerializeWrapper": {"topicConfigTable": table}}).encode()


def test_inflation_is_bounded_by_what_was_sent() -> None:
    body = zlib.compress(bytes(2_000_000))
    with pytest.raises(RemoteError, match=f"to more than {registration.INFLATION_MAX * len(body)}"):
        RegisterBrokerBody.decode(body, 479)


def test_honest_topics_compress_less_than_the_bound_of_inflation() -> None:
    attributes = {"message.type": "FIFO", "queue.type": "BatchCQ", "cleanup.policy": "COMPACTION"}
    names = [f"company.department.system.environment.region.subject.{i:05d}" for i in range(9999)]
    topics = {name: TopicConfig(name, attributes=attributes) for name in names}
    body = RegisterBrokerBody(topics=topics, filter_servers=())
    stream = body.encode_compressed()
    assert len(zlib.decompress(stream)) * 2 < len(stream) * registration.INFLATION_MAX
    assert RegisterBrokerBody.decode(stream, 479) == body


@pytest.mark.parametrize("body", [json_of("T", "U"), compressed(b"T 1 1 6 SINGLE_TAG", b"U")])
def test_more_topics_than_the_caller_allows_are_refused_before_the_first_is_read(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(topic: object, known: object = None) -> TopicConfig:
        raise AssertionError("read")

    monkeypatch.setattr(TopicConfig, "from_json", read)
    monkeypatch.setattr(registration, "_from_line", read)
    with pytest.raises(RemoteError, match="2 topics; at most 1 are accepted"):
        RegisterBrokerBody.decode(body, 479, topics_max=1)


@pytest.mark.parametrize(
    ("count", "cause"), [(500_001, "at most 500000"), (4, "4 topics in 52 bytes")]
)
def test_impossible_count_is_refused(count: int, cause: str) -> None:
    lines = [b"T%d 1 1 6 SINGLE_TAG" % i for i in range(2)]
    assert len(RegisterBrokerBody.decode(compressed(*lines), 479).topics) == 2
    with pytest.raises(RemoteError, match=cause):
        RegisterBrokerBody.decode(compressed(*lines, count=count), 479)


@pytest.mark.parametrize("names", [("T", "T"), ("T", "U", "T"), ("",), ("T", "")])
def test_topics_without_a_name_of_their_own_are_refused(names: tuple[str, ...]) -> None:
    lines = [f"{name} 1 1 6 SINGLE_TAG".ljust(30).encode() for name in names]
    for body in (json_of(*names), compressed(*lines)):
        with pytest.raises(RemoteError, match=r"two topics of the name 'T'|a topic without a name"):
            RegisterBrokerBody.decode(body, 479)


def test_a_topic_repeated_is_refused_at_its_second_line(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    from_line = registration._from_line

    def counting(line: bytes, known: dict[str, Mapping[str, str]]) -> TopicConfig:
        read.append(line)
        return from_line(line, known)

    monkeypatch.setattr(registration, "_from_line", counting)
    with pytest.raises(RemoteError, match="two topics"):
        RegisterBrokerBody.decode(compressed(*[b"T 1 1 6 SINGLE_TAG"] * 1000), 479)
    assert len(read) == 2


@pytest.mark.parametrize("rest", [b"", b"NO_TAG", b"SINGLE_TAG {a:1}", b'SINGLE_TAG {"a":[]}'])
def test_a_line_java_would_not_read_or_write_is_refused(rest: bytes) -> None:
    with pytest.raises(RemoteError):
        RegisterBrokerBody.decode(compressed(b"Topic 1 1 6 " + rest.ljust(20)), 479)


def test_mistyped_numbers_do_not_refuse_the_registration() -> None:
    body = RegisterBrokerBody(topics={"T": TopicConfig("T", -1, 0, 66)}, filter_servers=())
    assert RegisterBrokerBody.decode(body.encode(), 479) == body
    assert RegisterBrokerBody.decode(body.encode_compressed(), 479) == body


def test_static_topics_do_not_make_a_large_registration_slow() -> None:
    """5.x brokers write the ids of their queues as bare keys."""
    names = [f"T{i}" for i in range(30_000)]
    text = RegisterBrokerBody(topics={n: TopicConfig(n) for n in names}).encode()
    assert text.endswith(b"}}}")
    odd = text[:-2] + b',"topicQueueMappingInfoMap":{"T":{"currIdMap":{0:0}}}}}'
    assert set(RegisterBrokerBody.decode(odd, 479).topics) == set(names)
