"""Selects queues for messages of `send_async` by calling a plain selector at once.

Until the route of a topic is known, its messages wait. Then their selectors are called in the order
of the messages.

Invariant: messages with the same queue are sent in the order in which they were added.
"""

from __future__ import annotations

import inspect
from typing import final

from gantrymq.base.errors import GantryError
from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.instance.routes import Route
from gantrymq.client.core.message import namespace
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.producer_batch import Batch
from gantrymq.client.core.send.record_accumulator import RecordAccumulator
from gantrymq.client.core.send.selecting import Selector, choices, chosen
from gantrymq.client.core.send.sending import Sender
from gantrymq.wire.bodies.shared import MessageQueue


@final
class AsyncSelection:
    """The messages of one producer that wait for a route."""

    def __init__(self, sender: Sender, accumulator: RecordAccumulator, wrapped_in: str) -> None:
        self._sender = sender
        self._accumulator = accumulator
        self._namespace = wrapped_in
        self._waiting: dict[str, list[tuple[Batch, Selector, object]]] = {}

    def add(self, message: Message, select: Selector, key: object) -> Batch:
        """Add a message, like `RecordAccumulator.add`. Raises MessageError, and what the selector
        raises."""
        topic = message.topic
        if topic not in self._waiting:
            wrapped = namespace.wrap(self._namespace, topic)
            route = self._sender.instance.routes.find(wrapped)
            if route is not None and route.publish:
                queue = self._select(route.publish, message, select, key)
                return self._accumulator.add(message, queue)
        batch = self._accumulator.reserve(message)
        if topic not in self._waiting:
            self._waiting[topic] = []
            self._sender.instance.ports.start(self._find(topic), f"route of {topic}")
        self._waiting[topic].append((batch, select, key))
        return batch

    async def _find(self, topic: str) -> None:
        failure: Exception | None = None  # stays None if the flow is cancelled
        route: Route | None = None
        try:
            route = await self._sender.route(namespace.wrap(self._namespace, topic))
        except GantryError as error:
            failure = error
        finally:
            waiting = self._waiting.pop(topic)
            if route is None:
                for batch, _, _ in waiting:
                    if not batch.is_over:
                        self._accumulator.fail(batch, failure)
        if route is not None:
            self._release(route, waiting)

    def _release(self, route: Route, waiting: list[tuple[Batch, Selector, object]]) -> None:
        for batch, select, key in waiting:
            if batch.is_over:  # abandoned meanwhile
                continue
            try:
                queue = self._select(route.publish, batch.messages[0], select, key)
            except Exception as error:  # user code; awaiting the message raises it
                self._accumulator.fail(batch, error)
            else:
                self._accumulator.release(batch, queue)

    def _select(
        self, queues: tuple[MessageQueue, ...], message: Message, select: Selector, key: object
    ) -> MessageQueue:
        found = select(choices(queues, message.topic), message, key)
        if inspect.iscoroutine(found):
            found.close()
            raise MessageError(
                f"The selector {select} is async, and send_async cannot await it. Give a plain"
                " function, or use send."
            )
        return namespace.wrapped_queue(self._namespace, chosen(found, select, message))
