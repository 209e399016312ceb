"""Defines tables of texts: KVTable, and the name server's file of them.

KVTable       {"table":{"key":"value"}}                      responses, runtime information
kvConfig.json {"configTable":{"namespace":{"key":"value"}}}  the name server's file
"""

from __future__ import annotations

from collections.abc import Mapping

from gantrymq.wire.jsonvalue import Json, JsonObject, object_of, text_key, text_map_field


def kv_table_to_json(table: Mapping[str, str]) -> JsonObject:
    return {"table": _table(table)}


def kv_table_from_json(value: Json) -> dict[str, str]:
    return text_map_field(object_of(value, "KVTable"), "table")


def kv_config_to_json(namespaces: Mapping[str, Mapping[str, str]]) -> JsonObject:
    return {"configTable": {name: _table(table) for name, table in namespaces.items()}}


def kv_config_from_json(value: Json) -> dict[str, dict[str, str]]:
    """The namespaces of a kvConfig.json; an empty namespace is kept, as in Java."""
    root = object_of({} if value is None else value, "kvConfig")
    tables = object_of(root.get("configTable") or {}, "configTable")
    return {
        text_key(name, "configTable"): text_map_field({"configTable": table}, "configTable")
        for name, table in tables.items()
    }


def _table(table: Mapping[str, str]) -> JsonObject:
    members: JsonObject = {}
    members.update(table)
    return members
