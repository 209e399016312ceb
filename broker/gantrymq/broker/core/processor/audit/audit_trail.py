"""Records audited requests by wrapping their handlers, so that other requests have no overhead.

    before = show(state)
    the handler's outcome, immediate or in steps
    after = show(state)           -> an Audit effect with both

Invariant: an audited request that reaches its handler leaves one record, whatever the handler does.
Requests that access control refuses do not reach it: see refusals.py.
"""

from __future__ import annotations

from collections.abc import Generator

from gantrymq.audit.actions import ACTIONS
from gantrymq.audit.record import AuditOutcome, audit_record
from gantrymq.base.errors import GantryError, RemoteError
from gantrymq.broker.core.acl.audit_refusals import actor_of
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Audit, Outcome, Reply, Request
from gantrymq.broker.core.processor.audit.audited_values import VIEWS, Show, Values, show_nothing
from gantrymq.broker.core.processor.handler import Handler
from gantrymq.broker.core.state import State
from gantrymq.wire.codes import ResponseCode


def audited(code: int, handler: Handler) -> Handler:
    """The handler, wrapped to leave an audit record if requests of this code are audited."""
    if code not in ACTIONS:
        return handler

    def handle(state: State, request: Request) -> Outcome | Task[Outcome]:
        show = _show(request)
        before = show(state)
        try:
            outcome = handler(state, request)
        except RemoteError as error:
            _note(state, request, before, show, str(error))
            raise
        if isinstance(outcome, Generator):
            return _in_steps(state, request, before, show, outcome)
        _note(state, request, before, show, _failure(outcome))
        return outcome

    return handle


def _show(request: Request) -> Show:
    view = VIEWS.get(request.command.code)
    try:
        return show_nothing if view is None else view(request)
    except RemoteError:
        return show_nothing


def _in_steps(
    state: State, request: Request, before: Values, show: Show, work: Task[Outcome]
) -> Task[Outcome]:
    try:
        outcome = yield from work
    except GantryError as error:
        _note(state, request, before, show, str(error))
        raise
    _note(state, request, before, show, _failure(outcome))
    return outcome


def _failure(outcome: Outcome) -> str | None:
    """Why the request failed, else None."""
    if not isinstance(outcome, Reply) or outcome.command.code == ResponseCode.SUCCESS:
        return None
    return outcome.command.remark or f"response code {outcome.command.code}"


def _note(state: State, request: Request, before: Values, show: Show, failure: str | None) -> None:
    code = request.command.code
    record = audit_record(
        ACTIONS[code].name,
        code,
        actor_of(state, request),
        AuditOutcome.DONE if failure is None else AuditOutcome.FAILED,
        reason=failure or "",
        old=before,
        new=show(state),
    )
    state.effects.add(Audit(record))
