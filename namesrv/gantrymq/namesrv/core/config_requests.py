"""KV configuration and the server's own settings: reading them, and changing them safely.

A change is parked until its file is safe; see safekeeping.py.
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.base.properties import (
    decode_properties,
    format_properties,
    parse_properties,
)
from gantrymq.base.settings import Layer, Source, bind, setting_fields, settings_to_text
from gantrymq.namesrv.core import kvconfig
from gantrymq.namesrv.core.fields import shown, text
from gantrymq.namesrv.core.messages import Outcome, Parked, Request
from gantrymq.namesrv.core.responses import done, refused
from gantrymq.namesrv.core.settings import NameServerSettings, refused_keys, waiting_for_restart
from gantrymq.namesrv.core.state import Configuration, Handler, State
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_table_to_json
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.route import GetKvConfigResponse


def put_kv(state: State, request: Request, now: float) -> Outcome:
    command = request.command
    namespace, key = text(command, "namespace"), text(command, "key")
    if namespace is None or key is None:
        return refused(ResponseCode.SYSTEM_ERROR, "namespace or key is null")
    # In a binary header an empty value and none look the same.
    value = text(command, "value") or ""
    limits = state.limits
    added = len(namespace.encode()) + len(key.encode()) + len(value.encode())
    too_long = added > limits.kv_item_bytes_max
    if too_long or kvconfig.size(state.kv.value) + added > limits.kv_bytes_max:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"KV configuration holds at most {limits.kv_bytes_max} bytes, an item at most"
            f" {limits.kv_item_bytes_max}; this one has {added}; delete what is not needed",
        )
    if state.kv.waiting >= state.limits.changes_waiting_max:
        return _too_slow(state)
    exists = key in state.kv.value.get(namespace, {})
    what = "update config item" if exists else "create new config item"
    state.effects.info(f"putKVConfig {what}, Namespace: {namespace} Key: {key} Value: {value}")
    state.kv.change(request, lambda tables: kvconfig.put(tables, namespace, key, value))
    return Parked()


def get_kv(state: State, request: Request, now: float) -> Outcome:
    namespace, key = text(request.command, "namespace"), text(request.command, "key")
    value = state.kv.value.get(namespace or "", {}).get(key or "")
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
    value = state.kv.value.get(namespace, {}).get(key)
    if value is None and not state.kv.waiting:
        return done()
    state.effects.info(
        f"deleteKVConfig delete a config item, Namespace: {namespace} Key: {key}"
        f" Value: {shown(value)}"
    )
    state.kv.change(request, lambda tables: kvconfig.delete(tables, namespace, key))
    return Parked()


def list_kv(state: State, request: Request, now: float) -> Outcome:
    namespace = text(request.command, "namespace")
    table = state.kv.value.get(namespace or "")
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
    texts = settings_to_text(state.settings)
    return done(body=format_properties(dict(sorted(texts.items()))).encode())


def update_settings(state: State, request: Request, now: float) -> Outcome:
    """What can be applied counts at once, the rest from the next start; all of it is kept."""
    state.effects.info(f"updateConfig called by {request.channel.peer}")
    if len(request.command.body) > state.limits.settings_bytes_max:
        return refused(ResponseCode.SYSTEM_ERROR, "the properties are too long; nothing changed")
    if state.configuration.waiting >= state.limits.changes_waiting_max:
        return _too_slow(state)
    try:
        asked = parse_properties(decode_properties(request.command.body))
        changes = _known_changes(state, asked)
    except ConfigurationError as error:
        return refused(ResponseCode.SYSTEM_ERROR, f"nothing was changed: {error}")
    if refused_keys(state.settings).intersection(asked):
        return refused(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
    if not changes:
        return done()
    state.configuration.change(request, lambda before: _changed(before, changes))
    return Parked()


def _known_changes(state: State, asked: dict[str, str]) -> dict[str, str]:
    """What was asked for and has a meaning here, checked; Java too passes over unknown keys."""
    bound = bind(NameServerSettings, [Layer(Source.SAVED, asked)])
    for warning in bound.warnings:
        state.effects.warning(f"updateConfig: {warning}")
    return {key: value.strip() for key, value in asked.items() if key not in bound.unknown}


def _changed(before: Configuration, changes: dict[str, str]) -> Configuration:
    known = {each.key for each in setting_fields(NameServerSettings)}
    texts = {**settings_to_text(before.settings), **changes}
    bound = bind(NameServerSettings, [Layer(Source.SAVED, texts)])
    assert known.issuperset(changes), "unknown keys were left out before"
    return Configuration(bound.settings, {**before.changes, **changes})


def settings_changed(state: State, before: NameServerSettings) -> None:
    """The new settings are in force: say so, and make them count everywhere."""
    after = state.settings
    for name in waiting_for_restart(before, after):
        state.effects.warning(f"updateConfig: {name} counts from the next start")
    state.routes.forget_digests(list(state.routes.groups))


REQUESTS: Final[dict[int, Handler]] = {
    RequestCode.PUT_KV_CONFIG: put_kv,
    RequestCode.GET_KV_CONFIG: get_kv,
    RequestCode.DELETE_KV_CONFIG: delete_kv,
    RequestCode.GET_KVLIST_BY_NAMESPACE: list_kv,
    RequestCode.UPDATE_NAMESRV_CONFIG: update_settings,
    RequestCode.GET_NAMESRV_CONFIG: get_settings,
}
