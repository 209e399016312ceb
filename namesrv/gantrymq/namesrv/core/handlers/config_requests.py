"""Handles requests that read and change KV configuration and the server's settings.

A change is parked until its file is saved; see durable_value.py.
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.configuration.properties import (
    decode_properties,
    format_properties,
    parse_properties,
)
from gantrymq.base.configuration.settings import shown_settings
from gantrymq.base.errors import ConfigurationError
from gantrymq.namesrv.core.config import kvconfig
from gantrymq.namesrv.core.fields import shown, text
from gantrymq.namesrv.core.messages import Outcome, Parked, Request
from gantrymq.namesrv.core.responses import done, refused
from gantrymq.namesrv.core.settings import SETTINGS, refused_keys
from gantrymq.namesrv.core.state import Handler, State
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_table_to_json
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.route import GetKvConfigResponse


def put_kv(state: State, request: Request, now: float) -> Outcome:
    command = request.command
    namespace, key = text(command, "namespace"), text(command, "key")
    if namespace is None or key is None:
        return refused(ResponseCode.SYSTEM_ERROR, "namespace or key is null")
    # In a binary header an empty value cannot be told from a missing one.
    value = text(command, "value") or ""
    if state.kv.waiting >= state.limits.changes_waiting_max:
        return _too_slow(state)
    tables, limits = state.kv.value, state.limits
    item_bytes = kvconfig.namespace_bytes(namespace) + kvconfig.item_bytes(key, value)
    change = kvconfig.put(tables, namespace, key, value, others_wait=state.kv.waiting > 0)
    size = tables.size + change.growth + sum(other.growth for other in state.kv.unsafe())
    if item_bytes > limits.kv_item_bytes_max or size > limits.kv_bytes_max:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"KV configuration holds at most {limits.kv_bytes_max} bytes as JSON, an item at most"
            f" {limits.kv_item_bytes_max}; this item has {item_bytes} and would make it {size};"
            " delete what is not needed",
        )
    exists = key in tables.namespaces.get(namespace, {})
    what = "update config item" if exists else "create new config item"
    hidden = kvconfig.hidden(value)
    state.effects.info(f"putKVConfig {what}, Namespace: {namespace} Key: {key} Value: {hidden}")
    state.kv.change(request, change)
    return Parked()


def get_kv(state: State, request: Request, now: float) -> Outcome:
    namespace, key = text(request.command, "namespace"), text(request.command, "key")
    value = state.namespaces.get(namespace or "", {}).get(key or "")
    if value is not None:
        return done(GetKvConfigResponse(value=value))
    reply = refused(
        ResponseCode.QUERY_NOT_FOUND,
        f"No config item, Namespace: {shown(namespace)} Key: {shown(key)}",
    )
    reply.command.ext = {}
    return reply


def delete_kv(state: State, request: Request, now: float) -> Outcome:
    namespace, key = text(request.command, "namespace"), text(request.command, "key")
    if namespace is None or key is None:
        return done()
    if state.kv.waiting >= state.limits.changes_waiting_max:
        return _too_slow(state)
    value = state.namespaces.get(namespace, {}).get(key)
    if value is None and not state.kv.waiting:
        return done()
    state.effects.info(
        f"deleteKVConfig delete a config item, Namespace: {namespace} Key: {key}"
        f" Value: {kvconfig.hidden(value)}"
    )
    state.kv.change(request, kvconfig.KvChange(namespace, key, None))
    return Parked()


def list_kv(state: State, request: Request, now: float) -> Outcome:
    namespace = text(request.command, "namespace")
    table = state.namespaces.get(namespace or "")
    if table is None:
        return refused(
            ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {shown(namespace)}"
        )
    return done(body=javajson.dumps_fastjson(kv_table_to_json(table)))


def _too_slow(state: State) -> Outcome:
    return refused(
        ResponseCode.SYSTEM_BUSY,
        f"[REJECTREQUEST]{state.kv.waiting} changes wait for the disk; try again later",
    )


def get_settings(state: State, request: Request, now: float) -> Outcome:
    texts = shown_settings(state.settings)
    return done(body=format_properties(dict(sorted(texts.items()))).encode())


def update_settings(state: State, request: Request, now: float) -> Outcome:
    """Apply and save all of the changes, or none."""
    state.effects.info(f"updateConfig called by {request.channel.peer}")
    if len(request.command.body) > state.limits.settings_bytes_max:
        return refused(ResponseCode.SYSTEM_ERROR, "the properties are too long; nothing changed")
    if state.configuration.waiting >= state.limits.changes_waiting_max:
        return _too_slow(state)
    try:
        asked = parse_properties(decode_properties(request.command.body))
    except ConfigurationError as error:
        return refused(ResponseCode.SYSTEM_ERROR, f"nothing was changed: {error}")
    if refused_keys(state.settings).intersection(asked):
        return refused(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
    changes = {key: value.strip() for key, value in asked.items()}
    if faults := SETTINGS.faults(changes):
        return refused(ResponseCode.SYSTEM_ERROR, f"nothing was changed: {'; '.join(faults)}")
    if not changes:
        return done()
    state.configuration.change(request, changes)
    return Parked()


def settings_changed(state: State) -> None:
    """Apply the consequences of new settings, which are in force now."""
    state.routes.forget_digests(list(state.routes.groups))


REQUESTS: Final[dict[int, Handler]] = {
    RequestCode.PUT_KV_CONFIG: put_kv,
    RequestCode.GET_KV_CONFIG: get_kv,
    RequestCode.DELETE_KV_CONFIG: delete_kv,
    RequestCode.GET_KVLIST_BY_NAMESPACE: list_kv,
    RequestCode.UPDATE_NAMESRV_CONFIG: update_settings,
    RequestCode.GET_NAMESRV_CONFIG: get_settings,
}
