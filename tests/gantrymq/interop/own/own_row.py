"""Defines a scenario of Gantry's client: the feature, its needs of a broker, and the code.

Every broker that has what it needs must make the same of it: Java's is right by definition.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.own.own_stage import OwnStage

Play: TypeAlias = Callable[[OwnStage], Awaitable[None]]

# What brokers lack that a scenario may need -> why.
LACKS: Final[dict[BrokerKind, dict[str, str]]] = {
    BrokerKind.GANTRY: {},
    BrokerKind.JAVA: {},
    BrokerKind.JAVA_4: dict.fromkeys(("pop", "timers"), "it came with 5.x"),
}


@dataclass(frozen=True, slots=True)
class OwnRow:
    """One scenario, which is one row of the table in the documentation."""

    feature: str
    needs: frozenset[str]
    play: Play

    def why_not(self, kind: BrokerKind) -> str | None:
        """Return what that broker lacks; None if the scenario can be played there."""
        lacks = LACKS[kind]
        return next((lacks[need] for need in sorted(self.needs) if need in lacks), None)


class OwnRows(list[OwnRow]):
    """The scenarios, in the order of the table."""

    def add(self, feature: str, *needs: str) -> Callable[[Play], Play]:
        """Add a function as a scenario; `needs` names features that some brokers lack."""

        def enter(play: Play) -> Play:
            self.append(OwnRow(feature, frozenset(needs), play))
            return play

        return enter
