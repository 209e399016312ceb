"""Records rejected attempts in the audit trail: audited requests, and wrong signatures."""

from __future__ import annotations

from typing import Final

from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.rights.refusal import AuthenticationFailure, Refusal, shortened
from gantrymq.audit.actions import ACTIONS, AUTHENTICATION
from gantrymq.audit.record import Actor, AuditOutcome, audit_record
from gantrymq.broker.core.messages import Audit, Request
from gantrymq.broker.core.state import State

_GUESSES: Final = frozenset(
    {AuthenticationFailure.UNKNOWN_ACCOUNT, AuthenticationFailure.WRONG_SIGNATURE}
)

# Fields that identify the object of a request. Bodies are not read: the sender is not
# authenticated.
_FIELDS: Final = (
    *("topic", "groupName", "group", "destGroup", "accessKey", "username", "subject", "resource"),
    *("kind", "name"),
)


def note_refused(state: State, request: Request, refusal: Refusal) -> None:
    """Add an audit record, unless there have been too many."""
    code = request.command.code
    action = ACTIONS.get(code)
    is_guess = refusal.failure in _GUESSES and refusal.is_logged
    attempts = state.access.refused_attempts
    if (action is None and not is_guess) or not attempts.allows(state.now):
        return
    ext = request.command.ext or {}
    names = [ext[field] for field in _FIELDS if field in ext] if action else []
    record = audit_record(
        AUTHENTICATION if action is None else action.name,
        code,
        actor_of(state, request),
        AuditOutcome.REFUSED,
        reason=refusal.remark,
        objects=names,
        left_out=attempts.take_left_out(),
    )
    state.effects.add(Audit(record))


def actor_of(state: State, request: Request) -> Actor:
    """The sender, with the account that it named or that its certificate stands for.

    The account is known only where accounts are checked.
    """
    guard, channel = state.access.guard, request.channel
    names = channel.certificate_names
    certificate = shortened(names[0]) if names else ""
    if guard is None:
        return Actor(channel.peer, certificate=certificate)
    caller = Caller(channel.peer, certificate_names=names)
    return Actor(channel.peer, guard.asking_account(request.command, caller), certificate)
