"""Parses resources as policies name them: `Topic:Orders`, `Group:orders-*`, `Cluster:*`, `*`.

*             everything
Type:*        everything of one type
Type:head*    names with this prefix; Java and Gantry ignore everything after the first `*`
Type:name     this name only
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final, final

# Java allows topics of 127 and groups of 255 characters; a namespace may precede them.
NAME_CHARACTERS_MAX: Final = 511


class ResourceType(Enum):
    """The type of a resource. Java has Namespace too, which no request needs."""

    ANY = "Any"
    CLUSTER = "Cluster"
    NAMESPACE = "Namespace"
    TOPIC = "Topic"
    GROUP = "Group"


class PatternKind(IntEnum):
    """How specific a pattern is, most specific first."""

    LITERAL = 0
    PREFIXED = 1
    ANY = 2


_TYPES: Final = {each.value.lower(): each for each in ResourceType}


@final
@dataclass(frozen=True, slots=True)
class ResourcePattern:
    """The resources that one policy entry applies to."""

    type: ResourceType
    kind: PatternKind
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> ResourcePattern | None:
        """Parse a pattern; None if the text names no resource."""
        if not text.strip() or len(text) > NAME_CHARACTERS_MAX or not text.isprintable():
            return None
        if text == "*":
            return cls(ResourceType.ANY, PatternKind.ANY)
        head, _, name = text.partition(":")
        found = _TYPES.get(head.lower())
        if found is None:
            return None
        if name == "*":
            return cls(found, PatternKind.ANY)
        if name.endswith("*"):
            return cls(found, PatternKind.PREFIXED, name.partition("*")[0])
        return cls(found, PatternKind.LITERAL, name)

    @property
    def key(self) -> str:
        """The text of which `parse` makes this pattern."""
        if self.type is ResourceType.ANY:
            return "*"
        star = "" if self.kind is PatternKind.LITERAL else "*"
        return f"{self.type.value}:{self.name}{star}"

    @property
    def rank(self) -> tuple[int, int, int]:
        """The sort key of a pattern: smaller means more specific."""
        return int(self.type is ResourceType.ANY), int(self.kind), -len(self.name)

    def matches(self, type_: ResourceType, name: str) -> bool:
        """Whether this resource matches the pattern."""
        if self.type is ResourceType.ANY:
            return True
        if self.type is not type_:
            return False
        if self.kind is PatternKind.LITERAL:
            return name == self.name
        return name.startswith(self.name)
