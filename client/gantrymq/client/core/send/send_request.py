r"""Encodes a message or batch as a send request, once for all attempts.

    SEND_MESSAGE_V2 (310)         one message
    SEND_REPLY_MESSAGE_V2 (325)   one reply
    SEND_BATCH_MESSAGE (320)      a batch

    properties    name \x01 value \x02 ..., including UNIQ_KEY
    body          compressed from a minimum size on, unless that makes it longer; see sysFlag

Invariant: every attempt has the same UNIQ_KEY, so that a duplicate can be recognized.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.instance.hooks import MessageKind
from gantrymq.client.core.message import namespace
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.message import compression, property_names
from gantrymq.wire.message.compression import CompressionType
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX

DELAYS: Final = frozenset(
    {
        property_names.DELAY,
        property_names.TIMER_DELAY_MS,
        property_names.TIMER_DELAY_SEC,
        property_names.TIMER_DELIVER_MS,
    }
)

# Brokers add the names of their region and cluster, and the trace flag: 36 bytes and two names.
_BROKERS_BYTES: Final = 256

# Limit of a message's own properties: brokers refuse more, and the whole batch with it.
_OWN_BYTES_MAX: Final = PROPERTIES_BYTES_MAX - _BROKERS_BYTES

# Maximum bytes of a character in UTF-8.
_CHARACTER_BYTES_MAX: Final = 4


@final
class SendRequest:
    """The request of one message or batch. Hot path, hence slotted."""

    __slots__ = (
        "_ext",
        "_group",
        "body",
        "code",
        "kind",
        "message_ids",
        "messages",
        "topic",
    )

    def __init__(
        self,
        code: int,
        group: str,
        topic: str,
        body: bytes,
        messages: list[Message],
        message_ids: list[str],
        kind: MessageKind = MessageKind.NORMAL,
    ) -> None:
        """`group` and `topic` are the names that servers know."""
        self.code = code
        self.topic = topic
        self.body = body
        self.messages = messages
        self.message_ids = message_ids
        self.kind = kind
        self._group = group
        self._ext: dict[str, str] = {}

    def describe(
        self,
        settings: ProducerSettings,
        properties: str,
        sys_flag: int = 0,
        flag: int = 0,
        reconsumed: tuple[str | None, str | None] = (None, None),
    ) -> None:
        """Set the header fields that are the same for all attempts."""
        self._ext = {
            "a": self._group,
            "b": self.topic,
            "c": settings.default_topic,
            "d": str(settings.default_topic_queues),
            "f": str(sys_flag),
            "h": str(flag),
            "i": properties,
            "j": reconsumed[0] or "0",
            "k": "false",
            "m": "true" if self.code == RequestCode.SEND_BATCH_MESSAGE else "false",
        }
        if reconsumed[1] is not None:
            self._ext["l"] = reconsumed[1]

    def command(self, queue: MessageQueue, born_ms: int, *, is_oneway: bool = False) -> Command:
        """Return the command of one attempt."""
        ext = self._ext.copy()
        ext["e"] = str(queue.queue_id)
        ext["g"] = str(born_ms)
        ext["n"] = queue.broker_name
        flag = FLAG_ONEWAY if is_oneway else 0
        return Command(self.code, flag=flag, ext=ext, body=self.body)

    @property
    def message_id(self) -> str:
        """The unique id; for a batch, the ids joined by commas."""
        return ",".join(self.message_ids)


def of_message(
    message: Message,
    *,
    settings: ProducerSettings,
    group: str,
    wrapped_in: str,
    new_id: str,
    extra: dict[str, str] | None = None,
    flags: int = 0,
    kind: MessageKind = MessageKind.NORMAL,
) -> SendRequest:
    """Return the request of one message; raises MessageError. `extra` properties are added, `flags`
    are set in sysFlag; `new_id` is used if the message has no id."""
    must_be_sendable(message, settings)
    properties = message.properties
    if extra or wrapped_in:
        properties = {**properties, **(extra or {})}
        if wrapped_in:
            properties[property_names.INSTANCE_ID] = wrapped_in
    message_id = properties.get(property_names.UNIQ_KEY) or new_id
    body = message.body
    if len(body) >= settings.compress_over_bytes:
        body, flags = compressed(body, flags, settings)
    if kind is MessageKind.NORMAL and is_delayed(message):
        kind = MessageKind.DELAYED
    is_reply = properties.get(property_names.MSG_TYPE) == "reply"
    code = RequestCode.SEND_REPLY_MESSAGE_V2 if is_reply else RequestCode.SEND_MESSAGE_V2
    # The topic of replies belongs to the cluster, not to the namespace.
    topic = message.topic if is_reply else namespace.wrap(wrapped_in, message.topic)
    request = SendRequest(code, group, topic, body, [message], [message_id], kind)
    reconsumed: tuple[str | None, str | None] = (None, None)
    if topic.startswith(namespace.RETRY_PREFIX):
        reconsumed = (
            properties.get(property_names.RECONSUME_TIME),
            properties.get(property_names.MAX_RECONSUME_TIMES),
        )
    text = property_text(properties, message_id)
    request.describe(settings, text, flags, message.flag, reconsumed)
    return request


def compressed(body: bytes, flags: int, settings: ProducerSettings) -> tuple[bytes, int]:
    """Return the body, compressed if that is shorter, and the matching sysFlag."""
    kind: CompressionType = settings.compression
    shorter = compression.compress(kind, body, settings.compression_level)
    if len(shorter) >= len(body):
        return body, flags
    return shorter, compression.mark(flags, kind)


def property_text(properties: dict[str, str], message_id: str) -> str:
    """Encode the properties and the id; raises MessageError if they are too long. Hot path."""
    text = ""
    for name, value in properties.items():
        if name != property_names.UNIQ_KEY:
            text += f"{name}\x01{value}\x02"
    text += f"UNIQ_KEY\x01{message_id}\x02"
    if len(text) * _CHARACTER_BYTES_MAX > _OWN_BYTES_MAX:
        size = len(text.encode("utf-8", "replace"))
        if size > _OWN_BYTES_MAX:
            raise MessageError(
                f"the properties of the message have {size} bytes, more than the"
                f" {_OWN_BYTES_MAX} that brokers leave room for in a message; put less into them"
            )
    return text


def property_bytes(properties: dict[str, str]) -> int:
    """Return an upper bound of the encoded size, exact if all is ASCII. Hot path."""
    size = 0
    for name, value in properties.items():
        length = len(name) + len(value)
        if not (name.isascii() and value.isascii()):
            length *= _CHARACTER_BYTES_MAX
        size += length + 2
    return size


def must_be_sendable(message: Message, settings: ProducerSettings) -> None:
    """Check the size and the topic; raises MessageError."""
    must_fit(message.topic, len(message.body), settings)


def must_fit(topic: str, size: int, settings: ProducerSettings) -> None:
    """Check that a body of this size can be sent to the topic; raises MessageError."""
    if size == 0:
        raise MessageError("the message body length is zero: brokers take none without a body")
    if size > settings.message_bytes_max:
        raise MessageError(
            f"the message body size over max value, MAX: {settings.message_bytes_max}: it has"
            f" {size} bytes; raise message_bytes_max, and maxMessageSize of the brokers"
        )
    if topic in namespace.NOT_FOR_CLIENTS:
        raise MessageError(f"Sending message to topic[{topic}] is forbidden.")


def is_delayed(message: Message) -> bool:
    return not DELAYS.isdisjoint(message.properties)


def prepared(message: Message, new_id: str) -> Message:
    """Return a copy with an id and without a delay, which transactions do not support."""
    copy = Message(message.topic, message.body, flag=message.flag)
    copy.properties = {
        name: value for name, value in message.properties.items() if name not in DELAYS
    }
    copy.properties.setdefault(property_names.UNIQ_KEY, new_id)
    return copy
