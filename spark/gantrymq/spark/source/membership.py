"""Shows a stream as a consumer of its group, so that consoles list it with its lag.

The member has no share of queues and pulls nothing: executors read, by offsets of Spark's.
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
            " overwrite each other's progress. Give each query a group of its own; or set"
            " allowSharedGroup=true; or, if that client died with its host, start again in two"
            " minutes, when brokers have forgotten it"
        )


@final
class GroupMember:
    """A stream as its client's heartbeats show it."""

    def __init__(self, group: str, expression: Expression, version_ms: int) -> None:
        self.group = group
        self.topics: tuple[str, ...] = ()
        self._expression = expression
        self._version_ms = version_ms

    @property
    def data(self) -> ConsumerData:
        """What a heartbeat says of it."""
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_ACTIVELY",
            subscriptions=tuple(
                subscription(topic, self._expression, self._version_ms).data
                for topic in self.topics
            ),
        )

    async def rebalance(self) -> bool:
        """Its queues are Spark's affair."""
        return True

    async def persist_offsets(self) -> None:
        """The stream stores its progress itself."""
