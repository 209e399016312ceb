"""What a scenario is: a feature, what a client needs for it, and how it is played.

A scenario is the same for every client and every broker: what a broker of Apache's makes of it is
right by definition, and ours must make the same of it.
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
        """Enter a function; `needs` are means that not every client library has."""

        def enter(play: Callable[[Stage], None]) -> Callable[[Stage], None]:
            self.append(Scenario(feature, frozenset(needs), play))
            return play

        return enter


def numbered(topic: str, count: int) -> list[Message]:
    """Messages that tell each other apart."""
    return [Message(topic, f"{topic}/{n}") for n in range(count)]


def bodies(messages: Iterable[Message | Delivery]) -> list[str]:
    """What they say."""
    return [each.body for each in messages]
