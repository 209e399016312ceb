"""Handles requests of brokers: registrations, unregistrations, heartbeats.

Fields of Gantry's, which Java name servers ignore:

    gantryEpoch       the epoch that the sender knows, in a group that elects its master
    gantryListeners   name=host:port;name=host:port   addresses for clients of other listeners
"""

from __future__ import annotations

from typing import Final

from isal.isal_zlib import crc32

from gantrymq.base.tasks import SlicedTask, run_to_end
from gantrymq.namesrv.core.config.kvconfig import ORDER_TOPIC_CONFIG
from gantrymq.namesrv.core.fields import flag, number, required_text, text
from gantrymq.namesrv.core.listening import is_reachable
from gantrymq.namesrv.core.messages import Outcome, Request, Working
from gantrymq.namesrv.core.responses import done, refused
from gantrymq.namesrv.core.routing.brokers import Member
from gantrymq.namesrv.core.routing.notices import lowest_id_appeared, lowest_id_left
from gantrymq.namesrv.core.routing.registration_request import Refused, Registered, Registration
from gantrymq.namesrv.core.routing.routes import named
from gantrymq.namesrv.core.state import Handler, State
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_table_to_json
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import (
    EPOCH_FIELD,
    QueryDataVersionResponse,
    RegisterBrokerResponse,
)

# A registration of this size is carried out in slices: it takes 2 ms. The assembly treats requests
# of this size as long ones.
LONG_BYTES: Final = 64 * 1024

LISTENERS_FIELD: Final = "gantryListeners"

# Java compares only the low 31 bits.
_CRC_MASK: Final = 0x7FFFFFFF


def register_broker(state: State, request: Request, now: float) -> Outcome:
    command = request.command
    checksum = number(command, "bodyCrc32")
    if checksum and checksum != crc32(command.body) & _CRC_MASK:
        state.effects.warning(
            f"receive registerBroker request,crc32 not match,from {request.channel.peer}"
        )
        state.counters.registrations_refused += 1
        return refused(ResponseCode.SYSTEM_ERROR, "crc32 not match")
    registration = _registration(request, state.settings.broker_channel_expired_time / 1000)
    if isinstance(registration, Refused):
        return _registered(state, request, registration)
    task = _register(state, request, registration, now)
    if len(command.body) >= LONG_BYTES:
        return Working(task)
    return run_to_end(task)


def _register(
    state: State, request: Request, registration: Registration, now: float
) -> SlicedTask[Outcome]:
    delete = state.settings.delete_topic_with_broker_registration
    outcome = yield from state.registrar.register(registration, now, delete_topics=delete)
    return _registered(state, request, outcome)


def _registered(state: State, request: Request, outcome: Registered | Refused) -> Outcome:
    command, settings = request.command, state.settings
    if isinstance(outcome, Refused):
        state.counters.registrations_refused += 1
        return refused(ResponseCode.SYSTEM_ERROR, f"register broker failed: {outcome.cause}")
    if outcome.unchanged:
        state.counters.registrations_unchanged += 1
    else:
        state.counters.registrations_applied += 1
    if outcome.lowest_id_changed and settings.notify_min_broker_id_changed:
        group = state.routes.groups[required_text(command, "brokerName")]
        lowest_id_appeared(state.effects, group)
    header = RegisterBrokerResponse(
        ha_server_addr=outcome.master_ha_address, master_addr=outcome.master_address
    )
    return done(header, _order_topics(state))


