"""The client for programs without asyncio: the same names, waited for instead of awaited."""

from gantrymq.client.blocking.consumers import (
    PopConsumer,
    PoppedMessage,
    PullConsumer,
    PushConsumer,
)

__all__ = ["PopConsumer", "PoppedMessage", "PullConsumer", "PushConsumer"]
