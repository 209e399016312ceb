"""Maps topics to the user's listeners.

A retried message arrives through the group's retry queue and goes to the listener of its original
topic.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol, TypeAlias, final, runtime_checkable

from gantrymq.client.core.errors import StateError
from gantrymq.client.core.group.process_queue import Slice
from gantrymq.client.core.message.namespace import RETRY_PREFIX
from gantrymq.client.core.message.outcomes import Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.wire.message import property_names

Listener: TypeAlias = Callable[[list[ReceivedMessage]], Outcome | Awaitable[Outcome]]
"""Receives messages of one queue in order: at least one, at most `consume_batch`."""


@runtime_checkable
class WrappedListener(Protocol):
    """An async listener that wraps another one and can wrap a different one instead: for example, a
    blocking listener is replaced by one that calls it in a thread."""

    inner: Listener

    def around(self, listener: Listener) -> Listener:
        """Return the same wrapper around another listener."""


@final
class Listeners:
    """The listeners of one consumer, by topic name as brokers know it."""

    __slots__ = ("_by_topic", "_rename")

    def __init__(self, rename: Callable[[str], str] | None) -> None:
        """`rename` maps a topic to the user's name for it; None if both are the same."""
        self._by_topic: dict[str, Listener] = {}
        self._rename = rename

    def add(self, topic: str, listener: Listener) -> None:
        self._by_topic[topic] = listener

    def remove(self, topic: str) -> None:
        self._by_topic.pop(topic, None)

    def find(self, topic: str) -> Listener:
        """Return the topic's listener, or one that raises StateError."""
        return self._by_topic.get(topic, _no_listener)

    def split(self, found: Slice) -> Iterator[tuple[Slice, Listener]]:
        """Split pulled messages into slices with their listeners."""
        topic = found.batch.owner.queue.topic
        if self._rename is not None:
            for message in found.messages:
                self._name(message, self._rename)
        if not topic.startswith(RETRY_PREFIX):
            yield found, self.find(topic)
            return
        batch, start = found.batch, found.start
        listeners = [self.find(_sent_to(message)) for message in found.messages]
        for place, listener in enumerate(listeners, found.start):
            is_last = place + 1 == found.end
            if is_last or listeners[place + 1 - found.start] is not listener:
                yield Slice(batch, start, place + 1), listener
                start = place + 1

    def of_message(self, message: ReceivedMessage) -> Listener:
        """Return the listener for a message that did not come from a pull."""
        if self._rename is not None:
            self._name(message, self._rename)
        return self.find(_sent_to(message))

    @staticmethod
    def _name(message: ReceivedMessage, rename: Callable[[str], str]) -> None:
        message.rename(rename(_sent_to(message)))


def _sent_to(message: ReceivedMessage) -> str:
    return message.properties.get(property_names.RETRY_TOPIC) or message.queue.topic


def _no_listener(messages: list[ReceivedMessage]) -> Outcome:
    raise StateError(
        f"This consumer has no listener for {messages[0].topic}, but its group has messages of the"
        " topic to retry. Subscribe to the topic, or the messages become dead letters."
    )
