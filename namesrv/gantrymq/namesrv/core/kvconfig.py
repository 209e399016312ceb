"""KV configuration: namespace -> key -> value, and the changes of it.

Values of the namespace ORDER_TOPIC_CONFIG say on which brokers an ordered topic has how many
queues. Tables are values: a change makes a new one. A namespace stays when its last key goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

ORDER_TOPIC_CONFIG: Final = "ORDER_TOPIC_CONFIG"

Namespaces = Mapping[str, Mapping[str, str]]


def put(namespaces: Namespaces, namespace: str, key: str, value: str) -> Namespaces:
    return {**namespaces, namespace: {**namespaces.get(namespace, {}), key: value}}


def delete(namespaces: Namespaces, namespace: str, key: str) -> Namespaces:
    table = namespaces.get(namespace)
    if table is None or key not in table:
        return namespaces
    return {**namespaces, namespace: {name: text for name, text in table.items() if name != key}}


def size(namespaces: Namespaces) -> int:
    """UTF-8 bytes of all names and values."""
    return sum(
        len(namespace.encode()) + sum(len(k.encode()) + len(v.encode()) for k, v in table.items())
        for namespace, table in namespaces.items()
    )


def lines(namespaces: Namespaces) -> Iterator[str]:
    """What is logged every ten minutes, in Java's words."""
    yield "--------------------------------------------------------"
    yield f"configTable SIZE: {len(namespaces)}"
    for namespace, table in namespaces.items():
        for key, value in table.items():
            yield f"configTable NS: {namespace} Key: {key} Value: {value}"
