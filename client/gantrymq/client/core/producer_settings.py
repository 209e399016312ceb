"""Settings of a producer: Java's defaults, in seconds where Java has milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

from gantrymq.base.errors import ConfigurationError
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
        for name in ("send_timeout_s", "message_bytes_max", "default_topic_queues"):
            self._must_be(name, getattr(self, name) > 0, "more than 0")
        for name in ("retries", "async_retries", "linger_s", "try_timeout_s", "close_timeout_s"):
            self._must_be(name, getattr(self, name) >= 0, "0 or more")
        for name in ("batch_bytes_max", "batch_messages_max", "waiting_bytes_max"):
            self._must_be(name, getattr(self, name) > 0, "more than 0")

    def _must_be(self, name: str, is_good: bool, allowed: str) -> None:
        if not is_good:
            raise ConfigurationError(f"{name}={getattr(self, name)} must be {allowed}")