def _registration(request: Request, timeout_seconds: float) -> Registration | Refused:
    command = request.command
    timeout_ms = number(command, "heartbeatTimeoutMillis")
    broker_id = number(command, "brokerId")
    if broker_id is None or broker_id < 0:
        return Refused("brokerId is missing or no number")
    listeners = parse_listeners(text(command, LISTENERS_FIELD) or "")
    if isinstance(listeners, Refused):
        return listeners
    return Registration(
        cluster=text(command, "clusterName") or "",
        address=text(command, "brokerAddr") or "",
        broker_name=text(command, "brokerName") or "",
        broker_id=broker_id,
        ha_address=text(command, "haServerAddr") or "",
        timeout_seconds=timeout_seconds if timeout_ms is None else timeout_ms / 1000,
        enable_acting_master=flag(command, "enableActingMaster"),
        zone_name=text(command, "__ZONE_NAME"),
        listeners=listeners,
        epoch=number(command, EPOCH_FIELD) or 0,
        body=command.body,
        compressed=flag(command, "compressed") or False,
        version=command.version,
        channel=request.channel,
    )


def parse_listeners(listing: str) -> dict[str, str] | Refused:
    """Parse `name=host:port;...`; anything else is refused, as clients could not connect to it."""
    listeners: dict[str, str] = {}
    for item in filter(None, listing.split(";")):
        name, separator, address = item.partition("=")
        name, address = name.strip(), address.strip()
        if not (name and separator and is_reachable(address)):
            return Refused(f"{LISTENERS_FIELD}: {item[:100]!r} is not name=host:port")
        listeners[name] = address
    return listeners


def _order_topics(state: State) -> bytes:
    table = state.namespaces.get(ORDER_TOPIC_CONFIG)
    if table is None or not state.settings.return_order_topic_config_to_broker:
        return b""
    return javajson.dumps_fastjson(kv_table_to_json(table))


def unregister_broker(state: State, request: Request, now: float) -> Outcome:
    """Remove a broker that stops cleanly. Other addresses and later epochs stay."""
    command = request.command
    address = text(command, "brokerAddr")
    group = state.routes.groups.get(text(command, "brokerName") or "")
    members = [] if group is None else list(group.members.values())
    leaving = [member for member in members if member.address == address]
    epoch = number(command, EPOCH_FIELD) or 0
    for member in leaving:
        if member.epoch > epoch:
            state.effects.warning(
                f"unregisterBroker ignored, {named(member)} is of epoch {member.epoch}, the"
                f" request of {epoch}"
            )
            return done()
    remove_members(state, leaving)
    return done()


def remove_members(state: State, leaving: list[Member]) -> None:
    """Remove members and everything that depends on them, and send the notices."""
    for lost in state.routes.remove(leaving):
        if state.settings.notify_min_broker_id_changed:
            lowest_id_left(state.effects, lost)


def query_data_version(state: State, request: Request, now: float) -> Outcome:
    """Tell the broker whether it must register in full. The query is a sign of life as well."""
    member = _member(state, request.command)
    if member is None:
        return done(QueryDataVersionResponse(changed=True))
    _sign_of_life(state, member, request, now)
    body = request.command.body
    asked = DataVersion.from_json(javajson.loads(body)) if body else None
    return done(
        QueryDataVersionResponse(changed=asked != member.data_version),
        javajson.dumps_fastjson(member.data_version.to_json()),
    )


def heartbeat(state: State, request: Request, now: float) -> Outcome:
    required_text(request.command, "clusterName")
    required_text(request.command, "brokerAddr")
    member = _member(state, request.command)
    if member is not None:
        _sign_of_life(state, member, request, now)
    return done()


def _sign_of_life(state: State, member: Member, request: Request, now: float) -> None:
    """Record a sign of life for the address, unless the request carries an epoch that is over."""
    epoch = number(request.command, EPOCH_FIELD)
    if epoch is None or epoch >= member.epoch:
        state.liveness.alive(member, request.channel, now)


def _member(state: State, command: Command) -> Member | None:
    member = state.routes.members.get(text(command, "brokerAddr") or "")
    if member is None or member.cluster != text(command, "clusterName"):
        return None
    return member


REQUESTS: Final[dict[int, Handler]] = {
    RequestCode.REGISTER_BROKER: register_broker,
    RequestCode.UNREGISTER_BROKER: unregister_broker,
    RequestCode.QUERY_DATA_VERSION: query_data_version,
    RequestCode.BROKER_HEARTBEAT: heartbeat,
}
