"""Makes the name server's audit entries: changes with the values before and after.

    values_of        the values that a request concerns, before its handler and after
    note             the outcome is known: makes an Audit effect
    park, unpark     keep the previous values while the outcome waits for a file
    refused          access control refused the request

Values of KV configuration are shown for ORDER_TOPIC_CONFIG only: others may be secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final, TypeAlias, final

from gantrymq.acl.rights.refusal import AuthenticationFailure, Refusal
from gantrymq.audit.actions import ACTIONS, AUTHENTICATION
from gantrymq.audit.record import OBJECTS_MAX, Actor, AuditOutcome, audit_record
from gantrymq.audit.refused_attempts import RefusedAttempts
from gantrymq.base.configuration.properties import decode_properties, parse_properties
from gantrymq.base.configuration.settings import settings_to_text
from gantrymq.base.errors import ConfigurationError
from gantrymq.namesrv.core.config.kvconfig import ORDER_TOPIC_CONFIG
from gantrymq.namesrv.core.fields import text
from gantrymq.namesrv.core.messages import Audit, Outcome, Reply, Request
from gantrymq.namesrv.core.state import State
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.jsonvalue import Json

Values: TypeAlias = Mapping[str, Json]

_GUESSES: Final = frozenset(
    {AuthenticationFailure.UNKNOWN_ACCOUNT, AuthenticationFailure.WRONG_SIGNATURE}
)
_FIELDS: Final = ("namespace", "key", "topic", "brokerName", "brokerAddr")


def _kv(state: State, request: Request) -> Values:
    namespace, key = text(request.command, "namespace") or "", text(request.command, "key") or ""
    value = state.namespaces.get(namespace, {}).get(key)
    if value is not None and namespace != ORDER_TOPIC_CONFIG:
        value = f"{len(value)} characters"
    return {f"{namespace} {key}": value}


def _settings(state: State, request: Request) -> Values:
    body = request.command.body
    try:
        is_read = len(body) <= state.limits.settings_bytes_max
        keys = parse_properties(decode_properties(body)) if is_read else {}
    except ConfigurationError:
        return {}
    texts = settings_to_text(state.settings)
    return {key: texts.get(key) for key in islice(keys, OBJECTS_MAX)}


def _brokers_of_topic(state: State, request: Request) -> Values:
    topic = text(request.command, "topic") or ""
    placement = state.routes.topics.get(topic)
    queues = () if placement is None else placement.queues
    names: list[Json] = [queue.broker_name for queue in islice(queues, OBJECTS_MAX)]
    return {topic: names or None}


def _addresses_of_broker(state: State, request: Request) -> Values:
    name = text(request.command, "brokerName") or ""
    group = state.routes.groups.get(name)
    members = () if group is None else group.members.values()
    addresses: list[Json] = [member.address for member in islice(members, OBJECTS_MAX)]
    return {name: addresses or None}


def _broker(state: State, request: Request) -> Values:
    return {text(request.command, "brokerName") or "": None}


VIEWS: Final[Mapping[int, Callable[[State, Request], Values]]] = {
    Code.PUT_KV_CONFIG: _kv,
    Code.DELETE_KV_CONFIG: _kv,
    Code.UPDATE_NAMESRV_CONFIG: _settings,
    Code.WIPE_WRITE_PERM_OF_BROKER: _broker,
    Code.ADD_WRITE_PERM_OF_BROKER: _broker,
    Code.DELETE_TOPIC_IN_NAMESRV: _brokers_of_topic,
    Code.REGISTER_TOPIC_IN_NAMESRV: _brokers_of_topic,
    Code.UNREGISTER_BROKER: _addresses_of_broker,
}


def values_of(state: State, request: Request) -> Values:
    """The current values that an audited request concerns."""
    return VIEWS[request.command.code](state, request)


@final
class AuditTrail:
    """The audited requests that wait for a file. Owned by the core."""

    __slots__ = ("_attempts", "_parked")

    def __init__(self) -> None:
        self._attempts = RefusedAttempts()
        self._parked: dict[Request, Values] = {}

    def park(self, request: Request, before: Values) -> None:
        self._parked[request] = before

    def unpark(self, request: Request) -> Values:
        return self._parked.pop(request)

    def note(
        self, state: State, request: Request, actor: Actor, outcome: Outcome, before: Values
    ) -> None:
        """Make an entry for a request with a known outcome."""
        code = request.command.code
        failure = None
        if isinstance(outcome, Reply) and outcome.command.code != ResponseCode.SUCCESS:
            failure = outcome.command.remark or f"response code {outcome.command.code}"
        record = audit_record(
            ACTIONS[code].name,
            code,
            actor,
            AuditOutcome.DONE if failure is None else AuditOutcome.FAILED,
            reason=failure or "",
            old=before,
            new=values_of(state, request),
        )
        state.effects.add(Audit(record))

    def refused(
        self, state: State, request: Request, actor: Actor, refusal: Refusal, now: float
    ) -> None:
        """Make an entry for a refused request, unless there are too many."""
        code = request.command.code
        action = ACTIONS.get(code)
        is_guess = refusal.failure in _GUESSES and refusal.is_logged
        if (action is None and not is_guess) or not self._attempts.allows(now):
            return
        ext = request.command.ext or {}
        record = audit_record(
            AUTHENTICATION if action is None else action.name,
            code,
            actor,
            AuditOutcome.REFUSED,
            reason=refusal.remark,
            objects=[ext[field] for field in _FIELDS if field in ext] if action else [],
            left_out=self._attempts.take_left_out(),
        )
        state.effects.add(Audit(record))
