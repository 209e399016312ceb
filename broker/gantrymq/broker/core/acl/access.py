"""Holds the access rules of a broker, checks requests against them, and changes them safely.

    replace(rules)                      the file was edited: the rules apply at once
    begin(rules), commit(), drop()      a request changes the rules: they apply once they are in the
                                        file
    overtake(rules)                     another broker is the master, and these are its rules: a
                                        change of this broker that is not in the file yet is dropped

Invariant: with aclEnable or authenticationEnabled there is a guard from the start. It refuses every
request until it has rules or users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gantrymq.acl.guard import Guard
from gantrymq.acl.plain import plain_acl
from gantrymq.acl.plain.accounts import Rules
from gantrymq.acl.requests.needs import BROKER_REQUESTS
from gantrymq.acl.rights.actions import Action
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.rights.refusal import Refusal
from gantrymq.acl.rights.rights import Right, consuming_needs, topic_need
from gantrymq.acl.signature_throttle import SignatureThrottle
from gantrymq.audit.refused_attempts import RefusedAttempts
from gantrymq.broker.core.auditing.refusals import note_refused
from gantrymq.broker.core.messages import Reply, Request
from gantrymq.broker.core.metadata.system_topics import (
    CHECK_MAX_TIME_TOPIC,
    HALF_TOPIC,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
)
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.users.rules import user_rules_of
from gantrymq.broker.core.users.user_access import UserAccess
from gantrymq.wire.java_string import utf8_text
from gantrymq.wire.message import properties, property_names
from gantrymq.wire.message.record import Record

if TYPE_CHECKING:
    from gantrymq.acl.users.table_file import Seal
    from gantrymq.broker.core.state import State

# Topics whose messages wait for something and name the topic they are meant for.
_WAITING_TOPICS: Final = frozenset({SCHEDULE_TOPIC, TIMER_TOPIC, HALF_TOPIC, CHECK_MAX_TIME_TOPIC})


@final
class Access:
    """The access rules of one broker. `guard` is None if access control is off."""

    __slots__ = ("coming", "guard", "refused_attempts", "throttle", "users")

    def __init__(self, settings: BrokerSettings, seal: Seal | None = None) -> None:
        """`seal` encrypts the passwords in the file of users."""
        self.guard = _guard_of(settings)
        has_users = self.guard is not None and settings.authentication_enabled
        self.users = UserAccess(self.guard, seal) if self.guard and has_users else None
        self.throttle = SignatureThrottle()
        self.refused_attempts = RefusedAttempts()
        self.coming: Rules | None = None
        """The rules that are being written to the file; None if no change is under way."""

    @property
    def is_changing(self) -> bool:
        return self.coming is not None

    def replace(self, rules: Rules) -> None:
        """Apply the rules of a file that was read again."""
        assert self.guard is not None, "nobody reads rules that are not asked"
        self.guard.replace(rules)

    def begin(self, rules: Rules) -> None:
        """Begin a change: the next write of the file contains these rules."""
        assert self.coming is None, "one change at a time"
        self.coming = rules

    def commit(self) -> None:
        """Apply the rules of the change, which are in the file."""
        assert self.coming is not None, "nothing was begun"
        self.replace(self.coming)
        self.coming = None

    def drop(self) -> None:
        """Give the change up: the file could not be written."""
        self.coming = None

    def overtake(self, rules: Rules) -> None:
        """Apply the master's rules at once; the file is written later."""
        self.coming = None
        self.replace(rules)

    def content(self) -> bytes:
        """The content that the file must have: with the change that is under way, if any."""
        assert self.guard is not None, "there is no file without rules"
        return plain_acl.write(self.coming or self.guard.rules)


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
            f"a request was refused, code {request.command.code} from {request.channel.peer}:"
            f" {refusal.remark}"
        )
    return refused(refusal.code, refusal.remark)


def _guard_of(settings: BrokerSettings) -> Guard | None:
    """The guard; None if neither accounts nor users are turned on."""
    if not settings.acl_enable and not settings.authentication_enabled:
        return None
    return Guard(
        Rules(), BROKER_REQUESTS, user_rules_of(settings), has_accounts=settings.acl_enable
    )
