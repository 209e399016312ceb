"""Counts what a consumer has done since its start."""

from __future__ import annotations

from typing import final

from gantrymq.client.core.safe_text import text_of


@final
class ConsumeStats:
    """The counters of one consumer. Hot path, hence slotted."""

    __slots__ = ("consumed", "failures", "given_back", "last_error")

    def __init__(self) -> None:
        self.consumed = 0
        """Messages whose outcome was carried out."""
        self.given_back = 0
        self.failures: dict[str, int] = {}
        """How often the listener of each topic raised an exception."""
        self.last_error: str | None = None

    def failed(self, topic: str, error: Exception) -> None:
        self.failures[topic] = self.failures.get(topic, 0) + 1
        self.last_error = text_of(error)
