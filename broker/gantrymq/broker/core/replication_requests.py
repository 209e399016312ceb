"""What administrators and slaves ask about replication, besides the tables of others."""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.handler import Handlers
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.wire.bodies.ha_status import HaStatus
from gantrymq.wire.codes import RequestCode, ResponseCode


def ha_status(state: State, request: Request) -> Outcome:
    status = HaStatus(is_master=state.identity.is_master, log_end=state.store.log.end)
    return done_json(status.to_json())


def reset_master_flush_offset(state: State, request: Request) -> Outcome:
    """Only a slave remembers one; to a master it means nothing, which is no error in Java."""
    return done()


def epoch_cache(state: State, request: Request) -> Outcome:
    return refused(
        ResponseCode.SYSTEM_ERROR,
        "this request only for controllerMode: a broker of this kind has no controller",
    )


HANDLERS: Final[Handlers] = {
    RequestCode.GET_BROKER_HA_STATUS: ha_status,
    RequestCode.RESET_MASTER_FLUSH_OFFSET: reset_master_flush_offset,
    RequestCode.GET_BROKER_EPOCH_CACHE: epoch_cache,
}
