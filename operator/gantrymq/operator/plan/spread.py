"""Chooses a master for each group so that masters are spread over nodes.

The assignment minimizes the largest number of masters on one node. Among those with the minimum, it
keeps each group's first choice if possible; a group moves only to make room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """The members of a group that may be its master."""

    group: str
    nodes: Mapping[int, str]
    """The node of each such member; the first choice comes first."""
    is_fixed: bool = False
    """Whether the first choice is the user's, which always stays."""


def spread(choices: Sequence[Choice]) -> dict[str, int]:
    """Return the master of each group that has a choice."""
    possible = [choice for choice in choices if choice.nodes]
    for limit in range(1, len(possible) + 1):
        assignment = _Assignment(possible, limit)
        if assignment.is_complete:
            return assignment.masters
    return {}


def next_move(choices: Sequence[Choice], masters: Mapping[str, int]) -> tuple[str, int] | None:
    """Return the next group to move, and its new master; None if no move reduces the maximum.

    A chain of moves leads from a node with most masters to one that has room, and the last move of
    the shortest chain comes first. Each such move makes the shortest chain shorter, or takes a
    master off a node with most, so the moves end whatever other moves happen in between.
    """
    at_work = {
        choice.group: choice.nodes[masters[choice.group]]
        for choice in choices
        if masters.get(choice.group) in choice.nodes
    }
    counts = Counter(at_work.values())
    most = max(counts.values(), default=0)
    movable = [each for each in choices if each.group in at_work and not each.is_fixed]
    nodes = [node for node, count in counts.items() if count == most]
    seen = set(nodes)
    while nodes:
        reached: list[str] = []
        for choice in movable:
            if at_work[choice.group] not in nodes:
                continue
            for member, node in choice.nodes.items():
                if counts[node] <= most - 2:
                    return choice.group, member
                if node not in seen:
                    seen.add(node)
                    reached.append(node)
        nodes = reached
    return None


def largest_share(masters: Mapping[str, str]) -> int:
    """Return the largest number of masters on one node; `masters` has the node of each group."""
    return max(Counter(masters.values()).values(), default=0)


@final
class _Assignment:
    """One attempt with at most `limit` masters on a node, by augmenting paths as in bipartite
    matching."""

    def __init__(self, choices: Sequence[Choice], limit: int) -> None:
        self.masters: dict[str, int] = {}
        self._limit = limit
        self._choices = {choice.group: choice for choice in choices}
        self._on_node: dict[str, list[str]] = {}
        for choice in choices:
            if choice.is_fixed:
                self._put(choice, next(iter(choice.nodes)))
        free = [choice for choice in choices if not choice.is_fixed]
        left = [choice for choice in free if not self._put_first(choice)]
        self.is_complete = all(self._make_room(choice, set()) for choice in left)

    def _put(self, choice: Choice, member: int) -> None:
        self.masters[choice.group] = member
        self._on_node.setdefault(choice.nodes[member], []).append(choice.group)

    def _put_first(self, choice: Choice) -> bool:
        member, node = next(iter(choice.nodes.items()))
        if len(self._on_node.get(node, [])) >= self._limit:
            return False
        self._put(choice, member)
        return True

    def _make_room(self, choice: Choice, visited: set[str]) -> bool:
        for member, node in choice.nodes.items():
            if node in visited:
                continue
            visited.add(node)
            there = self._on_node.get(node, [])
            if len(there) < self._limit:
                self._put(choice, member)
                return True
            for other in [self._choices[group] for group in there]:
                if not other.is_fixed and self._make_room(other, visited):
                    there.remove(other.group)
                    self._put(choice, member)
                    return True
        return False
