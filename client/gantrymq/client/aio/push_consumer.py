"""Provides the push consumer on asyncio: Java's DefaultMQPushConsumer.

    def paid(messages: list[ReceivedMessage]) -> Outcome:
        for message in messages:
            print(message.topic, message.keys, message.body)
        return SUCCESS                      or None; LATER has them redelivered

    async with PushConsumer("billing", name_servers="127.0.0.1:9876") as consumer:
        consumer.subscribe("orders", "paid || shipped", paid)
        await asyncio.Event().wait()

The work is done by flows of `core.push_consumer`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypedDict, Unpack, final

from gantrymq.client.aio.consumer_names import PUSH_NAMES
from gantrymq.client.aio.machinery.configuration import ClientKeywords, choose
from gantrymq.client.aio.machinery.environment import REAL, Environment
from gantrymq.client.aio.machinery.old_names import renamed_environment
from gantrymq.client.aio.machinery.process import offsets_folder
from gantrymq.client.aio.membership import Membership, Startable
from gantrymq.client.aio.subscribing import must_be_possible
from gantrymq.client.core.group.allocation import Allocate
from gantrymq.client.core.group.group_name import check_group
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.group.subscriptions import Expression
from gantrymq.client.core.instance.hooks import ConsumeHook
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.pull.consume_stats import ConsumeStats
from gantrymq.client.core.push.consume_settings import ConsumeSettings
from gantrymq.client.core.push.listeners import Listener
from gantrymq.client.core.push.push_consumer import PushGroupMember
from gantrymq.client.core.push.queue_status import QueueStatus


class ConsumeOptions(TypedDict, total=False):
    """Keywords of ConsumeSettings."""

    orderly: bool
    broadcasting: bool
    allocate: Allocate
    consume_from: ConsumeFrom
    consume_timestamp_ms: int | None
    consume_threads: int
    consume_batch: int
    pull_batch: int
    pull_interval_s: float
    pull_threshold: int
    pull_threshold_bytes: int
    topic_pull_threshold: int | None
    topic_pull_threshold_bytes: int | None
    max_span: int
    consume_timeout_s: float
    max_reconsume_times: int
    suspend_s: float
    auto_commit: bool
    close_timeout_s: float
    post_subscription: bool
    trace: bool
    trace_topic: str


class PushOptions(ClientKeywords, ConsumeOptions, total=False):
    """Keywords of ConsumeSettings and of the client, and consume hooks."""

    hooks: Sequence[ConsumeHook]


@final
class PushConsumer(Startable):
    """A member of a consumer group that calls listeners. Use `async with`, or `start` and `close`;
    `subscribe` before or after the start.

    A listener may be plain or async. A plain listener runs on the event loop and blocks everything
    else in the process, including heartbeats. Code that waits (for a database, a request) belongs
    in an async listener, of which `consume_threads` run concurrently. A listener may receive a
    message twice: after a crash, and when members join or leave the group.

    `close` waits for running listeners, commits the offsets and releases the queues to the other
    members. Signals do not call it. A program that is stopped by SIGTERM calls `close` from
    `loop.add_signal_handler(signal.SIGTERM, ...)`; a program that is killed consumes the messages
    of the last few seconds again.
    """

    def __init__(
        self,
        group: str,
        *,
        environment: Environment = REAL,
        world: Environment | None = None,
        **options: Unpack[PushOptions],
    ) -> None:
        """Does no I/O yet. The options are those of the client (name_servers, access_key and so on)
        and of ConsumeSettings (orderly, consume_from, consume_batch and so on). Raises
        ConfigurationError."""
        check_group(group)
        self._group = group
        self._hooks = tuple(options.get("hooks", ()))
        given = {name: value for name, value in options.items() if name != "hooks"}
        chosen = choose(ConsumeSettings, PUSH_NAMES, given)
        client_settings, identity, self._settings = chosen
        self._membership: Membership[PushGroupMember] = Membership(
            "consumer", client_settings, identity, renamed_environment(environment, world)
        )
        self._early: dict[str, tuple[Expression, Listener]] = {}

    # ------------------------------------------------------------------ lifecycle

    async def start(self) -> None:
        """Join the group; pulls of this consumer's share have begun when this returns. Raises
        SubscriptionError if a broker refuses a filter, StateError if it was started before or this
        client has the group already."""
        await self._membership.enter(self._make)

    def _make(self, instance: Instance) -> PushGroupMember:
        member = PushGroupMember(
            instance, self._group, self._settings, self._hooks, offset_folder=offsets_folder()
        )
        for topic, (expression, listener) in self._early.items():
            member.subscribe(topic, expression, listener)
        return member

    async def close(self) -> None:
        """Wait for running listeners (`close_timeout_s`), commit the offsets, release the queues
        and leave the group. A second call does nothing. Raises StateError if one of its own
        listeners calls it."""
        member = self._membership.started
        if member is not None:
            member.must_not_be_called_by(asyncio.current_task())
        await self._membership.close()

    # ------------------------------------------------------------------ subscriptions

    def subscribe(self, topic: str, expression: Expression, listener: Listener) -> None:
        """Call the listener with messages of the topic: `"*"` for all, `"paid || shipped"` by tags,
        `Sql("price > 3")` by properties. A second call for a topic replaces the first. Raises
        SubscriptionError if the subscription is invalid."""
        must_be_possible(topic, expression, listener)
        member = self._membership.started
        if member is not None:
            member.subscribe(topic, expression, listener)
            return
        self._early[topic] = expression, listener

    def unsubscribe(self, topic: str) -> None:
        """Stop consuming the topic."""
        member = self._membership.started
        if member is not None:
            member.unsubscribe(topic)
        self._early.pop(topic, None)

    def pause(self) -> None:
        """Stop pulling all queues; messages that were pulled are still consumed."""
        self._membership.member.suspend()

    def resume(self) -> None:
        """Resume pulling."""
        self._membership.member.resume()

    # ------------------------------------------------------------------ state

    def status(self) -> list[QueueStatus]:
        """Return the state of each assigned queue: its offset, and why it is stalled if it is."""
        return self._membership.member.status()

    @property
    def stats(self) -> ConsumeStats:
        """Counters since the start."""
        return self._membership.member.stats
