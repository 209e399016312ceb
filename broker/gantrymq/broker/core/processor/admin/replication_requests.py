"""Handles the requests about replication status, from administrators and slaves."""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.wire.bodies.ha_status import FollowerStatus, HaStatus, SlaveStatus
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.ha import ResetMasterFlushOffsetRequest


def ha_status(state: State, request: Request) -> Outcome:
    status = _of_master(state) if state.identity.is_master else _of_slave(state)
    return done_json(status.to_json())


def _of_master(state: State) -> HaStatus:
    slaves = tuple(
        SlaveStatus(
            address=follower.address,
            behind_bytes=follower.behind_bytes,
            is_in_sync=follower.is_in_sync,
            acknowledged=follower.acknowledged,
            sends_from=follower.acknowledged,
            bytes_per_second=follower.bytes_per_second,
        )
        for follower in state.replication.followers(state.now)
    )
    return HaStatus(
        is_master=True,
        log_end=state.store.log.end,
        in_sync_slaves=sum(slave.is_in_sync for slave in slaves),
        slaves=slaves,
    )


def _of_slave(state: State) -> HaStatus:
    """The fields of a master are zero, as in Java."""
    flushed = state.master_flushed
    following = state.replication.following()
    if following is None:
        own = FollowerStatus(master_flushed=flushed, log_end=state.store.log.end)
    else:
        own = FollowerStatus(
            master=following.master,
            last_read_ms=following.last_read_ms,
            last_write_ms=following.last_write_ms,
            master_flushed=flushed,
            log_end=state.store.log.end,
            bytes_per_second=following.bytes_per_second,
        )
    return HaStatus(is_master=False, log_end=0, follower=own)


def reset_master_flush_offset(state: State, request: Request) -> Outcome:
    """Set the master's flush offset, which only a slave keeps, for display; a master ignores it, as
    in Java."""
    if not state.identity.is_master:
        header = ResetMasterFlushOffsetRequest.decode(request.command.ext)
        state.master_flushed = header.master_flush_offset
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
