"""A logging.Handler whose records become messages of a topic.

    producer = blocking.Producer("log-shipper", name_servers="127.0.0.1:9876")
    logging.getLogger().addHandler(LogHandler("app-logs", producer))

The body is the formatted record; its level is the tag, so that `"ERROR || CRITICAL"` is a
subscription; logger, file, line, process and thread are properties.

Invariant: whoever logs never waits and never fails because of it: records that find no room are
dropped, and counted in `dropped`; those that no broker took are counted in `failed`. What the
client itself logs is not sent, for that would never end. A child of a fork has no thread: a handler
of its own sends its records.
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

# Some seconds of a busy program, and no more memory than that of a few large messages.
RECORDS_MAX: Final = 10_000
BYTES_MAX: Final = 16 << 20

# A record of more is cut: a dump that somebody logged must not push out all others.
RECORD_BYTES_MAX: Final = 256 << 10
_CUT: Final = " …(cut)".encode()

# One request: as many as a broker takes well within its 4 MiB.
BATCH_RECORDS: Final = 256
BATCH_BYTES: Final = 1 << 20

CLOSE_TIMEOUT_S: Final = 5.0

_log: Final = logging.getLogger("gantrymq.client")
_OWN_LOGGER: Final = "gantrymq"
_OWN_THREAD: Final = "gantrymq"


class Sender(Protocol):
    """What is used of a blocking Producer."""

    def start(self) -> None: ...

    def send_batch(self, messages: Sequence[Message]) -> object: ...

    def close(self) -> None: ...


@final
class LogHandler(logging.Handler):
    """Owner of a thread, and of the producer, which it starts and closes."""

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
        """`sender`: a `blocking.Producer` that is not started yet."""
        super().__init__(level)
        self.dropped = 0
        """Records for which there was no room, or no more time."""
        self.failed = 0
        """Records that no broker took."""
        self._topic = Message(topic, b"").topic  # a name that cannot be is refused here
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

    # ------------------------------------------------------------------ for whoever logs

    def emit(self, record: logging.LogRecord) -> None:
        if self._is_own(record):
            return
        if self._pid != os.getpid():  # a fork took the lock as it was, and left the thread behind
            self.dropped += 1
            return
        try:
            message = self._message(record)
        except Exception:  # a record that cannot be formatted, as logging has it
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

    # ------------------------------------------------------------------ the end

    def flush(self) -> None:
        """Until all is sent, or `close_timeout_s` have passed."""
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
        """Send what there is, as long as `close_timeout_s` allow; what is left is dropped."""
        if self._pid == os.getpid():
            if not self._is_closed:
                self._drain()
                self._take_no_more()
            self._thread.join(self._close_timeout_s)
        super().close()

    # ------------------------------------------------------------------ its thread

    def _run(self) -> None:
        try:
            self._sender.start()
        except Exception as error:  # whatever it was: a producer is started once, brokers or not
            _log.error("records of %s are dropped: their producer did not start: %s", self, error)
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
        except Exception:  # whatever it was: it is counted, and the next batch is tried
            self.failed += len(batch)
        finally:
            with self._changed:
                self._is_sending = False
                self._changed.notify_all()
