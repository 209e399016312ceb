"""Keeps several requests to one broker in flight, in order, until they are acknowledged.

If a request fails temporarily, the connection is closed, and all requests are sent again in the
same order to the current master. Invariant: of one queue no request is acknowledged before the
requests in front of it, unless the broker says that it has them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, final

from gantrymq.client.bulk.connection import Connection
from gantrymq.client.bulk.connections import Connections
from gantrymq.client.bulk.errors import NotSupportedError
from gantrymq.client.bulk.requests import REPEATS_FIELD, BulkRequest
from gantrymq.client.bulk.verdict import Verdict, judge
from gantrymq.client.core.errors import RouteError, SendError, code_name
from gantrymq.remoting.failures import RequestError
from gantrymq.wire.command import Command

# A busy broker is asked again soon, an unreachable one with growing pauses.
FIRST_WAIT_SECONDS: Final = 0.05
LONGEST_WAIT_SECONDS: Final = 1.0


@final
class BrokerWindow:
    """The unacknowledged requests to one broker, owned by a sender; blocks while it is full."""

    def __init__(
        self,
        connections: Connections,
        broker_name: str,
        max_in_flight: int,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connections = connections
        self._settings = connections.settings
        self._connection: Connection | None = None
        self._broker_name = broker_name
        self._max_in_flight = max_in_flight
        self._wait = wait
        self._unacknowledged: dict[BulkRequest, None] = {}
        self._on_wire: dict[int, BulkRequest] = {}
        self._failing_since: float | None = None
        self._wait_seconds = FIRST_WAIT_SECONDS
        self.repeats = 0
        """Number of messages that were stored before their first attempt here."""

    def send(self, request: BulkRequest) -> None:
        """Send the request when fewer than `max_in_flight` are in flight; raises SendError."""
        while len(self._unacknowledged) >= self._max_in_flight:
            self._take_answer()
        self._unacknowledged[request] = None
        self._send_unsent()

    def flush(self) -> None:
        """Wait until all requests are acknowledged; raises SendError."""
        while self._unacknowledged:
            self._take_answer()

    def _send_unsent(self) -> None:
        under_way = set(self._on_wire.values())
        unsent = [request for request in self._unacknowledged if request not in under_way]
        try:
            for request in unsent:
                self._send_one(request)
        except (RequestError, RouteError) as error:
            self._begin_again(str(error), error)

    def _send_one(self, request: BulkRequest) -> None:
        if self._connection is None:
            topic = request.lane.queue.topic
            self._connection = self._connections.master(topic, self._broker_name)
        command = request.command(self._settings.group, int(time.time() * 1000))
        self._on_wire[self._connection.send(command)] = request

    def _take_answer(self) -> None:
        if self._connection is None or not self._on_wire:
            self._send_unsent()
            return
        number, request = next(iter(self._on_wire.items()))
        try:
            answer = self._connection.receive(number)
        except RequestError as error:
            self._begin_again(str(error), error)
            return
        del self._on_wire[number]
        self._settle(request, answer)

    def _settle(self, request: BulkRequest, answer: Command) -> None:
        verdict = judge(
            answer.code,
            is_idempotent=request.lane.session_id is not None,
            is_first_of_lane=self._is_first_of_lane(request),
        )
        if verdict is Verdict.STORED:
            self._stored(request, answer.ext or {})
            self._failing_since, self._wait_seconds = None, FIRST_WAIT_SECONDS
            return
        answered = f"code {code_name(answer.code)}, {answer.remark or 'without a remark'}"
        if verdict is Verdict.REFUSED:
            raise SendError(f"{request.text}: refused, {answered}", ())
        self._begin_again(answered, None)

    def _stored(self, request: BulkRequest, ext: Mapping[str, str]) -> None:
        """Remove an acknowledged request; raises SendError if the broker ignored its session."""
        if request.lane.session_id is not None and REPEATS_FIELD not in ext:
            raise NotSupportedError(
                f"{request.text}: stored by a broker that does not support producer sessions, so it"
                " may be stored twice. All members of a group must be of a version that supports"
                " them; or set delivery to at-least-once.",
                (),
            )
        del self._unacknowledged[request]
        if not request.was_tried:
            self.repeats += int(ext.get(REPEATS_FIELD, 0))

    def _is_first_of_lane(self, request: BulkRequest) -> bool:
        return next(each for each in self._unacknowledged if each.lane is request.lane) is request

    def _begin_again(self, why: str, cause: Exception | None) -> None:
        """Close the connection, pause, and send all requests again; raises SendError after
        `recover_s`."""
        for request in self._on_wire.values():
            request.was_tried = True
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        if now - self._failing_since > self._settings.recover_s:
            request = next(iter(self._unacknowledged))
            raise SendError(
                f"{request.text}: not acknowledged for {self._settings.recover_s:.0f} s; the last"
                f" attempt failed: {why}",
                () if cause is None else (cause,),
            ) from cause
        self._disconnect()
        self._on_wire.clear()
        self._wait(self._wait_seconds)
        self._wait_seconds = min(2 * self._wait_seconds, LONGEST_WAIT_SECONDS)

    def _disconnect(self) -> None:
        """Close the connection, so that late responses to earlier attempts are not read."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self._connections.forget_routes()
