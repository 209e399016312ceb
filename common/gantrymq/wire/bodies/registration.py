"""Encodes and decodes RegisterBrokerBody: the topics and filter servers that a broker registers.

As JSON, which is what brokers send by default:

    {"filterServerList":[...],"topicConfigSerializeWrapper":
        {"dataVersion":DataVersion,"topicConfigTable":{"T":TopicConfig}}}

Senders older than 3.0.11 send the inner object alone. Compressed, one zlib stream of big-endian
words and texts:

    int32 length | DataVersion as JSON
    int32 number of topics, for each: int32 length | `name read write perm filterType [attributes]`
    int32 length | filter servers as a JSON array
    int32 number of static topics, ...                        (5.x senders; not read, not written)

Invariant: a small body cannot become a large one. Content that inflates beyond INFLATED_BYTES_MAX,
or to more than INFLATION_MAX times its size, is refused while inflating. More topics than the
caller allows, or than there are bytes for, are refused before the first is read; a duplicate topic
at its second occurrence, so each topic read costs its sender a few bytes. The first byte of a zlib
stream is 0x78, which JSON never begins with: 5.3 brokers send compressed bodies under a header that
denies it, so that byte decides.

A topic's numbers may have any value of Java's int: Java brokers store what an administrator typed,
unchecked, and refusing it here would take the broker's other topics from its clients too.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import field
from struct import Struct
from typing import Final

from gantrymq.base.bounds import INT_MAX, INT_MIN
from gantrymq.base.errors import RemoteError
from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.base.tasks import SlicedTask, run_to_end
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import texts_from_json
from gantrymq.wire.bodies.shared import DataVersion, TopicConfig, TopicFilterType
from gantrymq.wire.javajson_members import cut_members
from gantrymq.wire.jsonvalue import JsonObject, object_of, text_map_field
from gantrymq.wire.version import V3_0_11

# Twice the size of a frame: compressed topics take half the space of JSON, and a broker of 100 000
# topics with attributes stays below it.
INFLATED_BYTES_MAX: Final = 32 * 1024 * 1024

# Topics deflate to a tenth of their size, those with long common names and attributes to a 60th,
# and never to a 200th: the longest line has 500 bytes, and a distinct name takes three. zlib can
# reach a thousandth. Bodies that are too small to matter are exempt.
INFLATION_MAX: Final = 256
_INFLATED_ALWAYS: Final = 64 * 1024

# The most topics that a name server holds by default.
TOPICS_MAX: Final = 500_000

# Topics that are read between two pauses, about 5 us each.
TOPICS_A_SLICE: Final = 1_024

# The shortest line, `T 1 1 6 SINGLE_TAG`, and its length.
_LINE_BYTES_MIN: Final = 4 + 18

# A DataVersion with a state version and all numbers at their longest has 120 bytes.
_VERSION_BYTES_MAX: Final = 4096

_FILTER_TYPES: Final = {each.value: each for each in TopicFilterType}
_ZLIB_FIRST_BYTE: Final = b"\x78"
# 5.x brokers change this in every registration, although no topic changed.
_RESTLESS: Final = re.compile(rb'"mappingDataVersion":\{[^{}]*\}')
_LENGTH: Final = Struct(">i")


@dataclass(frozen=True, slots=True)
class RegisterBrokerBody:
    """What a broker registers. `filter_servers` None keeps the known ones, empty removes them."""

    data_version: DataVersion = field(default_factory=DataVersion)
    topics: Mapping[str, TopicConfig] = field(default_factory=dict)
    filter_servers: tuple[str, ...] | None = None

    @classmethod
    def decode(
        cls, body: bytes, version: int, *, compressed: bool = False, topics_max: int = TOPICS_MAX
    ) -> RegisterBrokerBody:
        """`version` is the sender's; an empty body means a broker without topics, at version
        zero."""
        return run_to_end(
            cls.decode_in_slices(body, version, compressed=compressed, topics_max=topics_max)
        )

    @classmethod
    def decode_in_slices(
        cls, body: bytes, version: int, *, compressed: bool = False, topics_max: int = TOPICS_MAX
    ) -> SlicedTask[RegisterBrokerBody]:
        """Decode with a pause after every few milliseconds of work."""
        if not body:
            return cls()
        if compressed or body.startswith(_ZLIB_FIRST_BYTE):
            data = inflate(body)
            yield
            return (yield from _from_lines(data, topics_max))
        cut = yield from cut_members(body.decode("utf-8", "replace"), "topicConfigTable")
        bean = object_of(javajson.loads(body if cut is None else cut[0]), "RegisterBrokerBody")
        wrapper = _wrapper_of(bean, version)
        if cut is not None and wrapper.get("topicConfigTable") == {}:
            wrapper["topicConfigTable"] = cut[1]
        elif cut is not None:  # the table of this name is at another place
            bean = object_of(javajson.loads(body), "RegisterBrokerBody")
            wrapper = _wrapper_of(bean, version)
        yield
        servers = None if version < V3_0_11 else bean.get("filterServerList")
        filters = None if servers is None else texts_from_json(servers, "filterServerList")
        return (yield from _from_wrapper(wrapper, filters, topics_max))

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
    """A digest that is equal for bodies with the same topics and filter servers."""
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
    """Inflate a zlib stream, with a bound on its content."""
    bytes_max = min(INFLATED_BYTES_MAX, max(_INFLATED_ALWAYS, INFLATION_MAX * len(body)))
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(body, bytes_max)
    except zlib.error as error:
        raise RemoteError(f"the compressed body is damaged: {error}") from error
    if stream.eof:
        return data
    if len(data) >= bytes_max:
        raise RemoteError(f"the body of {len(body)} bytes inflates to more than {bytes_max}")
    raise RemoteError("the compressed body ends early")


def _wrapper_of(bean: JsonObject, version: int) -> JsonObject:
    if version < V3_0_11:
        return bean
    return object_of(bean.get("topicConfigSerializeWrapper") or {}, "topic configuration")


def _from_wrapper(
    wrapper: JsonObject, filters: tuple[str, ...] | None, topics_max: int
) -> SlicedTask[RegisterBrokerBody]:
    version = wrapper.get("dataVersion")
    table = object_of(wrapper.get("topicConfigTable") or {}, "topicConfigTable")
    if len(table) > topics_max:
        raise _too_many(len(table), topics_max)
    return RegisterBrokerBody(
        DataVersion() if version is None else DataVersion.from_json(version),
        (yield from _by_name(map(TopicConfig.from_json, table.values()))),
        filters,
    )


def _from_lines(data: bytes, topics_max: int) -> SlicedTask[RegisterBrokerBody]:
    reader = _Reader(data)
    version = DataVersion.from_json(javajson.loads(reader.text(), _VERSION_BYTES_MAX))
    count = reader.number()
    if count > topics_max:
        raise _too_many(count, topics_max)
    if count * _LINE_BYTES_MIN > reader.bytes_left:
        raise RemoteError(f"{count} topics in {reader.bytes_left} bytes")
    known: dict[str, Mapping[str, str]] = {"": {}, "{}": {}}
    topics = yield from _by_name(_from_line(reader.text(), known) for _ in range(count))
    filters = texts_from_json(javajson.loads(reader.text()), "filterServerList")
    return RegisterBrokerBody(version, topics, filters)


def _too_many(count: int, topics_max: int) -> RemoteError:
    return RemoteError(f"{count} topics; at most {topics_max} are accepted")


def _by_name(topics: Iterable[TopicConfig]) -> SlicedTask[dict[str, TopicConfig]]:
    table: dict[str, TopicConfig] = {}
    for number, topic in enumerate(topics, 1):
        if number % TOPICS_A_SLICE == 0:
            yield
        name = topic.topic_name
        if not name:
            raise RemoteError("a topic without a name")
        if table.setdefault(name, topic) is not topic:
            raise RemoteError(f"two topics of the name {name[:100]!r}")
    return table


def _from_line(line: bytes, known: dict[str, Mapping[str, str]]) -> TopicConfig:
    """Parse a topic. `known` caches attributes by their text: most topics have the same few."""
    fields = line.decode("utf-8", "replace").split(" ", 5)
    if len(fields) < 5:
        raise RemoteError(f"a topic's line has {len(fields)} fields, at least 5 belong there")
    name, read, write, perm, filter_type = fields[:5]
    text = fields[5].strip() if len(fields) > 5 else ""
    attributes = known.get(text)
    if attributes is None:
        attributes = known[text] = _attributes(text)
    return TopicConfig(
        topic_name=name,
        read_queue_nums=_number(read),
        write_queue_nums=_number(write),
        perm=_number(perm),
        topic_filter_type=_filter_type(filter_type),
        attributes=attributes,
    )


def _filter_type(text: str) -> TopicFilterType:
    filter_type = _FILTER_TYPES.get(text)
    if filter_type is None:
        raise RemoteError(f"a topic's line has {text[:40]!r} where its filter type belongs")
    return filter_type


def _attributes(text: str) -> dict[str, str]:
    # A map of texts is always standard JSON, so the slow reader is not needed.
    return text_map_field({"attributes": javajson.loads(text, dialect_values_max=0)}, "attributes")


def _number(text: str) -> int:
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 10:
        number = int(text)
        if INT_MIN <= number <= INT_MAX:
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
    """Reads lengths and texts one after the other; missing bytes are an error of the sender."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def bytes_left(self) -> int:
        return len(self._data) - self._at

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
