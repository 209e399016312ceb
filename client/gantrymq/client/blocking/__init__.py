"""The client for programs without asyncio: the same names, waited for instead of awaited."""

from gantrymq.client.blocking.admin import Admin
from gantrymq.client.blocking.consumers import (
    PopConsumer,
    PoppedMessage,
    PullConsumer,
    PushConsumer,
)
from gantrymq.client.blocking.producers import Producer, TransactionProducer

__all__ = [
    "Admin",
    "PopConsumer",
    "PoppedMessage",
    "Producer",
    "PullConsumer",
    "PushConsumer",
    "TransactionProducer",
]
