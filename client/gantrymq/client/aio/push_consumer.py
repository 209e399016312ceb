"""A consumer that calls a listener with what comes, on asyncio: Java's DefaultMQPushConsumer.

    def paid(messages: list[ReceivedMessage]) -> Outcome:
        for message in messages:
            print(message.topic, message.keys, message.body)
        return SUCCESS                      or None; LATER brings them again

    async with PushConsumer("billing", name_servers="127.0.0.1:9876") as consumer:
        consumer.subscribe("orders", "paid || shipped", paid)
        await asyncio.Event().wait()

Every method says what it does in `core.push_consumer`; this module only waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypedDict, Unpack, final

from gantrymq.client.aio.configuration import ClientKeywords, choose
from gantrymq.client.aio.consumer_names import PUSH_NAMES
from gantrymq.client.aio.membership import Membership, Startable
from gantrymq.client.aio.process import offsets_folder
from gantrymq.client.aio.subscribing import must_be_possible
from gantrymq.client.aio.world import REAL, World
from gantrymq.client.core.allocation import Allocate
from gantrymq.client.core.consume_settings import ConsumeSettings
from gantrymq.client.core.consume_stats import ConsumeStats
from gantrymq.client.core.hooks import ConsumeHook
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.listeners import Listener
from gantrymq.client.core.push_consumer import PushGroupMember, QueueStatus, check_group
from gantrymq.client.core.start_offset import ConsumeFrom
from gantrymq.client.core.subscriptions import Expression


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
    """What a consumer may be told, and its client."""

    hooks: Sequence[ConsumeHook]


@final
class PushConsumer(Startable):
    """`async with`, or `start` and `close`; `subscribe` before or after.

    A listener may be plain or async. A plain one runs on the event loop: what waits (a database, a
    request) belongs into an async one, of which `consume_threads` run side by side; so nothing
    else of the process stands still meanwhile, heartbeats among it. It may be given a message
    twice: after a crash, and when members of its group come or go.

    `close` lets listeners end, stores the progress and gives the queues to the other members. It is
    not called by signals: a program that is ended by SIGTERM calls it from
    `loop.add_signal_handler(signal.SIGTERM, ...)`; one that is killed consumes the last few
    seconds' messages again.
    """

    def __init__(self, group: str, *, world: World = REAL, **options: Unpack[PushOptions]) -> None:
        """No I/O yet. The options are those of the client (name_servers, access_key and so on) and
        of ConsumeSettings (orderly, consume_from, consume_batch and so on). Raises
        ConfigurationError."""
        check_group(group)
        self._group = group
        self._hooks = tuple(options.get("hooks", ()))
        given = {name: value for name, value in options.items() if name != "hooks"}
        chosen = choose(ConsumeSettings, PUSH_NAMES, given)
        client_settings, identity, self._settings = chosen
        self._membership: Membership[PushGroupMember] = Membership(
            "consumer", client_settings, identity, world
        )
        self._early: dict[str, tuple[Expression, Listener]] = {}

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Join the group; the queues that are its share are being pulled when this returns. Raises
        SubscriptionError when a broker refuses a filter, StateError when it was started before or
        its group is taken in this client."""
        await self._membership.enter(self._make)

    def _make(self, instance: Instance) -> PushGroupMember:
        member = PushGroupMember(
            instance, self._group, self._settings, self._hooks, offset_folder=offsets_folder()
        )
        for topic, (expression, listener) in self._early.items():
            member.subscribe(topic, expression, listener)
        return member

    async def close(self) -> None:
        """Let listeners end what they have (`close_timeout_s`), store the progress, give the queues
        up, leave the group. Closing twice does nothing. Raises StateError in a listener of its
        own."""
        member = self._membership.started
        if member is not None:
            member.must_not_be_called_by(asyncio.current_task())
        await self._membership.close()

    # ------------------------------------------------------------------ what it consumes

    def subscribe(self, topic: str, expression: Expression, listener: Listener) -> None:
        """Have the listener called with messages of the topic: `"*"` for all, `"paid || shipped"`
        by tags, `Sql("price > 3")` by properties. Once more for a topic replaces what was said
        before. Raises SubscriptionError when that cannot be."""
        must_be_possible(topic, expression, listener)
        member = self._membership.started
        if member is not None:
            member.subscribe(topic, expression, listener)
            return
        self._early[topic] = expression, listener

    def unsubscribe(self, topic: str) -> None:
        """Consume no more of the topic."""
        member = self._membership.started
        if member is not None:
            member.unsubscribe(topic)
        self._early.pop(topic, None)

    def pause(self) -> None:
        """Pull no more, of any queue; what was pulled is still consumed."""
        self._membership.member.suspend()

    def resume(self) -> None:
        """Go on pulling."""
        self._membership.member.resume()

    # ------------------------------------------------------------------ how it is

    def status(self) -> list[QueueStatus]:
        """Of each queue that is its share now: how far it is, and why it stands still if it
        does."""
        return self._membership.member.status()

    @property
    def stats(self) -> ConsumeStats:
        """What it did since its start."""
        return self._membership.member.stats
