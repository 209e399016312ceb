"""Defines a user: name, password, type and status, and its previous password.

A client signs with the name as access key and the password as secret key. When a password is
replaced, the previous one may stay valid until a given time, or until it is removed: see keys.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, final

from gantrymq.acl.plain.keys import OldKey
from gantrymq.acl.users.refused import RefusedChangeError
from gantrymq.base.errors import RemoteError
from gantrymq.wire.bodies.auth import UserInfo

# The longest name or password. Signatures are made with them and tables are keyed by them, so both
# are bounded before anything is kept.
CHARACTERS_MAX: Final = 255

SUBJECT_PREFIX: Final = "User:"


class UserType(Enum):
    """A Super user may do everything; a Normal user what its policies allow."""

    SUPER = "Super"
    NORMAL = "Normal"


class UserStatus(Enum):
    """Whether a user may do anything at all."""

    ENABLE = "enable"
    DISABLE = "disable"


_TYPES: Final = {each.value.lower(): each for each in UserType}
_STATUSES: Final = {each.value.lower(): each for each in UserStatus}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """One row of the table of users."""

    name: str
    password: str = field(repr=False)
    type: UserType = UserType.NORMAL
    status: UserStatus = UserStatus.ENABLE
    old_key: OldKey | None = None
    """The previous password, while it is valid."""

    def __post_init__(self) -> None:
        check_name(self.name)
        if not self.password.strip():
            raise RefusedChangeError("password can not be blank")
        if len(self.password) > CHARACTERS_MAX or not self.password.isprintable():
            raise RefusedChangeError(
                f"password can not be used: at most {CHARACTERS_MAX} printable characters"
            )

    @property
    def is_super(self) -> bool:
        return self.type is UserType.SUPER

    @property
    def is_enabled(self) -> bool:
        return self.status is UserStatus.ENABLE

    @property
    def subject(self) -> str:
        return SUBJECT_PREFIX + self.name

    def to_info(self) -> UserInfo:
        """The user as responses show it: everything but passwords."""
        return UserInfo(
            username=self.name,
            user_type=self.type.value,
            user_status=self.status.value,
            old_password_until=None if self.old_key is None else self.old_key.until_ms,
        )


def check_name(name: str) -> None:
    """RefusedChangeError if no user can have this name."""
    if not name.strip():
        raise RefusedChangeError("username can not be blank")
    if len(name) > CHARACTERS_MAX or not name.isprintable():
        raise RefusedChangeError(
            f"username can not be used: at most {CHARACTERS_MAX} printable characters"
        )


def type_of(name: str | None) -> UserType | None:
    return _TYPES.get((name or "").lower())


def status_of(name: str | None) -> UserStatus | None:
    return _STATUSES.get((name or "").lower())


def name_of(subject: str | None) -> str:
    """The name in `User:name`; RemoteError for anything else."""
    head, colon, name = (subject or "").partition(":")
    if not colon or head.lower() != "user":
        raise RemoteError(
            "An system error occurred, please try again later. The subject must be User:name"
        )
    return name
