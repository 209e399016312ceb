"""Provides a logging.Handler that sends log records as messages of a topic.

    producer = blocking.Producer("log-shipper", name_servers="127.0.0.1:9876")
    logging.getLogger().addHandler(LogHandler("app-logs", producer))

The body is the formatted record. Its level is the tag, so `"ERROR || CRITICAL"` is a subscription.
Logger, file, line, process and thread are properties.

Invariant: a program that logs never waits and never fails because of the handler. Records that find
no room are dropped and counted in `dropped`; records that no broker accepted are counted in
`failed`. Records of the client itself are not sent, because sending them would log again. A forked
child has no sending thread and needs a new handler.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol, final

from gantrymq.client.core.message.message import Message

# A few seconds of a busy program, in the memory of a few large messages.
RECORDS_MAX: Final = 10_000
BYTES_MAX: Final = 16 << 20

# A larger record is cut, so that one dump does not displace all other records.
RECORD_BYTES_MAX: Final = 256 << 10
_CUT: Final = " …(cut)".encode()

# The size of one request, well below the 4 MiB that a broker accepts.
BATCH_RECORDS: Final = 256
BATCH_BYTES: Final = 1 << 20

CLOSE_TIMEOUT_S: Final = 5.0

_log: Final = logging.getLogger("gantrymq.client")
_OWN_LOGGER: Final = "gantrymq"
_OWN_THREAD: Final = "gantrymq"


class Sender(Protocol):
    """The methods of a blocking Producer that the handler uses."""

    def start(self) -> None: ...

    def send_batch(self, messages: Sequence[Message]) -> object: ...

    def close(self) -> None: ...


@final
class LogHandler(logging.Handler):
    """Sends log records. It owns a thread and the producer, which it starts and closes."""

    def __init__(
        self,
        topic: str,
        sender: Sender,
        *,
        level: int = logging.NOTSET,
        records_max: int = RECORDS_MAX,
        bytes_max: int = BYTES_MAX,
        close_timeout_s: float = CLOSE_TIMEOUT_S,
    ) -> None:
        """`sender` is a `blocking.Producer` that is not started yet."""
        super().__init__(level)
        self.dropped = 0
        """Number of records for which there was no room, or no time before the close."""
        self.failed = 0
        """Number of records that no broker accepted."""
        self._topic = Message(topic, b"").topic  # an invalid name is refused here
        self._sender = sender
        self._records_max = records_max
        self._bytes_max = bytes_max
        self._close_timeout_s = close_timeout_s
        self._waiting: deque[Message] = deque()
        self._bytes = 0
        self._is_sending = False
        self._is_closed = False
        self._changed = threading.Condition()
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="gantrymq-log", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------------ logging

    def emit(self, record: logging.LogRecord) -> None:
        if self._is_own(record):
            return
        if self._pid != os.getpid():  # a forked child has no thread, and its lock may be held
            self.dropped += 1
            return
        try:
            message = self._message(record)
        except Exception:  # the record cannot be formatted: handled as `logging` does
            self.handleError(record)
            return
        with self._changed:
            size = len(message.body)
            is_full = len(self._waiting) >= self._records_max or (
                self._bytes + size > self._bytes_max
            )
            if is_full or self._is_closed:
                self.dropped += 1
                return
            self._waiting.append(message)
            self._bytes += size
            self._changed.notify_all()

    def _is_own(self, record: logging.LogRecord) -> bool:
        return (
            record.name.partition(".")[0] == _OWN_LOGGER
            or record.threadName == _OWN_THREAD
            or record.thread == self._thread.ident
        )

    def _message(self, record: logging.LogRecord) -> Message:
        body = self.format(record).encode("utf-8", "replace")
        if len(body) > RECORD_BYTES_MAX:
            body = body[: RECORD_BYTES_MAX - len(_CUT)] + _CUT
        properties = {
            "logger": record.name,
            "file": f"{record.pathname}:{record.lineno}",
            "process": str(record.process),
            "thread": str(record.threadName),
        }
        known = {name: value.replace("\x02", " ") for name, value in properties.items()}
        return Message(self._topic, body, tag=record.levelname, properties=known)

    # ------------------------------------------------------------------ flush and close

    def flush(self) -> None:
        """Wait until all records are sent, at most `close_timeout_s`."""
        if self._pid == os.getpid():
            self._drain()

    def _drain(self) -> None:
        end = time.monotonic() + self._close_timeout_s
        with self._changed:
            while self._waiting or self._is_sending:
                left_s = end - time.monotonic()
                if left_s <= 0 or not self._thread.is_alive():
                    return
                self._changed.wait(left_s)

    def close(self) -> None:
        """Send the waiting records for at most `close_timeout_s`, and drop the rest."""
        if self._pid == os.getpid():
            if not self._is_closed:
                self._drain()
                self._take_no_more()
            self._thread.join(self._close_timeout_s)
        super().close()

    # ------------------------------------------------------------------ the sending thread

    def _run(self) -> None:
        try:
            self._sender.start()
        except Exception as error:  # any error: a producer can be started only once
            _log.error("log handler dropped its records handler=%s error=%s", self, error)
            self._take_no_more()
            return
        try:
            while (batch := self._next()) is not None:
                self._send(batch)
        finally:
            self._sender.close()

    def _take_no_more(self) -> None:
        with self._changed:
            self._is_closed = True
            self.dropped += len(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()

    def _next(self) -> list[Message] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            if not self._waiting:
                return None
            batch: list[Message] = []
            size = 0
            while self._waiting and len(batch) < BATCH_RECORDS and size < BATCH_BYTES:
                message = self._waiting.popleft()
                size += len(message.body)
                batch.append(message)
            self._bytes -= size
            self._is_sending = True
            return batch

    def _send(self, batch: list[Message]) -> None:
        try:
            self._sender.send_batch(batch)
        except Exception:  # any error: it is counted, and the next batch is tried
            self.failed += len(batch)
        finally:
            with self._changed:
                self._is_sending = False
                self._changed.notify_all()
