"""GET_ALL_DELAY_OFFSET: how far delivery has come in each delay level, as slaves ask it."""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.handler import Handlers
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.responses import done_json
from gantrymq.broker.core.state import State
from gantrymq.wire.codes import RequestCode


def get_all_delay_offset(state: State, request: Request) -> Outcome:
    """The content of delayOffset.json, but in one line."""
    return done_json(state.delays.to_json())


HANDLERS: Final[Handlers] = {RequestCode.GET_ALL_DELAY_OFFSET: get_all_delay_offset}
