"""Who waits for the messages of a pull consumer: one task at a time."""

from __future__ import annotations

from typing import final

from gantrymq.client.core.errors import StateError


@final
class OnePoll:
    """`with` it, around the waiting: a poll says that the messages of the last one are done, and
    nobody can say so who has not got them."""

    __slots__ = ("_is_under_way",)

    def __init__(self) -> None:
        self._is_under_way = False

    def __enter__(self) -> None:
        if self._is_under_way:
            raise StateError(
                "another task waits for messages of this consumer already: one task polls, and"
                " hands messages to others (see docs/client.md)"
            )
        self._is_under_way = True

    def __exit__(self, *error: object) -> None:
        self._is_under_way = False
