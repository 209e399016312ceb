"""Users and policies of RocketMQ 5 at single brokers: requests 3001 to 3010."""

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
"""The old password of `rotate` signs until `end_rotation`."""


@final
class Users:
    """The users of brokers, by the broker's address. Raises BrokerError where users are off."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def create(self, address: str, user: UserInfo) -> None:
        """A user that is not there yet: its name and password, perhaps its type."""
        await self._change(address, RequestCode.AUTH_CREATE_USER, user)

    async def update(self, address: str, user: UserInfo) -> None:
        """Change what is given of a user; the rest stays."""
        await self._change(address, RequestCode.AUTH_UPDATE_USER, user)

    async def rotate(
        self, address: str, name: str, password: str, old_seconds: int = UNTIL_REMOVED
    ) -> None:
        """A new password; the one before signs as well for so long, or until `end_rotation`."""
        user = UserInfo(username=name, password=password, old_password_seconds=old_seconds)
        await self.update(address, user)

    async def end_rotation(self, address: str, name: str) -> None:
        """Only the new password signs from now on."""
        await self.update(address, UserInfo(username=name, old_password_seconds=0))

    async def delete(self, address: str, name: str) -> None:
        """The user and its policies."""
        await self._asking.ask(address, RequestCode.AUTH_DELETE_USER, UserRequest(username=name))

    async def get(self, address: str, name: str) -> UserInfo | None:
        """None where there is no such user. Brokers of Java show the password."""
        header = UserRequest(username=name)
        value = await _value(self._asking, address, RequestCode.AUTH_GET_USER, header)
        return None if value is None else UserInfo.from_json(value)

    async def listed(self, address: str, text: str = "") -> list[UserInfo]:
        """Those that have the text in their name."""
        header = ListUsersRequest(filter=text or None)
        value = await _value(self._asking, address, RequestCode.AUTH_LIST_USER, header)
        return [UserInfo.from_json(each) for each in list_of(value or [], "users")]

    async def _change(self, address: str, code: RequestCode, user: UserInfo) -> None:
        header = UserRequest(username=user.username)
        await self._asking.ask(address, code, header, _body(user.to_json()))


@final
class Policies:
    """What the users of brokers may do, by the broker's address. A subject is `User:name`."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def create(self, address: str, acl: AclInfo) -> None:
        """Entries, each in the place of one for the same resource; the user has to be there."""
        await self._change(address, RequestCode.AUTH_CREATE_ACL, acl)

    async def update(self, address: str, acl: AclInfo) -> None:
        """The same as `create`, for brokers of RocketMQ and of Gantry."""
        await self._change(address, RequestCode.AUTH_UPDATE_ACL, acl)

    async def delete(self, address: str, subject: str, resource: str | None = None) -> None:
        """The entry for one resource, or all policies of the subject."""
        header = DeleteAclRequest(subject=subject, resource=resource)
        await self._asking.ask(address, RequestCode.AUTH_DELETE_ACL, header)

    async def get(self, address: str, subject: str) -> AclInfo | None:
        """None where the user has no policies. Raises BrokerError where there is no such user."""
        header = AclRequest(subject=subject)
        value = await _value(self._asking, address, RequestCode.AUTH_GET_ACL, header)
        return None if value is None else AclInfo.from_json(value)

    async def listed(self, address: str, subject: str = "", resource: str = "") -> list[AclInfo]:
        """Those that have these texts in their subjects and resources."""
        header = ListAclsRequest(subject_filter=subject or None, resource_filter=resource or None)
        value = await _value(self._asking, address, RequestCode.AUTH_LIST_ACL, header)
        return [AclInfo.from_json(each) for each in list_of(value or [], "policies")]

    async def _change(self, address: str, code: RequestCode, acl: AclInfo) -> None:
        await self._asking.ask(address, code, AclRequest(subject=acl.subject), _body(acl.to_json()))


async def _value(asking: Asking, address: str, code: RequestCode, header: Header) -> Json:
    """The body of the answer; None where it has none, which says that there is nothing."""
    answer: Command = await asking.ask(address, code, header)
    return javajson.loads(answer.body, references=True) if answer.body else None


def _body(bean: JsonObject) -> bytes:
    return javajson.dumps_fastjson(bean)
