"""Counts the memory that registrations take in a name server's memory account, and bounds it.

The size is computed from the lengths of the tables, whenever a broker registers something new and
whenever brokers are scanned for expiry. A registration that adds nothing is never refused.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from gantrymq.base.memory_account import Kind, MemoryAccount
from gantrymq.namesrv.core.routing.routes import Routes
from gantrymq.wire.bodies.route import QueueData

# Each topic with its queues on the registering broker.
Queues: TypeAlias = list[tuple[str, QueueData]]

# Measured with names of 120 characters; a placement on a hundred brokers takes 135 for each.
TOPIC_BYTES: Final = 200
QUEUE_BYTES: Final = 230
# A broker with its name, addresses, version and fingerprint.
BROKER_BYTES: Final = 4_000


@final
class RouteMemory:
    """The routes' part of one name server's memory account. Owned by its state."""

    __slots__ = ("_account", "_routes")

    def __init__(self, account: MemoryAccount, routes: Routes) -> None:
        self._account = account
        self._routes = routes

    def count(self) -> None:
        """Update the account to the current size of the routes."""
        routes = self._routes
        size = (
            len(routes.topics) * TOPIC_BYTES
            + routes.topics.placed_queues * QUEUE_BYTES
            + len(routes.members) * BROKER_BYTES
        )
        self._account.set_table(Kind.ROUTES, size)

    def obstacle(self, new_topics: int, queues: Queues) -> str | None:
        """Why a registration with these new topics and queues exceeds the account, and what helps.

        Returns None if it fits.
        """
        self.count()
        topics_bytes = new_topics * TOPIC_BYTES
        # Counting is slow, so it is skipped if even topics with all different queues would fit.
        most = len(queues) * (len(self._routes.groups) + 1)
        if self._account.overrun(None, Kind.ROUTES, topics_bytes + most * QUEUE_BYTES) is None:
            return None
        more = topics_bytes + self._routes.topics.growth(queues) * QUEUE_BYTES
        found = self._account.overrun(None, Kind.ROUTES, more) if more else None
        if found is None:
            return None
        return (
            f"{found.text}; delete topics that are not needed, or start the name server with a"
            " higher one"
        )
