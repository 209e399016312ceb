"""Manages KV configuration, namespace -> key -> value, and its changes.

Values in the namespace ORDER_TOPIC_CONFIG say how many queues an ordered topic has on which
brokers. Tables are immutable: changes make new ones. A namespace stays when its last key is
deleted.

Sizes are those of the encoded text, as in the file and in responses: one control character takes
six bytes there. They are stored with the tables, so that a put need not count everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gantrymq.wire import javajson

ORDER_TOPIC_CONFIG: Final = "ORDER_TOPIC_CONFIG"

Namespaces = Mapping[str, Mapping[str, str]]

# The bytes of the enclosing object: {"configTable":{...}}.
_FRAME_BYTES: Final = 18


@dataclass(frozen=True, slots=True)
class KvTables:
    """The namespaces, and the size of their encoded text, which counts a few commas too many."""

    namespaces: Namespaces
    size: int

    @staticmethod
    def of(namespaces: Namespaces) -> KvTables:
        size = _FRAME_BYTES
        for namespace, table in namespaces.items():
            size += namespace_bytes(namespace)
            size += sum(item_bytes(key, value) for key, value in table.items())
        return KvTables(namespaces, size)


@dataclass(frozen=True, slots=True)
class KvChange:
    """One put, or a delete if the value is None; `growth` is the most it may add to the size."""

    namespace: str
    key: str
    value: str | None
    growth: int = 0


def changed(tables: KvTables, changes: Iterable[KvChange]) -> KvTables:
    """The tables after these changes, in order; copies each namespace at most once."""
    size = tables.size
    namespaces: dict[str, Mapping[str, str]] = dict(tables.namespaces)
    copies: dict[str, dict[str, str]] = {}
    for change in changes:
        name, key, value = change.namespace, change.key, change.value
        if name not in namespaces:
            if value is None:
                continue
            size += namespace_bytes(name)
        if name not in copies:
            namespaces[name] = copies[name] = dict(namespaces.get(name, {}))
        table = copies[name]
        old = table.pop(key, None) if value is None else table.get(key)
        if old is not None:
            size -= item_bytes(key, old)
        if value is not None:
            table[key] = value
            size += item_bytes(key, value)
    return KvTables(namespaces, size)


def put(tables: KvTables, namespace: str, key: str, value: str, *, others_wait: bool) -> KvChange:
    """The change that a put makes.

    If other changes wait, it is unknown what the put replaces, so its growth is its whole size.
    """
    added = item_bytes(key, value)
    table = tables.namespaces.get(namespace)
    if table is None:
        added += namespace_bytes(namespace)
    elif key in table and not others_wait:
        added = max(0, added - item_bytes(key, table[key]))
    return KvChange(namespace, key, value, added)


def namespace_bytes(namespace: str) -> int:
    """The size of `"namespace":{},`."""
    return _quoted_bytes(namespace) + 4


def item_bytes(key: str, value: str) -> int:
    """The size of `"key":"value",`."""
    return _quoted_bytes(key) + _quoted_bytes(value) + 2


def _quoted_bytes(text: str) -> int:
    return len(javajson.dumps_fastjson(text))


def lines(namespaces: Namespaces) -> Iterator[str]:
    """The lines that are logged every ten minutes, with Java's texts except for the values."""
    yield "--------------------------------------------------------"
    yield f"configTable SIZE: {len(namespaces)}"
    for namespace, table in namespaces.items():
        for key, value in table.items():
            yield f"configTable NS: {namespace} Key: {key} Value: {hidden(value)}"


def hidden(value: str | None) -> str:
    """A value as a log may show it: only its length, because it may be a password."""
    return "null" if value is None else f"({len(value)} characters)"
