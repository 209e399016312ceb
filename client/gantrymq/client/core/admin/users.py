"""Manages RocketMQ 5 users and policies of single brokers by the requests 3001 to 3010."""

from __future__ import annotations

from typing import Final, final

from gantrymq.client.core.admin.asking import Asking
from gantrymq.wire import javajson
from gantrymq.wire.bodies.auth import AclInfo, UserInfo
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.headers.admin import (
    AclRequest,
    DeleteAclRequest,
    ListAclsRequest,
    ListUsersRequest,
    UserRequest,
)
from gantrymq.wire.jsonvalue import Json, JsonObject, list_of

UNTIL_REMOVED: Final = -1
"""The old password stays valid until `end_rotation`."""


@final
class Users:
    """User requests, by the broker's address. Each raises BrokerError if users are off there."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def create(self, address: str, user: UserInfo) -> None:
        """Create a user with a name, a password and optionally a type."""
        await self._change(address, RequestCode.AUTH_CREATE_USER, user)

    async def update(self, address: str, user: UserInfo) -> None:
        """Change the given fields of a user; the others stay."""
        await self._change(address, RequestCode.AUTH_UPDATE_USER, user)

    async def rotate(
        self, address: str, name: str, password: str, old_seconds: int = UNTIL_REMOVED
    ) -> None:
        """Set a new password. The old one stays valid for `old_seconds`, or until
        `end_rotation`."""
        user = UserInfo(username=name, password=password, old_password_seconds=old_seconds)
        await self.update(address, user)

    async def end_rotation(self, address: str, name: str) -> None:
        """Make the old password invalid at once."""
        await self.update(address, UserInfo(username=name, old_password_seconds=0))

    async def delete(self, address: str, name: str) -> None:
        """Delete the user and its policies."""
        await self._asking.ask(address, RequestCode.AUTH_DELETE_USER, UserRequest(username=name))

    async def get(self, address: str, name: str) -> UserInfo | None:
        """Return the user, or None if there is none. Java brokers include the password."""
        header = UserRequest(username=name)
        value = await _value(self._asking, address, RequestCode.AUTH_GET_USER, header)
        return None if value is None else UserInfo.from_json(value)

    async def listed(self, address: str, text: str = "") -> list[UserInfo]:
        """Return the users whose name contains the text."""
        header = ListUsersRequest(filter=text or None)
        value = await _value(self._asking, address, RequestCode.AUTH_LIST_USER, header)
        return [UserInfo.from_json(each) for each in list_of(value or [], "users")]

    async def _change(self, address: str, code: RequestCode, user: UserInfo) -> None:
        header = UserRequest(username=user.username)
        await self._asking.ask(address, code, header, _body(user.to_json()))


@final
class Policies:
    """Policy requests, by the broker's address. A subject is `User:name`."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def create(self, address: str, acl: AclInfo) -> None:
        """Add entries, each replacing one for the same resource; the user must exist."""
        await self._change(address, RequestCode.AUTH_CREATE_ACL, acl)

    async def update(self, address: str, acl: AclInfo) -> None:
        """Do the same as `create`; RocketMQ and Gantry brokers handle both alike."""
        await self._change(address, RequestCode.AUTH_UPDATE_ACL, acl)

    async def delete(self, address: str, subject: str, resource: str | None = None) -> None:
        """Delete the entry for one resource, or all policies of the subject."""
        header = DeleteAclRequest(subject=subject, resource=resource)
        await self._asking.ask(address, RequestCode.AUTH_DELETE_ACL, header)

    async def get(self, address: str, subject: str) -> AclInfo | None:
        """Return the policies, or None if the user has none. Raises BrokerError for an unknown
        user."""
        header = AclRequest(subject=subject)
        value = await _value(self._asking, address, RequestCode.AUTH_GET_ACL, header)
        return None if value is None else AclInfo.from_json(value)

    async def listed(self, address: str, subject: str = "", resource: str = "") -> list[AclInfo]:
        """Return the policies whose subject and resources contain these texts."""
        header = ListAclsRequest(subject_filter=subject or None, resource_filter=resource or None)
        value = await _value(self._asking, address, RequestCode.AUTH_LIST_ACL, header)
        return [AclInfo.from_json(each) for each in list_of(value or [], "policies")]

    async def _change(self, address: str, code: RequestCode, acl: AclInfo) -> None:
        await self._asking.ask(address, code, AclRequest(subject=acl.subject), _body(acl.to_json()))


async def _value(asking: Asking, address: str, code: RequestCode, header: Header) -> Json:
    """Return the parsed body; None if the response has no body, which means that nothing exists."""
    answer: Command = await asking.ask(address, code, header)
    return javajson.loads(answer.body, references=True) if answer.body else None


def _body(bean: JsonObject) -> bytes:
    return javajson.dumps_fastjson(bean)
