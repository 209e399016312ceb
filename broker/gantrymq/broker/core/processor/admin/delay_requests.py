"""Handles requests of slaves for the delivery progress of delay levels and timer messages."""

from __future__ import annotations

from functools import partial
from typing import Final

from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.processor.handler import BoundHandlers
from gantrymq.broker.core.replication.slave_synchronizer import OWN_MARK
from gantrymq.broker.core.responses import done, done_json
from gantrymq.broker.core.schedule.delays import DelayService
from gantrymq.broker.core.schedule.timer_service import TimerService
from gantrymq.broker.core.state import State
from gantrymq.wire.codes import RequestCode


def get_all_delay_offset(delay_service: DelayService, state: State, request: Request) -> Outcome:
    """Answers with the content of delayOffset.json in one line."""
    return done_json(delay_service.to_json())


def get_timer_check_point(timer_service: TimerService, state: State, request: Request) -> Outcome:
    is_own = OWN_MARK.items() <= (request.command.ext or {}).items()
    return done(body=timer_service.progress.checkpoint(for_own=is_own).encode())


BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.GET_ALL_DELAY_OFFSET: lambda services: partial(
        get_all_delay_offset, services.delay_service
    ),
    RequestCode.GET_TIMER_CHECK_POINT: lambda services: partial(
        get_timer_check_point, services.timer_service
    ),
}
