"""RegisterBrokerBody: the topics and filter servers a broker registers with its name servers.

As JSON, which is what brokers send unless told otherwise:

    {"filterServerList":[...],"topicConfigSerializeWrapper":
        {"dataVersion":DataVersion,"topicConfigTable":{"T":TopicConfig}}}

Senders older than 3.0.11 send the inner object alone. Compressed, one zlib stream of big-endian
words and texts:

    int32 length | DataVersion as JSON
    int32 number of topics, for each: int32 length | `name read write perm filterType [attributes]`
    int32 length | filter servers as a JSON array
    int32 number of static topics, ...                        (5.x senders; not read, not written)

Invariant: a small body cannot become a large one. What inflates beyond INFLATED_BYTES_MAX is
refused while inflating. The first byte of a zlib stream is 0x78, of JSON never: 5.3 brokers send
compressed bodies under a header that denies it, so that byte decides.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import texts_from_json
from gantrymq.wire.bodies.shared import DataVersion, TopicConfig, TopicFilterType
from gantrymq.wire.jsonvalue import INT32_MAX, INT32_MIN, JsonObject, object_of
from gantrymq.wire.version import V3_0_11

# As much as a frame may bring uncompressed, twice: compressed topics take half the room of JSON's,
# and a broker of 100 000 topics with attributes stays below it.
INFLATED_BYTES_MAX: Final = 32 * 1024 * 1024

_ZLIB_FIRST_BYTE: Final = b"\x78"
# 5.x brokers stamp this anew in every registration, although nothing about topics changed.
_RESTLESS: Final = re.compile(rb'"mappingDataVersion":\{[^{}]*\}')
_LENGTH: Final = Struct(">i")


@dataclass(frozen=True, slots=True)
class RegisterBrokerBody:
    """What a broker has. `filter_servers` None leaves those known alone, empty removes them."""

    data_version: DataVersion = field(default_factory=DataVersion)
    topics: Mapping[str, TopicConfig] = field(default_factory=dict)
    filter_servers: tuple[str, ...] | None = None

    @classmethod
    def decode(cls, body: bytes, version: int, *, compressed: bool = False) -> RegisterBrokerBody:
        """`version` is the sender's; an empty body is a broker with nothing, at version zero."""
        if not body:
            return cls()
        if compressed or body.startswith(_ZLIB_FIRST_BYTE):
            return _from_lines(inflate(body))
        bean = object_of(javajson.loads(body), "RegisterBrokerBody")
        if version < V3_0_11:
            return _from_wrapper(bean, None)
        wrapper = object_of(bean.get("topicConfigSerializeWrapper") or {}, "topic configuration")
        servers = bean.get("filterServerList")
        filters = None if servers is None else texts_from_json(servers, "filterServerList")
        return _from_wrapper(wrapper, filters)

    def encode(self) -> bytes:
        """The JSON form."""
        bean: JsonObject = {}
        if self.filter_servers is not None:
            bean["filterServerList"] = list(self.filter_servers)
        bean["topicConfigSerializeWrapper"] = {
            "dataVersion": self.data_version.to_json(),
            "topicConfigTable": {name: topic.to_json() for name, topic in self.topics.items()},
        }
        return javajson.dumps_fastjson(bean)

    def encode_compressed(self) -> bytes:
        texts = [javajson.dumps_fastjson(self.data_version.to_json())]
        parts = [_text(texts[0]), _LENGTH.pack(len(self.topics))]
        parts += [_text(_to_line(topic)) for topic in self.topics.values()]
        parts.append(_text(javajson.dumps_fastjson(list(self.filter_servers or ()))))
        parts.append(_LENGTH.pack(0))
        return zlib.compress(b"".join(parts), 9)


