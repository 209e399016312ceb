"""Resources as policies name them: `Topic:Orders`, `Group:orders-*`, `Cluster:*`, `*`.

*             everything
Type:*        everything of one type
Type:head*    what begins so; Java and Gantry ignore all behind the first `*`
Type:name     this one alone
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final, final

# Java takes topics of 127 and groups of 255 characters; a namespace may stand before them.
NAME_CHARACTERS_MAX: Final = 511


class ResourceType(Enum):
    """What kind of thing a resource is. Java has Namespace, and no request needs one."""

    ANY = "Any"
    CLUSTER = "Cluster"
    NAMESPACE = "Namespace"
    TOPIC = "Topic"
    GROUP = "Group"


class PatternKind(IntEnum):
    """How closely a pattern says what it means, closest first."""

    LITERAL = 0
    PREFIXED = 1
    ANY = 2


_TYPES: Final = {each.value.lower(): each for each in ResourceType}


@final
@dataclass(frozen=True, slots=True)
class ResourcePattern:
    """The resources that one policy entry is about."""

    type: ResourceType
    kind: PatternKind
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> ResourcePattern | None:
        """None where the text names no resource."""
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
        """The text that `parse` makes this pattern of."""
        if self.type is ResourceType.ANY:
            return "*"
        star = "" if self.kind is PatternKind.LITERAL else "*"
        return f"{self.type.value}:{self.name}{star}"

    @property
    def rank(self) -> tuple[int, int, int]:
        """Smaller where it says more closely what it means."""
        return int(self.type is ResourceType.ANY), int(self.kind), -len(self.name)

    def matches(self, type_: ResourceType, name: str) -> bool:
        """Whether this resource is meant."""
        if self.type is ResourceType.ANY:
            return True
        if self.type is not type_:
            return False
        if self.kind is PatternKind.LITERAL:
            return name == self.name
        return name.startswith(self.name)
