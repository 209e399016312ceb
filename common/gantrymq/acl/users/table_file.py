"""Reads and writes the file of users, `config/users.json`, with secrets in clear or sealed.

    {"version": 1,
     "users": [{"name": "orders", "type": "Normal", "status": "enable", "password": "p",
                "oldPassword": "q", "oldPasswordUntil": 1700000000000,
                "policies": [{"policyType": "Custom", "entries": [...]}]}]}

With a seal, `password` and `oldPassword` are `sealed:` and the encrypted text. Policies have the
form of RocketMQ's requests. Reading checks everything that is checked in a request.
"""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

from gantrymq.acl.plain.keys import UNTIL_REMOVED, OldKey
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.user import User, status_of, type_of
from gantrymq.base.errors import RemoteError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.auth import PolicyInfo
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    int_field,
    list_of,
    long_field,
    object_of,
    required_text_field,
    text_field,
)

T = TypeVar("T")

VERSION: Final = 1

# The longest table that a member accepts from another member.
BYTES_MAX: Final = 8 << 20

_SEALED: Final = "sealed:"


class Seal(Protocol):
    """Encrypts secrets, so that the file is useless without the key."""

    def close(self, secret: str, owner: str) -> str: ...

    def open(self, sealed: str, owner: str) -> str:
        """Decrypt; RemoteError if the key differs, or the text was changed or moved."""


def write(table: UserTable, seal: Seal | None = None) -> bytes:
    """The content of the file; RemoteError if it is longer than members accept."""
    users: Json = [_user_json(table, user, seal) for user in table.users.values()]
    content = javajson.dumps_pretty({"version": VERSION, "users": users})
    if len(content) > BYTES_MAX:
        raise RemoteError(
            f"The table of users is full: it would have {len(content)} bytes, and {BYTES_MAX} are"
            " allowed. Delete users or policies first"
        )
    return content


def read(content: bytes, seal: Seal | None = None) -> UserTable:
    """Parse the file; RemoteError says what cannot be used."""
    bean = object_of(javajson.loads(content, BYTES_MAX), "users.json")
    version = int_field(bean, "version")
    if version != VERSION:
        raise RemoteError(f"users.json has version {version}, and only {VERSION} is known here")
    users: dict[str, User] = {}
    policies: dict[str, list[PolicyInfo]] = {}
    for each in list_of(bean.get("users"), "users"):
        entry = object_of(each, "users")
        user = _user(entry, seal)
        users[user.name] = user
        infos = list_of(entry.get("policies"), "policies")
        if infos:
            policies[user.name] = [PolicyInfo.from_json(info) for info in infos]
    return UserTable.of(users, policies)


def _user_json(table: UserTable, user: User, seal: Seal | None) -> JsonObject:
    bean: JsonObject = {
        "name": user.name,
        "password": _closed(user.password, user.name, seal),
        "status": user.status.value,
        "type": user.type.value,
    }
    if user.old_key is not None:
        bean["oldPassword"] = _closed(user.old_key.secret, user.name, seal)
        bean["oldPasswordUntil"] = user.old_key.until_ms
    acl = table.acl_of(user.name)
    if acl is not None:
        bean["policies"] = [policy.to_json() for policy in acl.policies]
    return bean


def _user(bean: JsonObject, seal: Seal | None) -> User:
    name = required_text_field(bean, "name")
    old = text_field(bean, "oldPassword")
    until_ms = long_field(bean, "oldPasswordUntil", UNTIL_REMOVED)
    return User(
        name=name,
        password=_opened(required_text_field(bean, "password"), name, seal),
        type=_known(type_of(text_field(bean, "type")), "type", name),
        status=_known(status_of(text_field(bean, "status")), "status", name),
        old_key=None if old is None else OldKey(_opened(old, name, seal), until_ms),
    )


def _closed(secret: str, owner: str, seal: Seal | None) -> str:
    """The password as it is written; in clear it must not look like a sealed one."""
    if seal is not None:
        return _SEALED + seal.close(secret, owner)
    if secret.startswith(_SEALED):
        raise RemoteError(f"password can not be used: it begins with {_SEALED}")
    return secret


def _opened(text: str, owner: str, seal: Seal | None) -> str:
    if not text.startswith(_SEALED):
        return text
    if seal is None:
        raise RemoteError(
            f"the password of {owner} is sealed, and authKeyFile names no key: set it to the file"
            " that the table was written with"
        )
    return seal.open(text.removeprefix(_SEALED), owner)


def _known(value: T | None, what: str, owner: str) -> T:
    """The value; RemoteError if it is unknown, because a guess could give a user more rights."""
    if value is None:
        raise RemoteError(f"the {what} of user {owner} in users.json is none that is known here")
    return value
