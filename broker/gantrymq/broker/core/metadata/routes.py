"""Caches the queues of topics in the whole cluster, as the name servers know them.

A broker without name servers knows only its own queues.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.state import State
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.bodies.shared import MessageQueue, Permission
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import GetRouteInfoRequest

# Java asks as often. Clients rebalance each 20 s, and each asks for each of its topics.
FRESH_SECONDS: Final = 30.0

# The client's timeout is three seconds.
ASK_SECONDS: Final = 2.0

TOPICS_MAX: Final = 1_000
QUEUES_MAX: Final = 100_000


@final
class Routes:
    """The route cache of one broker."""

    __slots__ = ("_state", "_table")

    def __init__(self, state: State) -> None:
        self._state = state
        self._table: dict[str, tuple[float, tuple[MessageQueue, ...]]] = {}

    def queues(self, topic: str) -> Task[tuple[MessageQueue, ...] | None]:
        """All queues that consumers may read, in Java's order; None when they are unknown now."""
        if not self._state.settings.namesrv_addr:
            return self._own(topic)
        known = self._table.get(topic)
        if known is not None and known[0] > self._state.now:
            return known[1]
        queues = yield from self._asked(topic)
        if queues is not None:
            if len(self._table) >= TOPICS_MAX:
                self._table.clear()
            self._table[topic] = (self._state.now + FRESH_SECONDS, queues)
        return queues

    def _own(self, topic: str) -> tuple[MessageQueue, ...] | None:
        config = self._state.topics.find(topic)
        if config is None or not config.perm & Permission.READ:
            return None
        name = self._state.identity.name
        return tuple(MessageQueue(topic, name, at) for at in range(config.read_queue_nums))

    def _asked(self, topic: str) -> Task[tuple[MessageQueue, ...] | None]:
        header = GetRouteInfoRequest(topic=topic)
        command = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext=header.encode())
        response = yield from tasks.ask_name_servers(command, ASK_SECONDS)
        if response is None or response.code != ResponseCode.SUCCESS:
            return None
        route = TopicRouteData.from_json(javajson.loads(response.body))
        readable = [queues for queues in route.queues if queues.perm & Permission.READ]
        if sum(queues.read_queue_nums for queues in readable) > QUEUES_MAX:
            raise RemoteError(f"topic {topic} has more than {QUEUES_MAX} queues in all")
        return tuple(
            sorted(
                MessageQueue(topic, queues.broker_name, at)
                for queues in readable
                for at in range(queues.read_queue_nums)
            )
        )
