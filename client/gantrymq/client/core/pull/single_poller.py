"""Ensures that only one task at a time polls a pull consumer."""

from __future__ import annotations

from typing import final

from gantrymq.client.core.errors import StateError


@final
class SinglePoller:
    """Context manager around a poll. A poll marks the messages of the previous poll as consumed, so
    a second task must not poll before the first one has received its messages."""

    __slots__ = ("_is_under_way",)

    def __init__(self) -> None:
        self._is_under_way = False

    def __enter__(self) -> None:
        if self._is_under_way:
            raise StateError(
                "another task waits for messages of this consumer already: one task polls, and"
                " hands messages to others (see docs/reference/python-client.md)"
            )
        self._is_under_way = True

    def __exit__(self, *error: object) -> None:
        self._is_under_way = False
