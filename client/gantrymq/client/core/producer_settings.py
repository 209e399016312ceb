"""Settings of a producer: Java's defaults, in seconds where Java has milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gantrymq.client.core.bounds import ABOVE_0, FROM_0, must_fit, refused
from gantrymq.client.core.namespace import DEFAULT_TOPIC, TRACE_TOPIC
from gantrymq.wire.message.compression import LEVEL_DEFAULT, CompressionType


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """How one producer sends."""

    send_timeout_s: float = 3.0
    """For a whole send, all of its tries."""
    try_timeout_s: float = 0.0
    """For each try, where there is another one after it; 0: what is left of the whole."""
    retries: int = 2
    async_retries: int = 2
    """The same for sends with SendMode.ASYNC."""
    retry_when_not_stored: bool = False
    """Whether FLUSH_DISK_TIMEOUT and the like are tried again at another broker: then the message
    may be there twice."""
    compress_over_bytes: int = 4096
    compression: CompressionType = CompressionType.ZLIB
    compression_level: int = LEVEL_DEFAULT
    message_bytes_max: int = 4 << 20
    default_topic: str = DEFAULT_TOPIC
    """What topics that nobody created inherit from."""
    default_topic_queues: int = 4
    latency_faults: bool = False
    """Whether brokers that were slow are left alone for a while."""

    linger_s: float = 0.005
    """How long `send_soon` waits for more messages of a batch."""
    batch_bytes_max: int = 256 << 10
    batch_messages_max: int = 1_000
    close_timeout_s: float = 10.0
    """How long closing waits for what `send_soon` took."""
    waiting_bytes_max: int = 32 << 20
    """Of messages that `send_soon` took and no broker has acknowledged: they live in memory."""

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