def fingerprint(body: bytes) -> bytes:
    """The same for two bodies that say the same of topics and filter servers."""
    digest = hashlib.blake2b(digest_size=16)
    restless = None if body.startswith(_ZLIB_FIRST_BYTE) else _RESTLESS.search(body)
    if restless is None:
        digest.update(body)
    else:
        with memoryview(body) as view:
            digest.update(view[: restless.start()])
            digest.update(view[restless.end() :])
    return digest.digest()


def inflate(body: bytes) -> bytes:
    """The content of a zlib stream, of bounded size."""
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(body, INFLATED_BYTES_MAX)
    except zlib.error as error:
        raise RemoteError(f"the compressed body is damaged: {error}") from error
    if stream.eof:
        return data
    if len(data) >= INFLATED_BYTES_MAX:
        raise RemoteError(f"the body inflates to more than {INFLATED_BYTES_MAX} bytes")
    raise RemoteError("the compressed body ends early")


def _from_wrapper(wrapper: JsonObject, filters: tuple[str, ...] | None) -> RegisterBrokerBody:
    version = wrapper.get("dataVersion")
    table = object_of(wrapper.get("topicConfigTable") or {}, "topicConfigTable")
    topics = [TopicConfig.from_json(topic) for topic in table.values()]
    return RegisterBrokerBody(
        DataVersion() if version is None else DataVersion.from_json(version),
        {topic.topic_name: topic for topic in topics},
        filters,
    )


def _from_lines(data: bytes) -> RegisterBrokerBody:
    reader = _Reader(data)
    version = DataVersion.from_json(javajson.loads(reader.text()))
    # Nothing is reserved by the count: a lie ends where the data end.
    topics = [_from_line(reader.text()) for _ in range(reader.number())]
    filters = texts_from_json(javajson.loads(reader.text()), "filterServerList")
    return RegisterBrokerBody(version, {topic.topic_name: topic for topic in topics}, filters)


def _from_line(line: bytes) -> TopicConfig:
    fields = line.decode("utf-8", "replace").split(" ", 5)
    if len(fields) < 5:
        raise RemoteError(f"a topic's line has {len(fields)} fields, at least 5 belong there")
    name, read, write, perm, filter_type = fields[:5]
    attributes = fields[5].strip() if len(fields) > 5 else ""
    return TopicConfig(
        topic_name=name,
        read_queue_nums=_number(read),
        write_queue_nums=_number(write),
        perm=_number(perm),
        topic_filter_type=TopicFilterType.MULTI_TAG
        if filter_type == TopicFilterType.MULTI_TAG.value
        else TopicFilterType.SINGLE_TAG,
        attributes=_attributes(attributes) if attributes not in ("", "{}") else {},
    )


def _attributes(text: str) -> dict[str, str]:
    bean = object_of(javajson.loads(text), "attributes")
    return {str(key): str(value) for key, value in bean.items() if value is not None}


def _number(text: str) -> int:
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 10:
        number = int(text)
        if INT32_MIN <= number <= INT32_MAX:
            return number
    raise RemoteError(f"a topic's line has {text[:40]!r} where a number belongs")


def _to_line(topic: TopicConfig) -> bytes:
    attributes: JsonObject = {}
    attributes.update(topic.attributes)
    return (
        f"{topic.topic_name} {topic.read_queue_nums} {topic.write_queue_nums} {int(topic.perm)}"
        f" {topic.topic_filter_type.value} "
    ).encode() + javajson.dumps_fastjson(attributes)


def _text(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


class _Reader:
    """Lengths and texts, one after the other; what is not there is the sender's fault."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        end = self._at + 4
        if end > len(self._data):
            raise RemoteError("the registration ends in the middle of a number")
        number: int = _LENGTH.unpack_from(self._data, self._at)[0]
        if number < 0:
            raise RemoteError(f"the registration counts {number} of something")
        self._at = end
        return number

    def text(self) -> bytes:
        end = self.number() + self._at
        if end > len(self._data):
            raise RemoteError("the registration ends in the middle of a text")
        data = self._data[self._at : end]
        self._at = end
        return data
