"""Defines scenarios: a feature, what a client needs for it, and how it is played.

A scenario is the same for every client and every broker: the result with Apache's broker is right
by definition, and Gantry's broker must give the same.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gantrymq.interop.clients.stage import Delivery, Message, Stage


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the table of clients and features."""

    feature: str
    needs: frozenset[str]
    play: Callable[[Stage], None]


class Rows(list[Scenario]):
    """Scenarios in the table's order."""

    def add(
        self, feature: str, *needs: str
    ) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
        """Add a function; `needs` are features that some client libraries lack."""

        def enter(play: Callable[[Stage], None]) -> Callable[[Stage], None]:
            self.append(Scenario(feature, frozenset(needs), play))
            return play

        return enter


def numbered(topic: str, count: int) -> list[Message]:
    """Messages with different bodies."""
    return [Message(topic, f"{topic}/{n}") for n in range(count)]


def bodies(messages: Iterable[Message | Delivery]) -> list[str]:
    """The bodies of messages."""
    return [each.body for each in messages]
