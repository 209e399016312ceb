"""Counts the outcomes of sends, and reports failures by message number.

Invariant: the memory does not grow with the number of messages. Consecutive messages that fail for
the same reason are reported in one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import final

from gantrymq.base.errors import GantryError
from gantrymq.client.aio.machinery.sending import Sending
from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.message.results import SendResult, SendStatus


@final
class OutcomeLedger:
    """The outcomes of one producer's messages, which are numbered from 1."""

    def __init__(self, say: Callable[[str], None], rows_max: int) -> None:
        """`say` receives the lines about failures. The results of `rows_max` messages are kept."""
        self.sent = 0
        self.failed = 0
        self.bytes = 0
        self.has_broken = False
        """Whether a send failed for a reason that lies not in its message, so that later messages
        would fail as well."""
        self.rows: list[tuple[int, SendResult]] = []
        self._say = say
        self._rows_max = rows_max
        self._unsafe: Counter[SendStatus] = Counter()
        self._first = self._last = 0
        self._why = ""

    @property
    def settled(self) -> int:
        return self.sent + self.failed

    def settle(self, number: int, size: int, sending: Sending) -> None:
        """Count the outcome of one send. Hot: called for every message."""
        try:
            result = sending.result()
        except GantryError as error:
            self.fail(number, error)
            return
        self.sent += 1
        self.bytes += size
        if result.status is not SendStatus.SEND_OK:
            self._unsafe[result.status] += 1
        if len(self.rows) < self._rows_max:
            self.rows.append((number, result))

    def fail(self, number: int, error: GantryError) -> None:
        self.failed += 1
        self.has_broken |= not isinstance(error, MessageError)
        why = str(error)
        if number != self._last + 1 or why != self._why:
            self.tell()
            self._first, self._why = number, why
        self._last = number

    def tell(self) -> None:
        """Report the last failures, which are held back to join later ones to them."""
        if self._why:
            which = f"{self._first}"
            if self._last > self._first:
                which += f" to {self._last}"
            self._say(f"message {which}: {self._why}")
        self._why = ""

    def unsafe(self) -> dict[str, int]:
        """Count the messages that brokers stored with a weaker guarantee, by their send status."""
        return {status.name: count for status, count in self._unsafe.items()}
