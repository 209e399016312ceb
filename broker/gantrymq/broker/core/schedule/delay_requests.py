"""Handles requests of slaves for the delivery progress of delay levels and timer messages."""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.handler import Handlers
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.replication.slave_synchronizer import OWN_MARK
from gantrymq.broker.core.responses import done, done_json
from gantrymq.broker.core.state import State
from gantrymq.wire.codes import RequestCode


def get_all_delay_offset(state: State, request: Request) -> Outcome:
    """Answers with the content of delayOffset.json in one line."""
    return done_json(state.delays.to_json())


def get_timer_check_point(state: State, request: Request) -> Outcome:
    is_own = OWN_MARK.items() <= (request.command.ext or {}).items()
    return done(body=state.timers.checkpoint(for_own=is_own).encode())


HANDLERS: Final[Handlers] = {
    RequestCode.GET_ALL_DELAY_OFFSET: get_all_delay_offset,
    RequestCode.GET_TIMER_CHECK_POINT: get_timer_check_point,
}
