"""Reads YAML into plain values: texts, lists and mappings.

Texts are not interpreted: `secretKey: 0123` is those four characters. Aliases, by which a small
file becomes a huge value, are refused, and so are files that are deeper or longer than any valid
file of accounts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import yaml
from yaml.events import (
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from gantrymq.base.errors import ConfigurationError

# Enough for 5000 accounts with a dozen rights each.
YAML_BYTES_MAX: Final = 1 << 20

# An account's rights are three levels deep.
DEPTH_MAX: Final = 8

Tree: TypeAlias = "str | list[Tree] | dict[str, Tree] | None"

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})

# The loader written in C, if there is one, is ten times faster.
_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def read(content: bytes) -> Tree:
    """Parse the only document of the file; ConfigurationError says what is wrong, and where."""
    if len(content) > YAML_BYTES_MAX:
        raise ConfigurationError(f"{len(content)} bytes, at most {YAML_BYTES_MAX} are read")
    try:
        events = iter(yaml.parse(content.decode("utf-8-sig"), Loader=_LOADER))
        next(events)  # the stream's begin
        if isinstance(next(events), StreamEndEvent):
            return None
        tree = _node(events, next(events), 1)
        next(events)  # the document's end
        if not isinstance(next(events), StreamEndEvent):
            raise ConfigurationError("more than one document")
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(" ".join(str(error).split())) from error
    return tree


def _node(events: Iterator[Event], event: Event, depth: int) -> Tree:
    if depth > DEPTH_MAX:
        raise _unexpected(event, f"deeper than {DEPTH_MAX} levels")
    if isinstance(event, ScalarEvent):
        value: str = event.value
        return None if not event.style and value in _NULLS else value
    if isinstance(event, SequenceStartEvent):
        items: list[Tree] = []
        while not isinstance(event := next(events), SequenceEndEvent):
            items.append(_node(events, event, depth + 1))
        return items
    if isinstance(event, MappingStartEvent):
        mapping: dict[str, Tree] = {}
        while not isinstance(event := next(events), MappingEndEvent):
            if not isinstance(event, ScalarEvent):
                raise _unexpected(event, "a key that is no text")
            mapping[event.value] = _node(events, next(events), depth + 1)
        return mapping
    raise _unexpected(event, "an alias (*name): write the value itself")


def _unexpected(event: Event, what: str) -> ConfigurationError:
    mark = event.start_mark
    assert mark is not None, "events of a text have places"
    return ConfigurationError(f"line {mark.line + 1}: {what}")
