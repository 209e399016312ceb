"""Defines the settings of a producer, with Java's defaults; times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gantrymq.client.core.bounds import ABOVE_0, FROM_0, must_fit, refused
from gantrymq.client.core.message.namespace import DEFAULT_TOPIC, TRACE_TOPIC
from gantrymq.wire.message.compression import LEVEL_DEFAULT, CompressionType


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """The settings of one producer."""

    send_timeout_s: float = 3.0
    """Timeout of a whole send with all its attempts."""
    try_timeout_s: float = 0.0
    """Timeout of each attempt except the last one; 0: all the remaining time."""
    retries: int = 2
    async_retries: int = 2
    """Retries of sends with SendMode.ASYNC."""
    retry_when_not_stored: bool = False
    """Whether FLUSH_DISK_TIMEOUT and similar results are retried at another broker, which may store
    the message twice."""
    compress_over_bytes: int = 4096
    compression: CompressionType = CompressionType.ZLIB
    compression_level: int = LEVEL_DEFAULT
    message_bytes_max: int = 4 << 20
    default_topic: str = DEFAULT_TOPIC
    """The topic whose settings a new topic inherits when the first message creates it."""
    default_topic_queues: int = 4
    latency_faults: bool = False
    """Whether slow brokers are avoided for a while."""

    linger_s: float = 0.005
    """How long `send_async` waits for more messages of a batch."""
    batch_bytes_max: int = 256 << 10
    batch_messages_max: int = 1_000
    close_timeout_s: float = 10.0
    """How long closing waits for messages of `send_async` to be acknowledged."""
    waiting_bytes_max: int = 32 << 20
    """Maximum bytes of messages that `send_async` accepted and no broker has acknowledged yet; they
    are in memory."""

    trace: bool = False
    trace_topic: str = TRACE_TOPIC

    def __post_init__(self) -> None:
        must_fit(self, _BOUNDS)
        if not isinstance(self.compression, CompressionType):
            raise refused(self, "compression", "a CompressionType")


_BOUNDS: Final = {
    "send_timeout_s": ABOVE_0,
    "try_timeout_s": FROM_0,
    "retries": FROM_0,
    "async_retries": FROM_0,
    "compress_over_bytes": FROM_0,
    "message_bytes_max": ABOVE_0,
    "default_topic_queues": ABOVE_0,
    "linger_s": FROM_0,
    "close_timeout_s": FROM_0,
    "batch_bytes_max": ABOVE_0,
    "batch_messages_max": ABOVE_0,
    "waiting_bytes_max": ABOVE_0,
}
