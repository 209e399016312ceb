"""Shows a stream as a consumer of its group, so that consoles list it with its lag.

The member has no queues and pulls nothing: executors read, at offsets that Spark decides.
"""

from __future__ import annotations

from typing import final

from gantrymq.base.errors import GantryError
from gantrymq.client.core.group.subscriptions import Expression, subscription
from gantrymq.wire.bodies.heartbeat import ConsumerData


class GroupInUseError(GantryError):
    """Another client consumes with the stream's group."""

    def __init__(self, group: str, others: frozenset[str]) -> None:
        super().__init__(
            f"the group {group} is in use by {', '.join(sorted(others))}: two readers would"
            " overwrite each other's progress. Give each query its own group, or set"
            " allowSharedGroup=true. If that client's host failed, start again in two minutes, when"
            " brokers have removed the client"
        )


@final
class GroupMember:
    """A stream as a member of its group, for heartbeats."""

    def __init__(self, group: str, expression: Expression, version_ms: int) -> None:
        self.group = group
        self.topics: tuple[str, ...] = ()
        self._expression = expression
        self._version_ms = version_ms

    @property
    def data(self) -> ConsumerData:
        """Return its data in a heartbeat."""
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_ACTIVELY",
            subscriptions=tuple(
                subscription(topic, self._expression, self._version_ms).data
                for topic in self.topics
            ),
        )

    async def rebalance(self) -> bool:
        """Do nothing: Spark decides which queues are read."""
        return True

    async def persist_offsets(self) -> None:
        """Do nothing: the stream stores its progress itself."""
