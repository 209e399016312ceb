"""Handles requests that show the broker's settings and change those that may change."""

from __future__ import annotations

from typing import Final

from gantrymq.base.configuration.properties import (
    decode_properties,
    format_properties,
    parse_properties,
)
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.core.engine.configuration import Change, Refusal
from gantrymq.broker.core.engine.tasks import Task, saved
from gantrymq.broker.core.messages import File, Outcome, Register, Request
from gantrymq.broker.core.metadata.system_topic_creation import make_missing
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.state import State
from gantrymq.wire import javajson
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.admin import GetBrokerConfigResponse

# Enough for all settings with long values.
BODY_BYTES_MAX: Final = 64 << 10


def get_config(state: State, request: Request) -> Outcome:
    configuration = state.configuration
    version = javajson.dumps_fastjson(configuration.version.to_json()).decode()
    body = format_properties(configuration.texts()).encode()
    return done(GetBrokerConfigResponse(version=version), body)


def update_config(state: State, request: Request) -> Outcome | Task[Outcome]:
    state.effects.info(f"updateBrokerConfig called by {request.channel.peer}")
    body = request.command.body
    if len(body) > BODY_BYTES_MAX:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"nothing was changed: {len(body)} bytes of properties, at most {BODY_BYTES_MAX} are"
            " read",
        )
    try:
        values = parse_properties(decode_properties(body))
    except ConfigurationError as error:
        return refused(ResponseCode.SYSTEM_ERROR, f"string2Properties error: {error}")
    if not values:
        return done()
    asked = state.configuration.ask(values)
    if isinstance(asked, Refusal):
        return refused(asked.code, asked.text)
    return _change(state, asked)


def _change(state: State, change: Change) -> Task[Outcome]:
    """Write the change to the file, apply it, and answer then."""
    configuration = state.configuration
    failure = yield from saved(File.SETTINGS)
    if failure is not None:
        configuration.drop(change)
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"nothing was changed: the configuration file cannot be written, {failure}",
        )
    permission = state.settings.broker_permission
    configuration.commit(change, state.wall_ms)
    state.settings = configuration.broker
    state.store.change(configuration.store)
    make_missing(state)  # a feature that was turned on may need a system topic
    for key in configuration.outranked(change):
        state.effects.warning(
            f"setting applies until the next start only key={key}:"
            f" {configuration.sources[key].value} sets it as well"
        )
    if state.settings.broker_permission != permission:
        state.effects.add(Register())
    return done()


HANDLERS: Final[Handlers] = {
    RequestCode.GET_BROKER_CONFIG: get_config,
    RequestCode.UPDATE_BROKER_CONFIG: update_config,
}
