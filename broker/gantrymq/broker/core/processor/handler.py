"""Defines the type of the functions that handle requests, and delays a handler for a quota."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import SILENT, AnsweredLater, Outcome, Reply, Request, Silent
from gantrymq.broker.core.quotas.gate import QuotaWait
from gantrymq.broker.core.services import Services
from gantrymq.broker.core.state import State
from gantrymq.wire.codes import RequestCode

Handler: TypeAlias = Callable[[State, Request], "Outcome | Task[Outcome]"]
"""Carries out one request: at once, or in steps. A RemoteError becomes a SYSTEM_ERROR answer."""

Handlers: TypeAlias = Mapping[RequestCode, Handler]
"""Handlers that use the state alone."""

BoundHandlers: TypeAlias = Mapping[RequestCode, Callable[[Services], Handler]]
"""Handlers that use services as well: each entry makes one for the services of a broker."""


def carry_out_later(
    state: State, request: Request, handler: Handler, wait: QuotaWait
) -> Task[Outcome]:
    """Carry out a request when its wait is over."""
    wait.reserve(state.now)
    try:
        yield from tasks.wait(wait.until)
    finally:
        wait.release(state.now)
    if request.channel.is_closing:
        return SILENT
    outcome = handler(state, request)
    if isinstance(outcome, (Reply, AnsweredLater, Silent)):
        return outcome
    return (yield from outcome)
