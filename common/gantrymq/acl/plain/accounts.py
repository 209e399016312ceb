"""Defines accounts of plain_acl.yml and the rules that they form; values are checked when made.

Invariant: an account in `Rules` has keys that Java accepts too, so one file serves both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

from gantrymq.acl.plain.keys import OldKey
from gantrymq.acl.plain.white_list import AddressPattern, Places
from gantrymq.acl.rights.rights import RETRY_PREFIX, Need, Resource, Right
from gantrymq.base.errors import ConfigurationError
from gantrymq.wire.bodies.shared import DataVersion

# As in Java: a shorter key is refused.
KEY_CHARACTERS_MIN: Final = 7

_NO_PATTERN: Final = AddressPattern()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account that signs requests, and its rights."""

    access_key: str
    secret_key: str = field(repr=False)
    white_remote_address: AddressPattern = _NO_PATTERN
    admin: bool = False
    default_topic_perm: Right = Right.DENY
    default_group_perm: Right = Right.DENY
    topic_perms: Mapping[str, Right] = field(default_factory=dict)
    group_perms: Mapping[str, Right] = field(default_factory=dict)
    old_key: OldKey | None = None
    """The previous secret key, while it is valid."""

    def __post_init__(self) -> None:
        old_secret = self.secret_key if self.old_key is None else self.old_key.secret
        for name, key in (
            ("accessKey", self.access_key),
            ("secretKey", self.secret_key),
            ("oldSecretKey", old_secret),
        ):
            if len(key) < KEY_CHARACTERS_MIN or not key.isprintable():
                raise ConfigurationError(
                    f"The accessKey={self.access_key} and secretKey cannot be null and length"
                    f" should longer than {KEY_CHARACTERS_MIN - 1}: choose another {name}, of"
                    " printable characters"
                )
        for resource in (*self.topic_perms, *self.group_perms):
            if not resource or not resource.isprintable() or "=" in resource:
                raise ConfigurationError(f"{resource!r} is no name of a topic or a group")

    @property
    def is_unrestricted(self) -> bool:
        """Whether this is an administrator without rights listed; listed rights apply, as in
        Java."""
        return self.admin and not self.topic_perms and not self.group_perms

    def right_to(self, need: Need) -> Right:
        """The account's right to the topic or group that is needed."""
        if need.resource is Resource.TOPIC:
            return self.topic_perms.get(need.name, self.default_topic_perm)
        own = self.group_perms.get(need.name, self.default_group_perm)
        return self.topic_perms.get(RETRY_PREFIX + need.name, own)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The content of a file of accounts. Empty rules admit no client."""

    global_white: tuple[AddressPattern, ...] = ()
    accounts: Mapping[str, Account] = field(default_factory=dict)
    version: DataVersion = field(default_factory=DataVersion)
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def lets_in(self, places: Places | None) -> bool:
        """Whether this address needs no signature."""
        return any(pattern.matches(places) for pattern in self.global_white)

    def with_account(self, account: Account, wall_ms: int) -> Rules:
        """The rules with this account added, or replacing the one with the same key."""
        accounts = {**self.accounts, account.access_key: account}
        return replace(self, accounts=accounts, version=self.version.next(wall_ms), warnings=())

    def without_account(self, access_key: str, wall_ms: int) -> Rules:
        accounts = {key: each for key, each in self.accounts.items() if key != access_key}
        return replace(self, accounts=accounts, version=self.version.next(wall_ms), warnings=())

    def with_global_white(self, patterns: Sequence[AddressPattern], wall_ms: int) -> Rules:
        version = self.version.next(wall_ms)
        return replace(self, global_white=tuple(patterns), version=version, warnings=())
