"""Handles AUTH_CREATE_USER, AUTH_UPDATE_USER, AUTH_DELETE_USER, AUTH_GET_USER and AUTH_LIST_USER.

They work as in Java, except that no answer contains a password. Only an administrator creates,
changes or deletes a Super user, whatever policies say.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from gantrymq.acl.users.refused import RefusedChangeError
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.user import UserType, check_name, type_of
from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.access.user_access import UserAccess
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.processor.access.user_changes import change, is_administrator, users_of
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.wire import javajson
from gantrymq.wire.bodies.auth import UserInfo
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.admin import ListUsersRequest, UserRequest
from gantrymq.wire.java_string import utf8_bytes

_BLANK: Final = "The username is blank"

# The limit for a body: one flat object, whose texts may have commas.
VALUES_MAX: Final = 1_000


def create_user(state: State, request: Request) -> Outcome | Task[Outcome]:
    info = _asked(request)
    if info is None:
        return refused(ResponseCode.INVALID_PARAMETER, _BLANK)
    if _makes_super(info) and not _may_change_super(state, request):
        return refused(ResponseCode.SYSTEM_ERROR, "The super user can only be create by super user")
    _refuse_account(state, info.username or "")
    return change(state, request, f"created={info.username}", lambda table: table.created(info))


def update_user(state: State, request: Request) -> Outcome | Task[Outcome]:
    info = _asked(request)
    if info is None:
        return refused(ResponseCode.INVALID_PARAMETER, _BLANK)
    may_change_super = _may_change_super(state, request)
    if _makes_super(info) and not may_change_super:
        return refused(ResponseCode.SYSTEM_ERROR, "The super user can only be update by super user")
    updated = partial(_updated, info, state.wall_ms, may_change_super=may_change_super)
    return change(state, request, f"updated={info.username}", updated)


def delete_user(state: State, request: Request) -> Outcome | Task[Outcome]:
    name = UserRequest.decode(request.command.ext).username or ""
    users = users_of(state)
    if not isinstance(users, UserAccess):
        return users
    try:
        check_name(name)
    except RefusedChangeError as error:
        return refused(ResponseCode.NO_PERMISSION, str(error))
    user = users.table.users.get(name)
    if user is None:
        return done()
    if user.is_super and not _may_change_super(state, request):
        return refused(
            ResponseCode.NO_PERMISSION, "The super user can only be update by super user"
        )
    return change(state, request, f"deleted={name}", lambda table: table.without_user(name))


def get_user(state: State, request: Request) -> Outcome:
    name = UserRequest.decode(request.command.ext).username or ""
    users = users_of(state)
    if not isinstance(users, UserAccess):
        return users
    if not name.strip():
        return refused(ResponseCode.INVALID_PARAMETER, _BLANK)
    user = users.table.users.get(name)
    return done() if user is None else done_json(user.to_info().to_json())


def list_users(state: State, request: Request) -> Outcome:
    text = (ListUsersRequest.decode(request.command.ext).filter or "").strip()
    users = users_of(state)
    if not isinstance(users, UserAccess):
        return users
    found = [user for name, user in users.table.users.items() if text in name]
    if not found:
        return done()
    found.sort(key=lambda user: utf8_bytes(user.name))
    return done_json([user.to_info().to_json() for user in found])


def _asked(request: Request) -> UserInfo | None:
    """The user in the request; None if it names none. Raises RemoteError for a request without
    body."""
    name = UserRequest.decode(request.command.ext).username
    if not name:
        return None
    if not request.command.body:
        raise RemoteError("the request has no body, which must be a UserInfo")
    body = javajson.loads(request.command.body, values_max=VALUES_MAX)
    return replace(UserInfo.from_json(body), username=name)


def _makes_super(info: UserInfo) -> bool:
    return type_of(info.user_type) is UserType.SUPER


def _may_change_super(state: State, request: Request) -> bool:
    return state.access.users is not None and is_administrator(state, request)


def _refuse_account(state: State, name: str) -> None:
    """Raise RemoteError if the name is an account's: a name must mean one of both."""
    guard = state.access.guard
    if guard is not None and guard.has_accounts and name in guard.rules.accounts:
        raise RemoteError(
            f"The user is existed: {name} is an account of plain_acl.yml; choose another name, or"
            " delete the account first"
        )


def _updated(
    info: UserInfo, wall_ms: int, table: UserTable, *, may_change_super: bool
) -> UserTable:
    if table.existing(info.username or "").is_super and not may_change_super:
        raise RefusedChangeError("The super user can only be update by super user")
    return table.updated(info, wall_ms)


HANDLERS: Final[Handlers] = {
    RequestCode.AUTH_CREATE_USER: create_user,
    RequestCode.AUTH_UPDATE_USER: update_user,
    RequestCode.AUTH_DELETE_USER: delete_user,
    RequestCode.AUTH_GET_USER: get_user,
    RequestCode.AUTH_LIST_USER: list_users,
}
