"""Handles the administrators' requests to list, set and delete quotas.

A change takes effect immediately, and is answered when it is in the file and at all in-sync
members, so that a failover cannot undo an answered change.
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import File, Outcome, Request
from gantrymq.broker.core.metadata.table_changes import stored, undone
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.wire.bodies.quotas import (
    Quota,
    QuotaKind,
    QuotaLimit,
    QuotaTableBody,
    amount_of,
    checked,
    checked_name,
    kind_of,
)
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.quota import DeleteQuotaRequest, SetQuotaRequest

# The value in a request that removes this limit from the quota.
_REMOVED: Final = 0


def list_quotas(state: State, request: Request) -> Outcome:
    """Answer all quotas, and how much the busiest users, topics, groups and addresses use of
    them."""
    return done_json(QuotaTableBody(state.quotas.rules.quotas, state.quotas.use()).to_json())


def set_quota(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = SetQuotaRequest.decode(request.command.ext)
    if not state.identity.is_master:
        return _not_master(state)
    try:
        kind, name = kind_of(header.kind), checked_name(header.name)
        before = state.quotas.rules.find(kind, name)
        state.quotas.put(_changed(before, kind, name, header))
    except RemoteError as error:
        return refused(ResponseCode.INVALID_PARAMETER, f"nothing was changed: {error}")
    state.effects.info(f"set quota kind={kind} name={name} by={request.channel.peer}")
    return _answered(state)


def delete_quota(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = DeleteQuotaRequest.decode(request.command.ext)
    if not state.identity.is_master:
        return _not_master(state)
    try:
        kind, name = kind_of(header.kind), checked_name(header.name)
    except RemoteError as error:
        return refused(ResponseCode.INVALID_PARAMETER, f"nothing was changed: {error}")
    if state.quotas.rules.find(kind, name) is None:
        return refused(
            ResponseCode.QUERY_NOT_FOUND,
            f"there is no quota of {kind} {name} on {state.identity.name}; `gantry quota list`"
            " shows those that there are",
        )
    state.quotas.remove(kind, name)
    state.effects.info(f"deleted quota kind={kind} name={name} by={request.channel.peer}")
    return _answered(state)


def _changed(before: Quota | None, kind: QuotaKind, name: str, header: SetQuotaRequest) -> Quota:
    limits = {} if before is None else dict(before.limits)
    asked = {
        QuotaLimit.PRODUCE_BYTES: header.produce_bytes_per_second,
        QuotaLimit.CONSUME_BYTES: header.consume_bytes_per_second,
        QuotaLimit.REQUESTS: header.requests_per_second,
        QuotaLimit.STORAGE_BYTES: header.storage_bytes,
    }
    for limit, amount in asked.items():
        if amount == _REMOVED:
            limits.pop(limit, None)
        elif amount is not None:
            limits[limit] = amount_of(amount, limit)
    return checked(Quota(kind, name, limits))


def _answered(state: State) -> Task[Outcome]:
    failure = yield from stored(state, File.QUOTAS)
    if failure is None:
        return done()
    return refused(ResponseCode.SYSTEM_ERROR, undone(failure))


def _not_master(state: State) -> Outcome:
    return refused(
        ResponseCode.SYSTEM_ERROR,
        f"{state.identity.address} is a slave of {state.identity.name}: set quotas at its master",
    )


HANDLERS: Final[Handlers] = {
    RequestCode.GANTRY_LIST_QUOTAS: list_quotas,
    RequestCode.GANTRY_SET_QUOTA: set_quota,
    RequestCode.GANTRY_DELETE_QUOTA: delete_quota,
}
