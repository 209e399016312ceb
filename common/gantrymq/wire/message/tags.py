"""Computes the tags code in consume queues, and parses filters such as `TagA || TagB`.

An entry of a consume queue holds the tag's Java hash, sign-extended to 64 bits, 0 without a tag; a
filter compares the low 32 bits. Hashes collide, so an exact filter compares the tag itself too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.wire import java_string

ALL: Final = "*"
SEPARATOR: Final = "||"

# Java's String.trim removes all characters up to and including the space.
TRIMMED: Final = "".join(map(chr, range(0x21)))


def tags_code(tags: str | None) -> int:
    return java_string.hash_code(tags) if tags else 0


@dataclass(frozen=True, slots=True)
class TagFilter:
    """A parsed expression. `*` has no tags and matches all; other filters match their codes only.

    `tags` has each tag once, in the order of the expression.
    """

    expression: str
    tags: tuple[str, ...]
    codes: frozenset[int]

    def matches(self, code: int) -> bool:
        """Whether an entry with this tags code may match."""
        if self.expression == ALL:
            return True
        return ((code + 0x80000000) & 0xFFFFFFFF) - 0x80000000 in self.codes


def parse(expression: str | None) -> TagFilter:
    """Parse a filter: none and `*` mean all; otherwise tags between `||`, trimmed, without empty
    ones."""
    if not expression or expression == ALL:
        return TagFilter(ALL, (), frozenset())
    parts = expression.split(SEPARATOR)
    if not any(parts):
        raise RemoteError(f"subscription {expression!r} names no tag; write `TagA || TagB` or `*`")
    trimmed = [part.strip(TRIMMED) for part in parts]
    tags = tuple(dict.fromkeys([tag for tag in trimmed if tag]))
    return TagFilter(expression, tags, frozenset([java_string.hash_code(tag) for tag in tags]))
