"""Questions to the name servers: one is kept to until it fails, then the next one is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.steps import Ask
from gantrymq.remoting.failures import RequestError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import GetRouteInfoRequest


@final
class NameServers:
    """Of one client."""

    __slots__ = ("_current", "addresses", "timeout_s")

    def __init__(self, addresses: Sequence[str], first: int, timeout_s: float) -> None:
        """`first` spreads clients over the servers."""
        self.addresses = tuple(dict.fromkeys(addresses))
        self.timeout_s = timeout_s
        self._current = first % len(self.addresses) if self.addresses else 0

    @property
    def current(self) -> str:
        """The one that is asked first: after an answer, the one that gave it."""
        return self.addresses[self._current]

    async def ask(self, command: Command) -> Command:
        """What the first one that can be reached answers; raises RouteError when none can."""
        failures = []
        first, count = self._current, len(self.addresses)
        for place in (number % count for number in range(first, first + count)):
            address = self.addresses[place]
            try:
                answer = await Ask(address, command, self.timeout_s)
            except RequestError as error:
                failures.append(f"{address}: {error}")
                if self._current == place:  # others who asked it may have left it already
                    self._current = (place + 1) % count
            else:
                self._current = place
                return answer
        if not failures:
            raise RouteError(
                "no name server address is set: give name_servers, or set NAMESRV_ADDR to"
                " host:port, several separated by ;"
            )
        raise RouteError(f"connect to name servers failed: {'; '.join(failures)}")

    async def route(self, topic: str) -> TopicRouteData | None:
        """None when they do not know the topic; raises RouteError when none can be asked."""
        header = GetRouteInfoRequest(topic=topic, accept_standard_json_only=True)
        command = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext=header.encode())
        answer = await self.ask(command)
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerError(answer.code, answer.remark, self.current)
        return TopicRouteData.from_json(javajson.loads(answer.body))
