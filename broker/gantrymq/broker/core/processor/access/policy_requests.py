"""Handles AUTH_CREATE_ACL, AUTH_UPDATE_ACL, AUTH_DELETE_ACL, AUTH_GET_ACL and AUTH_LIST_ACL.

They work as in Java, where creating and updating are the same too. One difference: an invalid
resource deletes nothing here, while Java ignores it and deletes all policies of the user.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gantrymq.acl.users.policy import policy_type_of
from gantrymq.acl.users.resource_pattern import ResourcePattern
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.user import SUBJECT_PREFIX, name_of
from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.access.user_access import UserAccess
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.processor.access.user_changes import change, users_of
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.wire import javajson
from gantrymq.wire.bodies.auth import AclInfo, PolicyInfo
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.admin import AclRequest, DeleteAclRequest, ListAclsRequest
from gantrymq.wire.java_string import utf8_bytes

# The limit for a body: a thousand entries have some eight values each. A policy with more source
# addresses is set by several requests.
VALUES_MAX: Final = 20_000


def update_acl(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = AclRequest.decode(request.command.ext)
    body = request.command.body
    info = AclInfo.from_json(javajson.loads(body, values_max=VALUES_MAX)) if body else AclInfo()
    if not info.policies:
        return refused(ResponseCode.SYSTEM_ERROR, "The body of acl is null")
    name = _subject_of(info.subject, header.subject)
    return change(
        state,
        request,
        f"policies-of={name}",
        lambda table: table.with_policies(name, info.policies),
    )


def delete_acl(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = DeleteAclRequest.decode(request.command.ext)
    name = name_of(header.subject)
    resource = _resource_of(header.resource)
    policy_type = policy_type_of(header.policy_type)
    return change(
        state,
        request,
        f"policies-deleted-of={name}",
        lambda table: table.without_policies(name, policy_type, resource),
    )


def get_acl(state: State, request: Request) -> Outcome:
    name = name_of(AclRequest.decode(request.command.ext).subject)
    users = users_of(state)
    if not isinstance(users, UserAccess):
        return users
    if name not in users.table.users:
        return refused(ResponseCode.NO_PERMISSION, "The subject is not exist.")
    acl = users.table.acl_of(name)
    return done() if acl is None else done_json(acl.to_json())


def list_acls(state: State, request: Request) -> Outcome:
    header = ListAclsRequest.decode(request.command.ext)
    users = users_of(state)
    if not isinstance(users, UserAccess):
        return users
    subject_filter = (header.subject_filter or "").strip()
    resource_filter = (header.resource_filter or "").strip()
    acls = [*_filtered(users.table, subject_filter, resource_filter)]
    return done_json([acl.to_json() for acl in acls]) if acls else done()


def _filtered(table: UserTable, subject_filter: str, resource_filter: str) -> Iterator[AclInfo]:
    """Filter as Java does: a user whose name contains the resource filter is shown with all
    policies."""
    for name in sorted(table.policies, key=utf8_bytes):
        subject = SUBJECT_PREFIX + name
        acl = table.acl_of(name)
        if acl is None or subject_filter not in subject:
            continue
        if resource_filter and resource_filter not in subject:
            acl = replace(acl, policies=tuple(_about(acl.policies, resource_filter)))
        if acl.policies:
            yield acl


def _about(policies: tuple[PolicyInfo, ...], resource_filter: str) -> Iterator[PolicyInfo]:
    for policy in policies:
        entries = [each for each in policy.entries if resource_filter in (each.resource or "")]
        if entries:
            yield replace(policy, entries=tuple(entries))


def _subject_of(*subjects: str | None) -> str:
    """The user in the body, else in the header. Raises RemoteError if neither names one."""
    for subject in subjects:
        try:
            return name_of(subject)
        except RemoteError:
            continue
    return name_of(None)


def _resource_of(text: str | None) -> ResourcePattern | None:
    """The resource to delete; None, if the request names none, means all policies."""
    if text is None or not text.strip():
        return None
    resource = ResourcePattern.parse(text)
    if resource is None:
        raise RemoteError(
            "An system error occurred, please try again later. The resource must be *, Topic:name,"
            " Group:name or Cluster:name; nothing was deleted"
        )
    return resource


HANDLERS: Final[Handlers] = {
    RequestCode.AUTH_CREATE_ACL: update_acl,
    RequestCode.AUTH_UPDATE_ACL: update_acl,
    RequestCode.AUTH_DELETE_ACL: delete_acl,
    RequestCode.AUTH_GET_ACL: get_acl,
    RequestCode.AUTH_LIST_ACL: list_acls,
}
