"""Asks name servers and brokers for queues, offsets, times and groups that a read needs.

It uses the client's Admin, and asks all brokers in parallel. Invariant: an answer is complete or an
error is raised, apart from `bounds`, which also reports failures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeVar, final

from gantrymq.base.errors import GantryError
from gantrymq.client.blocking import Admin
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.flow.flow_steps import All, Flow
from gantrymq.remoting.failures import RequestError
from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.connection import ConnectionOptions
from gantrymq.spark.options.read_options import Selection
from gantrymq.spark.source.client_keywords import client_keywords
from gantrymq.spark.source.membership import GroupMember
from gantrymq.spark.source.planning.bounds import Bounds, QueueBounds
from gantrymq.spark.source.planning.layout import Layout, layout_of
from gantrymq.spark.source.planning.selection import matching_topics, must_exist, named_topics
from gantrymq.spark.source.planning.time_search import first_stored_at
from gantrymq.spark.source.progress import in_turns
from gantrymq.wire.bodies.consuming.queue_stats import TopicStatsTable
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import ResponseCode

K = TypeVar("K")
T = TypeVar("T")

# The number of concurrent requests: a pattern may match thousands of topics.
AT_ONCE_MAX: Final = 32

# For maxBytesPerTrigger, the sizes of this many next messages of a queue are averaged.
SAMPLE_MESSAGES: Final = 64


class Asked(NamedTuple):
    """The bounds of the queues whose brokers answered, and the errors of those that did not."""

    bounds: QueueBounds
    failures: tuple[Exception, ...]

    def all(self) -> QueueBounds:
        """Return all bounds. Raises the first failure if there is one."""
        for failure in self.failures:
            raise failure
        return self.bounds


@final
class Cluster:
    """A connection to one cluster; use it with `with`. Every method may raise a GantryError."""

    def __init__(self, connection: ConnectionOptions) -> None:
        self._admin = Admin(timeout_s=connection.timeout_s, **client_keywords(connection))
        self._flows = self._admin.flows

    def __enter__(self) -> Self:
        self._admin.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. A second call does nothing."""
        self._admin.close()

    # ------------------------------------------------------------------ queues

    def layout(self, selection: Selection, *, must_be_there: bool = False) -> Layout:
        """Return the brokers of the selected queues. With `must_be_there`, raises
        RocketMQOptionError if the options name a topic or queue that no name server knows."""
        layout = self._admin.run(self._layout(selection))
        if must_be_there:
            must_exist(selection, layout.topics, layout.queues)
        return layout

    async def _layout(self, selection: Selection) -> Layout:
        topics = named_topics(selection)
        if selection.pattern is not None:
            topics = matching_topics(selection, await self._flows.topics.names())
        names = self._flows.instance.name_servers
        answers = await _side_by_side(topics, names.route)
        routes: dict[str, TopicRouteData] = {}
        for topic, answer in answers.items():
            if isinstance(answer, Exception):
                raise answer
            if answer is not None:
                routes[topic] = answer
        return layout_of(selection, routes)

    def bounds(self, layout: Layout) -> Asked:
        """Return the first offset and the end of every queue."""
        return self._admin.run(self._bounds(layout))

    async def _bounds(self, layout: Layout) -> Asked:
        async def ask(place: tuple[str, str]) -> TopicStatsTable:
            broker_name, topic = place
            return await self._flows.topics.stats_of(layout.members[broker_name].address, topic)

        found: dict[QueueKey, Bounds] = {}
        failures = []
        for place, table in (await _side_by_side(layout.topics_by_broker, ask)).items():
            if isinstance(table, Exception):
                failures.append(table)
                continue
            is_master = layout.members[place[0]].is_master
            for queue, offsets in table.queues.items():
                key = QueueKey(queue.topic, place[0], queue.queue_id)
                if key in layout.queues:
                    found[key] = Bounds(offsets.min_offset, offsets.max_offset, is_master)
        return Asked(found, tuple(failures))

    def average_bytes(
        self, layout: Layout, positions: Mapping[QueueKey, int]
    ) -> dict[QueueKey, float]:
        """Return the average stored size of the next messages of each queue, if a broker reports
        it."""
        return self._admin.run(self._average_bytes(layout, positions))

    async def _average_bytes(
        self, layout: Layout, positions: Mapping[QueueKey, int]
    ) -> dict[QueueKey, float]:
        async def ask(queue: QueueKey) -> float | None:
            address = layout.members[queue.broker_name].address
            place, first = _message_queue(queue), positions[queue]
            body = await self._flows.messages.units(address, place, first, SAMPLE_MESSAGES)
            sizes = [unit.size for unit in body.units] if body is not None else []
            return sum(sizes) / len(sizes) if sizes else None

        reachable = (queue for queue in positions if queue.broker_name in layout.members)
        answers = await _side_by_side(reachable, ask)
        return {queue: answer for queue, answer in answers.items() if isinstance(answer, float)}

    # ------------------------------------------------------------------ places

    def offsets_at(
        self, layout: Layout, moments_ms: Mapping[QueueKey, int], bounds: QueueBounds
    ) -> dict[QueueKey, int | None]:
        """Return the first message of each queue stored at or after a time; None if none is."""

        async def ask(queue: QueueKey) -> int | None:
            return await self._offset_at(layout, queue, moments_ms[queue], bounds[queue])

        return self._admin.run(_all_of(moments_ms, ask))

    async def _offset_at(
        self, layout: Layout, queue: QueueKey, moment_ms: int, has: Bounds
    ) -> int | None:
        address = layout.members[queue.broker_name].address
        place = _message_queue(queue)

        async def stored_ms(offset: int) -> int:
            pulled = await self._flows.messages.pull(address, place, offset, most=1)
            # If retention has deleted the message meanwhile, it was older than the remaining ones.
            return pulled.messages[0].stored_ms if pulled.messages else -1

        guess = await self._flows.offsets.at(address, place, moment_ms)
        return await first_stored_at(moment_ms, has, guess, stored_ms)

    def offsets_of_group(
        self, layout: Layout, group: str, queues: Iterable[QueueKey]
    ) -> dict[QueueKey, int | None]:
        """Return the committed offset of each queue; None if the group has none."""

        async def ask(queue: QueueKey) -> int | None:
            address = layout.members[queue.broker_name].address
            try:
                return await self._flows.offsets.of(address, group, _message_queue(queue))
            except BrokerError as error:
                if error.code == ResponseCode.QUERY_NOT_FOUND:
                    return None
                raise

        return self._admin.run(_all_of(queues, ask))

    # ------------------------------------------------------------------ the stream's own group

    def others_in_group(self, layout: Layout, group: str) -> frozenset[str]:
        """Return the ids of other clients that consume with the group now, from the brokers that
        answer. Every client sends heartbeats to every broker."""

        async def ask(address: str) -> frozenset[str]:
            try:
                found = await self._flows.connections.consumers_at(address, group)
            except BrokerError as error:
                if error.code == ResponseCode.CONSUMER_NOT_ONLINE:
                    return frozenset()
                raise
            return frozenset(each.client_id for each in found.connections)

        addresses = {member.address for member in layout.members.values()}
        ids: set[str] = set()
        for answer in self._admin.run(_side_by_side(addresses, ask)).values():
            if isinstance(answer, frozenset):
                ids |= answer
            elif not isinstance(answer, RequestError):
                raise answer
        return frozenset(ids) - {self._flows.instance.client_id}

    def join_group(self, layout: Layout, member: GroupMember) -> None:
        """Register this client in the member's group, now and by every heartbeat."""
        self._admin.run(self._join_group(layout, member))

    async def _join_group(self, layout: Layout, member: GroupMember) -> None:
        instance = self._flows.instance
        instance.add_consumer(member.group, member)
        await self._tell_group(layout, member)

    def tell_group(self, layout: Layout, member: GroupMember) -> None:
        """Report the member's new topics to brokers."""
        self._admin.run(self._tell_group(layout, member))

    async def _tell_group(self, layout: Layout, member: GroupMember) -> None:
        member.topics = tuple(sorted(layout.topics))
        await self._flows.instance.refresh_routes()
        await self._flows.instance.heartbeat()

    def leave_group(self, member: GroupMember) -> None:
        """Tell brokers that this client left the group."""
        self._admin.run(self._flows.instance.remove_consumer(member.group, member))

    def store_progress(
        self, layout: Layout, group: str, positions: Mapping[QueueKey, int]
    ) -> tuple[dict[QueueKey, int], tuple[Exception, ...]]:
        """Commit offsets of the group; return those that brokers accepted, and the failures."""

        async def ask(queue: QueueKey) -> int:
            member = layout.members.get(queue.broker_name)
            if member is None or not member.is_master:
                raise RouteError(f"no name server knows the master of {queue.broker_name} now")
            position = positions[queue]
            await self._flows.offsets.move(member.address, group, _message_queue(queue), position)
            return position

        answers: dict[QueueKey, int | Exception] = {}
        for turn in in_turns(positions):
            answers |= self._admin.run(_side_by_side(turn, ask))
        stored = {queue: answer for queue, answer in answers.items() if isinstance(answer, int)}
        failures = [answer for answer in answers.values() if isinstance(answer, Exception)]
        return stored, tuple(failures)


async def _side_by_side(places: Iterable[K], ask: Callable[[K], Flow[T]]) -> dict[K, T | Exception]:
    """Return the answer or the server's error of each request. Other errors are raised."""
    each = list(places)
    answers: dict[K, T | Exception] = {}
    for start in range(0, len(each), AT_ONCE_MAX):
        part = each[start : start + AT_ONCE_MAX]
        answers |= zip(part, await All([ask(place) for place in part]), strict=True)
    for answer in answers.values():
        if isinstance(answer, Exception) and not isinstance(answer, GantryError):
            raise answer
    return answers


async def _all_of(places: Iterable[K], ask: Callable[[K], Flow[T]]) -> dict[K, T]:
    """Return the answer of each request. Raises the first error."""
    answers: dict[K, T] = {}
    for place, answer in (await _side_by_side(places, ask)).items():
        if isinstance(answer, Exception):
            raise answer
        answers[place] = answer
    return answers


def _message_queue(queue: QueueKey) -> MessageQueue:
    return MessageQueue(queue.topic, queue.broker_name, queue.queue_id)
