"""Reads and changes topics at the masters and name servers of one cluster.

One request reads a master's table. The answer is parsed only if it differs from the one before; it
begins with the DataVersion of the table. (QUERY_DATA_VERSION would be smaller, but only name
servers answer it, and they count the request as a heartbeat of the broker that it names.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Self, final

from gantrymq.base.errors import RemoteError
from gantrymq.client.aio.admin import Admin
from gantrymq.client.core.admin.name_servers import ORDER_NAMESPACE
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.flow.answers import accepted
from gantrymq.client.core.flow.flow_steps import Ask
from gantrymq.operator.brokers.access import FILES, BrokerAccess
from gantrymq.operator.brokers.topic_tables import Master, TopicTables
from gantrymq.operator.topics.steps import Change, OrderEntry, attribute_changes
from gantrymq.operator.topics.values import DrainAnswer, DrainQuestion, GroupView
from gantrymq.remoting.failures import ClientError
from gantrymq.runtime.logs import Log
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.consumption import GroupList
from gantrymq.wire.bodies.consuming.queue_stats import ConsumeStats, TopicStatsTable
from gantrymq.wire.bodies.kv import kv_table_from_json
from gantrymq.wire.bodies.shared import TopicConfig, TopicFilterType
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.headers.route import (
    GetKvListRequest,
    KvConfigKeyRequest,
    PutKvConfigRequest,
)
from gantrymq.wire.headers.topic import QueryTopicConsumeByWhoRequest

log: Final = Log("operator.topics")

TIMEOUT_S: Final = 5.0
"""How long to wait for a master. A master that does not answer is left out of the run."""

ANOTHER_BROKER: Final = "has a master address at which a broker of another group answers"

_GROUPS_AT_ONCE: Final = 8
"""The number of consumer groups that a broker is asked about at once."""


@final
class ClusterTopics:
    """Owns the connections to the brokers and name servers of one cluster; use `async with`."""

    def __init__(
        self,
        name_servers: Sequence[str],
        *,
        timeout_s: float = TIMEOUT_S,
        access: BrokerAccess | None = None,
    ) -> None:
        """`access` is None for an open cluster."""
        keywords = FILES.keywords(access)
        keywords["name_servers"] = name_servers
        self.access = access
        self.name_servers = tuple(name_servers)
        self._timeout_s = timeout_s
        self._admin = Admin(timeout_s=timeout_s, **keywords)
        self._tables = TopicTables()

    async def start(self) -> None:
        await self._admin.start()

    async def close(self) -> None:
        await self._admin.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ------------------------------------------------------------------ tables

    async def read(self, cluster: str, group: GroupView) -> GroupView:
        """Return the group with its master's table, or with the reason why there is none."""
        if not group.address:
            return GroupView(group.name, why=group.why or "has no master")
        master = Master(cluster, group.name, group.address)
        try:
            body = await self._ask(group.address, RequestCode.GET_ALL_TOPIC_CONFIG)
            system = self._tables.system(master)
            if system is None:
                system = frozenset(await self._admin.topics.system_names(group.address))
        except BrokerError as refusal:
            return GroupView(group.name, group.address, why=f"refuses to answer: {refusal.remark}")
        except ClientError:
            return GroupView(group.name, group.address, why="has a master that does not answer")
        try:
            table = self._tables.read(master, body, system)
        except RemoteError as error:
            return GroupView(group.name, group.address, why=f"gives an unusable answer: {error}")
        missing = master.lacks(table)
        if missing:
            self._tables.forget(master)
            log.warning(
                "refusing topics of another broker",
                cluster=cluster, group=group.name, address=group.address, lacks=",".join(missing),
            )  # fmt: skip
            return GroupView(group.name, group.address, why=ANOTHER_BROKER)
        return GroupView(group.name, group.address, table)

    def keep(self, cluster: str, groups: Iterable[GroupView]) -> None:
        """Forget the tables of other masters."""
        self._tables.keep(frozenset(Master(cluster, each.name, each.address) for each in groups))

    async def create(self, address: str, changes: Sequence[Change]) -> None:
        """Create or change all of the topics or none. Raises BrokerError or RequestError."""
        await self._admin.topics.create_all(address, [_config(each) for each in changes])

    async def delete(self, address: str, topic: str) -> None:
        """Delete a topic with its messages. Raises BrokerError or RequestError."""
        (await self._admin.topics.delete(topic, [address])).all()

    async def forget(self, topic: str, cluster: str) -> None:
        """Remove the routes of a topic at every name server. Raises the first failure."""
        (await self._admin.topics.forget(topic, cluster)).all()

    # ------------------------------------------------------------------ ordered topics

    async def order_tables(self) -> dict[str, Mapping[str, str] | None]:
        """Return the order entries of topics, by name server."""
        tables = await asyncio.gather(*map(self._order_table, self.name_servers))
        return dict(zip(self.name_servers, tables, strict=True))

    async def _order_table(self, server: str) -> Mapping[str, str] | None:
        header = GetKvListRequest(namespace=ORDER_NAMESPACE)
        try:
            body = await self._ask(server, RequestCode.GET_KVLIST_BY_NAMESPACE, header)
        except BrokerError as refusal:
            return {} if refusal.code == ResponseCode.QUERY_NOT_FOUND else None
        except ClientError:
            return None
        return kv_table_from_json(javajson.loads(body))

    async def put_order(self, entry: OrderEntry) -> None:
        """Write or delete one entry at one name server. Raises BrokerError or RequestError."""
        header: Header
        if entry.value is None:
            code = RequestCode.DELETE_KV_CONFIG
            header = KvConfigKeyRequest(namespace=ORDER_NAMESPACE, key=entry.topic)
        else:
            code, key, value = RequestCode.PUT_KV_CONFIG, entry.topic, entry.value
            header = PutKvConfigRequest(namespace=ORDER_NAMESPACE, key=key, value=value)
        await self._ask(entry.name_server, code, header)

    # ------------------------------------------------------------------ drained queues

    async def drained(self, question: DrainQuestion) -> DrainAnswer | None:
        """Return which consumer groups have not read the queues; None if a request fails."""
        address, topic = question.address, question.topic
        header = QueryTopicConsumeByWhoRequest(topic=topic)
        try:
            body = await self._ask(address, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
            groups = GroupList.from_json(javajson.loads(body)).groups
            stats = await self._admin.topics.stats_of(address, topic)
            limit = asyncio.Semaphore(_GROUPS_AT_ONCE)

            async def progress(group: str) -> ConsumeStats:
                async with limit:
                    return await self._admin.groups.progress_at(address, group, topic)

            found = await asyncio.gather(*map(progress, groups))
        except ClientError:
            return None
        return drain_answer(question.first_queue, stats, dict(zip(groups, found, strict=True)))

    async def _ask(self, address: str, code: RequestCode, header: Header | None = None) -> bytes:
        return await self._admin.run(_answer_body(address, code, header, self._timeout_s))


async def _answer_body(
    address: str, code: RequestCode, header: Header | None, timeout_s: float
) -> bytes:
    """Ask by a flow of the client, and return the body of the answer unparsed."""
    command = Command(code, ext=None if header is None else header.encode())
    return accepted(await Ask(address, command, timeout_s), address).body


def _config(change: Change) -> TopicConfig:
    wanted = change.config
    return TopicConfig(
        change.topic,
        read_queue_nums=wanted.read,
        write_queue_nums=wanted.write,
        perm=wanted.perm,
        topic_filter_type=TopicFilterType(wanted.filter_type),
        topic_sys_flag=wanted.system_flag,
        order=wanted.order,
        attributes=attribute_changes(change),
    )


def drain_answer(
    first_queue: int, stats: TopicStatsTable, groups: Mapping[str, ConsumeStats]
) -> DrainAnswer:
    """Return which groups are behind in the queues from `first_queue` on. A group without any
    offset has given the topic up, and does not count."""
    ends = {
        queue: (offset.min_offset, offset.max_offset)
        for queue, offset in stats.queues.items()
        if queue.queue_id >= first_queue and offset.max_offset > offset.min_offset
    }
    last_ms = max((each.last_update_ms for each in stats.queues.values()), default=0)
    readers = {name: progress for name, progress in groups.items() if progress.queues}
    behind = []
    for name, progress in sorted(readers.items()):
        left = []
        for queue, (start, end) in ends.items():
            consumed = progress.queues.get(queue)
            if consumed is None or max(consumed.consumer_offset, start) < end:
                left.append(queue.queue_id)
        if left:
            behind.append((name, tuple(sorted(left))))
    unread = () if readers else tuple(sorted(queue.queue_id for queue in ends))
    return DrainAnswer(tuple(behind), unread, last_ms / 1000)
