"""Sends requests to the name servers: always to the same one until it fails, then to the next.

The addresses are given, or are the first line of a page ("host:port;host:port"), which is fetched
when first needed and then periodically. Invariant: a known list is replaced only by another list.
If the page cannot be fetched or is empty, the list stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.flow.flow_steps import FOREVER, Ask, Fetch, Signal, Wait
from gantrymq.remoting.failures import RequestError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import GetRouteInfoRequest

# As in Java.
FETCH_TIMEOUT_S: Final = 3.0


@final
class NameServers:
    """The name servers of one client."""

    __slots__ = ("_current", "_fetched", "_first", "addresses", "timeout_s", "url")

    def __init__(
        self, addresses: Sequence[str], first: int, timeout_s: float, url: str = ""
    ) -> None:
        """`first` selects the first server, to spread clients; `url` is the page with the list,
        used if no addresses are given."""
        self.timeout_s = timeout_s
        self.url = "" if addresses else url
        self._first = first
        self._fetched: Signal | None = None
        self._set(addresses)

    def _set(self, addresses: Sequence[str]) -> None:
        self.addresses = tuple(dict.fromkeys(addresses))
        self._current = self._first % len(self.addresses) if self.addresses else 0

    async def fetch(self) -> None:
        """Fetch the list of addresses; raises RouteError. Concurrent callers wait for the first
        one's fetch."""
        if self._fetched is not None:
            await Wait(FOREVER, self._fetched)
            return
        fetched = self._fetched = Signal()
        try:
            page = await Fetch(self.url, FETCH_TIMEOUT_S)
        except (OSError, ValueError) as error:
            raise RouteError(
                f"the list of name servers at {self.url} was not had: {error}"
            ) from error
        finally:
            self._fetched = None
            fetched.fire()
        lines = page.strip().splitlines()
        found = [part.strip() for part in lines[0].split(";") if part.strip()] if lines else []
        if not found:
            raise RouteError(f"the list of name servers at {self.url} is empty")
        if set(found) != set(self.addresses):
            self._set(found)

    @property
    def current(self) -> str:
        """The server that is asked first: the one that answered last."""
        return self.addresses[self._current]

    async def ask(self, command: Command) -> Command:
        """Return the response of the first server that can be reached; raises RouteError if none
        can."""
        if self.url and not self.addresses:
            await self.fetch()
        failures = []
        first, count = self._current, len(self.addresses)
        addresses = self.addresses
        for place in (number % count for number in range(first, first + count)):
            address = addresses[place]
            try:
                answer = await Ask(address, command, self.timeout_s)
            except RequestError as error:
                failures.append(f"{address}: {error}")
                # A concurrent request may have moved on already, or a page may have replaced the
                # list.
                if self._current == place and self.addresses is addresses:
                    self._current = (place + 1) % count
            else:
                if self.addresses is addresses:
                    self._current = place
                return answer
        if not failures:
            raise RouteError(
                "no name server address is set: give name_servers (gantry: -n), or set"
                " NAMESRV_ADDR to host:port, several separated by ;"
            )
        raise RouteError(
            f"connect to name servers failed: {'; '.join(failures)}; are they running, and is that"
            " where they are (name_servers, NAMESRV_ADDR)?"
        )

    async def route(self, topic: str) -> TopicRouteData | None:
        """Return a topic's route, or None if the name server does not know the topic; raises
        RouteError if none can be reached."""
        header = GetRouteInfoRequest(topic=topic, accept_standard_json_only=True)
        command = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext=header.encode())
        answer = await self.ask(command)
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerError(answer.code, answer.remark, self.current)
        return TopicRouteData.from_json(javajson.loads(answer.body))
