"""KV configuration: namespace -> key -> value, and the changes of it.

Values of the namespace ORDER_TOPIC_CONFIG say on which brokers an ordered topic has how many
queues. Tables are values: changes make new ones. A namespace stays when its last key goes.

Sizes are those of the encoded text, as the file and the answers hold it: one control character
takes six bytes there. They are kept along with the tables, so that a put need not count it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gantrymq.wire import javajson

ORDER_TOPIC_CONFIG: Final = "ORDER_TOPIC_CONFIG"

Namespaces = Mapping[str, Mapping[str, str]]

# The braces around all of it: {"configTable":{...}}.
_FRAME_BYTES: Final = 18


@dataclass(frozen=True, slots=True)
class KvTables:
    """The namespaces, and the bytes of their encoded text, at most a comma for each more."""

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
    """One put, or a delete when the value is None; `growth` is what it may add to the size."""

    namespace: str
    key: str
    value: str | None
    growth: int = 0


def changed(tables: KvTables, changes: Iterable[KvChange]) -> KvTables:
    """The tables after these changes, in their order; each namespace is copied once at most."""
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
    """The change that a put makes. Behind changes that wait nothing is sure of what it replaces,
    so it may add its whole size."""
    added = item_bytes(key, value)
    table = tables.namespaces.get(namespace)
    if table is None:
        added += namespace_bytes(namespace)
    elif key in table and not others_wait:
        added = max(0, added - item_bytes(key, table[key]))
    return KvChange(namespace, key, value, added)


def namespace_bytes(namespace: str) -> int:
    """`"namespace":{},`"""
    return _quoted_bytes(namespace) + 4


def item_bytes(key: str, value: str) -> int:
    """`"key":"value",`"""
    return _quoted_bytes(key) + _quoted_bytes(value) + 2


def _quoted_bytes(text: str) -> int:
    return len(javajson.dumps_fastjson(text))


def lines(namespaces: Namespaces) -> Iterator[str]:
    """What is logged every ten minutes, in Java's words but for the values."""
    yield "--------------------------------------------------------"
    yield f"configTable SIZE: {len(namespaces)}"
    for namespace, table in namespaces.items():
        for key, value in table.items():
            yield f"configTable NS: {namespace} Key: {key} Value: {hidden(value)}"


def hidden(value: str | None) -> str:
    """A value as a log may show it: its length, for it may be a password."""
    return "null" if value is None else f"({len(value)} characters)"
