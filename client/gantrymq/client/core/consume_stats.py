"""What a consumer did, counted since its start."""

from __future__ import annotations

from typing import final

from gantrymq.client.core.safe_text import text_of


@final
class ConsumeStats:
    """Hot, hence slotted."""

    __slots__ = ("consumed", "failures", "given_back", "last_error")

    def __init__(self) -> None:
        self.consumed = 0
        """Messages whose outcome was carried out."""
        self.given_back = 0
        self.failures: dict[str, int] = {}
        """By topic, how often its listener raised something."""
        self.last_error: str | None = None

    def failed(self, topic: str, error: Exception) -> None:
        self.failures[topic] = self.failures.get(topic, 0) + 1
        self.last_error = text_of(error)
