"""Reads ranges of queues and yields the stored messages of each response as bytes, in order.

    MESSAGES         yield the bytes and continue after them; the next pulls are under way meanwhile
    NOTHING_MATCHES  continue after the messages that the broker examined
    GONE             OffsetGoneError at once: the broker's retention removed messages
    NOT_YET          retry; QueueTruncatedError if the master says so for `truncated_after_s`
    no response      close, fetch the route again, retry; after `recover_s` raise the error

Invariant: a read that ends without an error has yielded every message of its range that passes the
filter, once and in order. Responses may reach beyond the range's end (frames.decode cuts them).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self, final

from gantrymq.client.bulk import pull_exchange
from gantrymq.client.bulk.connection import Connection
from gantrymq.client.bulk.connections import Connections
from gantrymq.client.bulk.errors import OffsetGoneError, QueueTruncatedError
from gantrymq.client.bulk.pull_exchange import Found, Pulled
from gantrymq.client.bulk.settings import BulkSettings
from gantrymq.client.bulk.windows import Windows
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.group.subscriptions import Subscription
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.client.core.message import namespace
from gantrymq.remoting.failures import ClientError, RequestError
from gantrymq.wire.bodies.shared import MessageQueue

BYTES_DEFAULT: Final = 1 << 20
DEPTH_DEFAULT: Final = 2

# The pause between retries: short enough for a failover of one second, and long enough to send
# few requests to a broker that is down for a minute.
_FIRST_PAUSE_S: Final = 0.05
_PAUSE_MAX_S: Final = 1.0


@final
class BulkPuller:
    """Reads queues of one cluster, for one thread; it keeps its connections between reads.

    Use it with `with`, or call `close`. A forked process can use it too; it opens new connections.
    """

    def __init__(self, settings: BulkSettings) -> None:
        self.settings = settings
        self._connections = Connections(settings)

    def pull(
        self,
        queue: MessageQueue,
        start: int,
        end: int,
        *,
        subscription: Subscription | None = None,
        bytes_max: int = BYTES_DEFAULT,
        depth: int = DEPTH_DEFAULT,
    ) -> Iterator[bytes]:
        """Yield the messages [start, end) of the queue, as whole stored frames.

        `bytes_max` bounds one response, `depth` the concurrent pulls. Raises OffsetGoneError,
        QueueTruncatedError, BrokerError for a refusal, and RequestError or RouteError if no broker
        responds for `recover_s`.
        """
        wrapped = namespace.wrapped_queue(self.settings.namespace, queue)
        read = _Read(self._connections, wrapped, start, end, subscription, bytes_max, depth)
        return read.bodies()

    def close(self) -> None:
        """Close the connections; a later read opens new ones."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Read:
    """One range of one queue, from its first request to its end."""

    def __init__(
        self,
        connections: Connections,
        queue: MessageQueue,
        start: int,
        end: int,
        subscription: Subscription | None,
        bytes_max: int,
        depth: int,
    ) -> None:
        settings = connections.settings
        group = namespace.wrap(settings.namespace, settings.group)
        self._connections = connections
        self._queue = queue
        self._end = end
        self._is_filtered = not (subscription is None or _lets_all_through(subscription))
        self._fields = pull_exchange.request(queue, group, subscription, bytes_max)
        self._windows = Windows(start, end, depth, is_filtered=self._is_filtered)
        self._connection: Connection | None = None
        self._is_master = False
        self._retry = _Retry(settings.recover_s)
        self._shortage = _Retry(settings.truncated_after_s)

    def bodies(self) -> Iterator[bytes]:
        try:
            while not self._windows.is_done:
                body = self._step()
                if body:
                    yield body
        finally:
            self._abandon_pulls()

    def _step(self) -> bytes:
        """Return the next messages in queue order; empty if the response had none, or if there was
        no response.

        Raises the error that ends the read.
        """
        try:
            self._send_due()
            pulled, asked = self._received()
        except BrokerError as error:
            if not pull_exchange.is_passing(error):
                raise
            self._start_over(error)
        except (RequestError, RouteError) as error:
            self._start_over(error)
        else:
            return self._advanced(pulled, asked)
        return b""

    def _received(self) -> tuple[Pulled, int]:
        """Return the response for the first window, and the offset that it requested."""
        head, connection = self._windows.head, self._connection
        assert connection is not None, "a request was sent"
        assert head.ticket is not None, "it was due"
        answer = connection.receive(head.ticket)
        pulled = pull_exchange.read(
            answer, connection.address, head.start, is_filtered=self._is_filtered
        )
        return pulled, head.start

    def _send_due(self) -> None:
        due = self._windows.due()
        if due and self._connection is None:
            address, broker_id = self._connections.member(
                self._queue.topic, self._queue.broker_name
            )
            self._connection = self._connections.to(address)
            self._is_master = broker_id == MASTER_ID
        for window in due:
            assert self._connection is not None, "it was made above"
            command = pull_exchange.at(self._fields, window.start, window.end - window.start)
            window.ticket = self._connection.send(command)

    def _advanced(self, pulled: Pulled, asked: int) -> bytes:
        """Advance the read by a response; return its messages."""
        if pulled.found is Found.GONE:
            raise OffsetGoneError(self._queue, asked, pulled.minimum, pulled.maximum)
        if pulled.found in {Found.MESSAGES, Found.NOTHING_MATCHES}:
            self._retry.succeeded()
            self._shortage.succeeded()
            self._windows.answered(pulled.next_offset)
            self._send_ahead()
            return pulled.body
        missing = QueueTruncatedError(self._queue, asked, self._end, pulled.maximum)
        # A slave may be behind its master, so messages that it lacks are not lost.
        is_short = pulled.found is Found.NOT_YET and self._is_master
        self._start_over(missing, self._shortage if is_short else self._retry)
        return b""

    def _send_ahead(self) -> None:
        """Send the next pulls, so that the broker works while the caller does."""
        try:
            self._send_due()
        except (RequestError, RouteError):
            self._abandon_pulls()  # the next step meets the error again, if it persists

    def _start_over(self, error: ClientError, retry: _Retry | None = None) -> None:
        """Fetch the route and all windows again after a pause, or raise the error."""
        self._abandon_pulls()
        self._connections.forget_routes()
        (retry or self._retry).failed(error)

    def _abandon_pulls(self) -> None:
        """Abandon the pulls under way, because their responses would be mistaken for others."""
        connection, self._connection = self._connection, None
        if connection is not None and self._windows.is_waiting:
            connection.close()
        self._windows.restart()


class _Retry:
    """Decides how long an operation is retried, and after which pauses."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._gives_up_at: float | None = None
        self._pause_s = _FIRST_PAUSE_S

    def succeeded(self) -> None:
        self._gives_up_at = None
        self._pause_s = _FIRST_PAUSE_S

    def failed(self, error: ClientError) -> None:
        """Pause, or raise the error if the operation has failed for too long."""
        now = time.monotonic()
        if self._gives_up_at is None:
            self._gives_up_at = now + self._limit_s
        if now >= self._gives_up_at:
            raise error
        time.sleep(min(self._pause_s, self._gives_up_at - now))
        self._pause_s = min(_PAUSE_MAX_S, self._pause_s * 2)


def _lets_all_through(subscription: Subscription) -> bool:
    return subscription.data.sub_string == "*" and not subscription.tags
