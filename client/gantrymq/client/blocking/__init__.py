"""Provides blocking clients for programs without asyncio, with the names of the asyncio ones."""

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
