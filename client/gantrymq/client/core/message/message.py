"""Defines the message that an application sends; its properties are RocketMQ's.

    Message("orders", b"...", tag="paid", keys=["4711"], properties={"region": "eu"})
    Message("orders", b"...", delay_level=3)          one of the broker's 18 levels
    Message("orders", b"...", delay_s=90.0)           any delay, in milliseconds' resolution
    Message("orders", b"...", deliver_at_ms=...)      a wall clock time

Invariant: an existing message violates no rule that can be checked without its broker, except for
sizes, which depend on settings. Sending never changes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, final

from gantrymq.client.core.errors import MessageError
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message import property_names

TOPIC_CHARACTERS_MAX: Final = 127
GROUP_CHARACTERS_MAX: Final = 255

_NAME: Final = re.compile(r"[%|a-zA-Z0-9_-]+")


@final
class Message:
    """A message to send. Hot path, hence slotted; treat it as immutable."""

    __slots__ = ("body", "flag", "properties", "topic")

    def __init__(
        self,
        topic: str,
        body: bytes | str,
        *,
        tag: str = "",
        keys: str | Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        flag: int = 0,
        sharding_key: str = "",
        delay_level: int = 0,
        delay_s: float = 0.0,
        deliver_at_ms: int = 0,
        wait_until_stored: bool = True,
    ) -> None:
        """Raises MessageError. With `wait_until_stored=False` the broker acknowledges the message
        before it is flushed or replicated."""
        fault = _topic_fault(topic)
        if fault is not None:
            raise MessageError(fault)
        if flag and not -(1 << 31) <= flag < 1 << 31:
            raise MessageError(f"the flag {flag} does not fit into the 32 bits that it has")
        self.topic = topic
        self.body: bytes = as_bytes(body)
        self.flag = flag
        self.properties: dict[str, str] = {}
        if properties:
            self._add_users(properties)
        if tag:
            self._add(property_names.TAGS, tag)
        if keys:
            joined = keys if isinstance(keys, str) else " ".join(keys)
            self._add(property_names.KEYS, joined)
        if sharding_key:
            self._add(property_names.SHARDING_KEY, sharding_key)
        if delay_level or delay_s or deliver_at_ms:
            self._delay(delay_level, delay_s, deliver_at_ms)
        if not wait_until_stored:
            self.properties[property_names.WAIT] = "false"

    def _add_users(self, properties: Mapping[str, str]) -> None:
        for name, value in properties.items():
            fault = codec.fault(name, value)
            if fault is not None:
                raise MessageError(fault)
            self.properties[name] = value

    def _add(self, name: str, value: str) -> None:
        if codec.VALUE_END in value:
            raise MessageError(f"{name} {value!r} holds \\x02, which ends properties; remove it")
        self.properties[name] = value

    def _delay(self, level: int, seconds: float, deliver_at_ms: int) -> None:
        if sum(map(bool, (level, seconds, deliver_at_ms))) > 1:
            raise MessageError("a message is delayed by delay_level, delay_s or deliver_at_ms: one")
        if not 0 <= seconds < math.inf or min(level, deliver_at_ms) < 0:
            raise MessageError(
                f"a delay is a number from 0 on, not {level or seconds or deliver_at_ms}"
            )
        if level:
            self.properties[property_names.DELAY] = str(level)
        elif seconds:
            self.properties[property_names.TIMER_DELAY_MS] = str(round(seconds * 1000))
        else:
            self.properties[property_names.TIMER_DELIVER_MS] = str(deliver_at_ms)

    @property
    def id(self) -> str:
        """Its unique id, or "" if each send assigns one."""
        return self.properties.get(property_names.UNIQ_KEY, "")

    @property
    def tag(self) -> str:
        return self.properties.get(property_names.TAGS, "")

    @property
    def keys(self) -> list[str]:
        return self.properties.get(property_names.KEYS, "").split()

    def __reduce__(self) -> tuple[object, ...]:
        """Support copy and pickle, which cannot handle compiled classes by themselves."""
        return _remade, (self.topic, self.body, self.flag, self.properties)

    def with_body(self, body: bytes) -> Message:
        """Return a copy with another body; both share the properties."""
        other = Message(self.topic, body, flag=self.flag)
        other.properties = self.properties
        return other

    def __repr__(self) -> str:
        return f"Message({self.topic!r}, <{len(self.body)} bytes>, properties={self.properties})"


def as_bytes(body: bytes | str) -> bytes:
    """Return a body as bytes; str is encoded as UTF-8."""
    if type(body) is bytes:
        return body
    if isinstance(body, str):
        return body.encode()
    raise TypeError(f"a body is bytes or str, not {type(body).__name__}: give bytes(body)")


def as_bodies(bodies: Iterable[bytes | str] | bytes) -> list[bytes]:
    """Return several bodies as bytes. A single str is refused: Python would iterate over its
    characters."""
    if isinstance(bodies, (str, bytes)):
        raise TypeError(
            f"bodies are a list of bytes or str, not {type(bodies).__name__}: send_async takes one"
            " message"
        )
    return [as_bytes(body) for body in bodies]


def _remade(topic: str, body: bytes, flag: int, properties: dict[str, str]) -> Message:
    message = Message(topic, body, flag=flag)
    message.properties = dict(properties)
    return message


@lru_cache(maxsize=1024)
def _topic_fault(topic: str) -> str | None:
    """Cached, because every message of a few topics asks."""
    return name_fault("topic", topic, TOPIC_CHARACTERS_MAX)


def name_fault(kind: str, name: str, characters_max: int) -> str | None:
    """Return why a topic or group name is invalid; None if it is valid."""
    if not name.strip():
        return f"The specified {kind} is blank"
    if not _NAME.fullmatch(name):
        return (
            f"The specified {kind}[{name}] contains illegal characters, allowing only"
            " ^[%|a-zA-Z0-9_-]+$"
        )
    if len(name) > characters_max:
        return (
            f"The specified {kind} is longer than {kind} max length {characters_max}: {name} has"
            f" {len(name)} characters"
        )
    return None
