"""Checks requests against the access rules, and refuses those that break them."""

from __future__ import annotations

from typing import Final

from gantrymq.acl.rights.actions import Action
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.rights.refusal import Refusal
from gantrymq.acl.rights.rights import Right, consuming_needs, topic_need
from gantrymq.broker.core.acl.audit_refusals import note_refused
from gantrymq.broker.core.messages import Reply, Request
from gantrymq.broker.core.names.system_topics import (
    CHECK_MAX_TIME_TOPIC,
    HALF_TOPIC,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
)
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.state import State
from gantrymq.wire.java_string import utf8_text
from gantrymq.wire.message import properties, property_names
from gantrymq.wire.message.record import Record

# Topics whose messages wait for something and name the topic they are meant for.
_WAITING_TOPICS: Final = frozenset({SCHEDULE_TOPIC, TIMER_TOPIC, HALF_TOPIC, CHECK_MAX_TIME_TOPIC})


def refuse(state: State, request: Request) -> Reply | None:
    """The refusal if the client may not make this request; None if it may."""
    guard, channel = state.access.guard, request.channel
    if guard is None:
        return None
    throttle = state.access.throttle
    caller = caller_of(state, request)
    refusal = throttle.check(guard, request.command, channel, caller, state.now)
    if refusal is not None:
        return _told(state, request, refusal)
    request.was_admitted = True
    return None


def caller_of(state: State, request: Request) -> Caller:
    channel = request.channel
    return Caller(channel.peer, state.wall_ms, channel.certificate_names, request.was_admitted)


def refuse_message(
    state: State,
    request: Request,
    message: Record,
    right: Right,
    group: str = "",
    actions: Action = Action.NONE,
) -> Reply | None:
    """The refusal if the client lacks this right to a message that the request refers to; None if
    it has it. The message may be of any topic. `group` is the group that consumes it, if any;
    `actions` are the actions that a policy may allow instead of those of the right."""
    guard = state.access.guard
    if guard is None:
        return None
    topic = _meant_for(message)
    needs = consuming_needs(topic, group) if group else (topic_need(topic, right).by(actions),)
    refusal = guard.check_more(request.command, caller_of(state, request), needs)
    return None if refusal is None else _told(state, request, refusal)


def _meant_for(message: Record) -> str:
    """The topic that the message is meant for, also while it waits in a topic of the broker."""
    topic = utf8_text(message.topic)
    if topic not in _WAITING_TOPICS:
        return topic
    return properties.get(message.properties, property_names.REAL_TOPIC) or topic


def _told(state: State, request: Request, refusal: Refusal) -> Reply:
    note_refused(state, request, refusal)
    if refusal.is_logged:
        state.effects.warning(
            f"refused request code={request.command.code} from={request.channel.peer}:"
            f" {refusal.remark}"
        )
    return refused(refusal.code, refusal.remark)
