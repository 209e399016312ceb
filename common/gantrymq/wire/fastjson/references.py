"""Replaces the references of fastjson's JSON by the values that they refer to.

`{"$ref":"$.a.b[0]"}` stands for the value at that path; `resolve_references` replaces it by the
value itself, so one object may occur twice. A reference to a path that does not exist is null. A
reference used as a key is kept: its path does not say which key is meant.

Invariant: the work for references is bounded by _STEPS_MAX. The result is finite: no value contains
itself, and written in full it is no larger than the caller allows.
"""

from __future__ import annotations

import re
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.wire.fastjson.tolerant_reader import DEPTH_MAX, NODES
from gantrymq.wire.jsonvalue import Json

# References may lead to references; a cycle of them is null.
_HOPS_MAX: Final = 16

# References to references can multiply; Java's documents have a handful, of a few steps each.
_STEPS_MAX: Final = 100_000

_PATH_STEP: Final = re.compile(r"\.((?:\\.|[^.\[\\])+)|\[([0-9]{1,10})\]")


def resolve_references(root: Json, values_max: int) -> Json:
    """Replace each `{"$ref":path}` in the document by the value it refers to, in place.

    Written in full the result has at most `values_max` values. A value that contains itself is
    refused.
    """
    _Resolver(root).resolve_inside(root)
    values, _ = _extent(root, 0, {})
    if values > values_max:
        raise RemoteError(f"JSON references make more than {values_max} values of it")
    return root


def _extent(node: Json, depth: int, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """The numbers of values and levels of a value written in full; visits each object once."""
    if not isinstance(node, NODES):
        return 1, 0
    extent = known.get(id(node))
    if extent is None:
        if depth == DEPTH_MAX:
            raise RemoteError(f"JSON nested deeper than {DEPTH_MAX} levels, or inside itself")
        children = node.values() if isinstance(node, dict) else node
        extents = [_extent(child, depth + 1, known) for child in children]
        values = 1 + sum(values for values, _ in extents)
        levels = 1 + max((levels for _, levels in extents), default=0)
        extent = known[id(node)] = (values, levels)
    if depth + extent[1] > DEPTH_MAX:
        raise RemoteError(f"JSON nested deeper than {DEPTH_MAX} levels, or inside itself")
    return extent


@final
class _Resolver:
    __slots__ = ("_root", "_steps")

    def __init__(self, root: Json) -> None:
        self._root = root
        self._steps = 0

    def resolve_inside(self, node: Json) -> None:
        if isinstance(node, dict):
            for key, child in node.items():
                node[key] = self._resolved(child)
        elif isinstance(node, list):
            for index, child in enumerate(node):
                node[index] = self._resolved(child)

    def _resolved(self, child: Json) -> Json:
        path = _reference(child)
        if path is not None:
            return self._target(path, 0)
        self.resolve_inside(child)
        return child

    def _target(self, path: str, hops: int) -> Json:
        if not path.startswith("$") or hops > _HOPS_MAX:
            return None
        node, position = self._root, 1
        while position < len(path):
            step = _PATH_STEP.match(path, position)
            if step is None:
                return None
            self._steps += 1
            if self._steps > _STEPS_MAX:
                raise RemoteError(f"JSON references take more than {_STEPS_MAX} steps")
            node = _child(node, step)
            onward = _reference(node)
            if onward is not None:
                node = self._target(onward, hops + 1)
            position = step.end()
        return node


def _reference(value: Json) -> str | None:
    if isinstance(value, dict) and len(value) == 1:
        path = value.get("$ref")
        return path if isinstance(path, str) else None
    return None


def _child(node: Json, step: re.Match[str]) -> Json:
    name, index = step.groups()
    if index is not None:
        number = int(index)
        if isinstance(node, list):
            return node[number] if number < len(node) else None
        return node.get(number, node.get(index)) if isinstance(node, dict) else None
    return node.get(re.sub(r"\\(.)", r"\1", name)) if isinstance(node, dict) else None
