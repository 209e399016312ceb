"""Carries out a change of users or policies: check, write the file, apply, replicate.

A request is answered when config/users.json is on disk with its change and, in a group that elects
its master, every in-sync member has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gantrymq.acl.users.refused import RefusedChangeError
from gantrymq.acl.users.table import UserTable
from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.access.user_access import UserAccess
from gantrymq.broker.core.acl.checks import caller_of
from gantrymq.broker.core.engine.tasks import Task, saved
from gantrymq.broker.core.messages import File, Outcome, Request
from gantrymq.broker.core.metadata.table_changes import spread, undone
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.state import State
from gantrymq.wire.codes import ResponseCode

_OFF: Final = (
    "An system error occurred, please try again later. Users are off on this broker: set"
    " authenticationEnabled=true and initAuthenticationUser, and restart it"
)
_OVERTAKEN: Final = (
    "another broker became master meanwhile, and its users are in force: check whether they have"
    " this change, else repeat the request"
)


def users_of(state: State) -> UserAccess | Outcome:
    """The users of this broker, or the refusal where users are off."""
    users = state.access.users
    return refused(ResponseCode.SYSTEM_ERROR, _OFF) if users is None else users


def is_administrator(state: State, request: Request) -> bool:
    """Whether the sender is a Super user or an administrator of plain_acl.yml."""
    guard = state.access.guard
    assert guard is not None, "there are no users without access control"
    return guard.is_administrator(request.command, caller_of(state, request))


def change(
    state: State,
    request: Request,
    what: str,
    change_table: Callable[[UserTable], UserTable],
) -> Outcome | Task[Outcome]:
    """Change the table; `what` is for the log."""
    users = users_of(state)
    if not isinstance(users, UserAccess):
        return users
    if users.is_changing:
        return refused(
            ResponseCode.SYSTEM_BUSY,
            "[REJECTREQUEST]another change of users is being written; try again",
        )
    try:
        users.begin(change_table(users.table))
    except RefusedChangeError as error:
        return refused(ResponseCode.NO_PERMISSION, str(error))
    except RemoteError as error:
        return refused(ResponseCode.SYSTEM_ERROR, str(error))
    state.effects.info(f"changing users, {what} from={request.channel.peer}")
    return _written(state, users)


def _written(state: State, users: UserAccess) -> Task[Outcome]:
    epoch = state.members.epoch
    coming, was_safe = users.coming, state.files.is_safe(File.USERS)
    failure = yield from saved(File.USERS)
    if users.coming is not coming:
        return refused(ResponseCode.SYSTEM_ERROR, _OVERTAKEN)
    if failure is None:
        users.commit()
        failure = yield from spread(state, epoch)
        if failure is None:
            return done()
        return refused(ResponseCode.SYSTEM_ERROR, undone(failure))
    users.drop()
    if was_safe:
        state.files.forget(File.USERS)  # the file is unchanged: there is nothing to retry
    return refused(ResponseCode.SYSTEM_ERROR, f"nothing was changed: {failure}")
