"""Holds users and their policies as an immutable table: each change makes a new table.

Invariants: policies belong to a user in the table; an accepted table can be written and read again;
a refusal begins with RocketMQ's reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, TypeVar, final

from gantrymq.acl.plain.keys import OldKey
from gantrymq.acl.users.policy import (
    ENTRIES_MAX,
    PolicyEntry,
    PolicyType,
    merged,
    policy_type_of,
)
from gantrymq.acl.users.refused import RefusedChangeError
from gantrymq.acl.users.resource_pattern import ResourcePattern
from gantrymq.acl.users.user import (
    SUBJECT_PREFIX,
    User,
    UserStatus,
    UserType,
    check_name,
    status_of,
    type_of,
)
from gantrymq.wire.bodies.auth import AclInfo, PolicyInfo, UserInfo

# The table is written as a whole at each change, and sent as a whole to other members.
USERS_MAX: Final = 10_000
ALL_ENTRIES_MAX: Final = 20_000

V = TypeVar("V")

Policies: TypeAlias = Mapping[PolicyType, tuple[PolicyEntry, ...]]
"""The policies of one user, in the order in which they were made."""

_NO_POLICIES: Final[Policies] = {}


@final
@dataclass(frozen=True, slots=True)
class UserTable:
    """All users of one broker, by name."""

    users: Mapping[str, User] = field(default_factory=dict)
    policies: Mapping[str, Policies] = field(default_factory=dict)

    @classmethod
    def of(cls, users: Mapping[str, User], infos: Mapping[str, Sequence[PolicyInfo]]) -> UserTable:
        """The table of a file's content; RefusedChangeError if no requests could have led to it."""
        policies = {
            name: {kind: merged((), entries) for kind, entries in _entries_by_type(each).items()}
            for name, each in infos.items()
        }
        if len(users) > USERS_MAX or sum(map(_count, policies.values())) > ALL_ENTRIES_MAX:
            raise RefusedChangeError(
                f"The table of users is too large: {USERS_MAX} users and {ALL_ENTRIES_MAX} policy"
                " entries are allowed"
            )
        return cls(users, policies)

    def policies_of(self, name: str) -> Policies:
        return self.policies.get(name, _NO_POLICIES)

    # ------------------------------------------------------------------ users

    def created(self, info: UserInfo) -> UserTable:
        """The table with one more user."""
        user = User(
            name=info.username or "",
            password=info.password or "",
            type=type_of(info.user_type) or UserType.NORMAL,
            status=status_of(info.user_status) or UserStatus.ENABLE,
        )
        if user.name in self.users:
            raise RefusedChangeError("The user is existed. Change it with updateUser")
        return self._with_user(user)

    def updated(self, info: UserInfo, wall_ms: int) -> UserTable:
        """The table with the fields of the update changed; other fields of the user stay."""
        user = self.existing(info.username or "")
        if info.password is not None and info.password.strip():
            user = _rekeyed(user, info, wall_ms)
        elif info.old_password_seconds == 0:
            user = replace(user, old_key=None)
        return self._with_user(
            replace(
                user,
                type=type_of(info.user_type) or user.type,
                status=status_of(info.user_status) or user.status,
            )
        )

    def without_user(self, name: str) -> UserTable:
        """The table without the user and its policies."""
        check_name(name)
        return UserTable(_without(self.users, name), _without(self.policies, name))

    def existing(self, name: str) -> User:
        check_name(name)
        user = self.users.get(name)
        if user is None:
            raise RefusedChangeError("The user is not exist. Create it with createUser")
        return user

    def _with_user(self, user: User) -> UserTable:
        if user.name not in self.users and len(self.users) >= USERS_MAX:
            raise RefusedChangeError(
                f"The table of users is full: it has {USERS_MAX}. Delete one with deleteUser"
            )
        return replace(self, users={**self.users, user.name: user})

    # ------------------------------------------------------------------ policies

    def with_policies(self, name: str, infos: Sequence[PolicyInfo]) -> UserTable:
        """The table with these entries, each replacing the one for the same resource, or
        appended."""
        changes = _entries_by_type(infos)
        if name not in self.users:
            raise RefusedChangeError(
                f"The subject of {SUBJECT_PREFIX}{name} is not exist. Create the user first"
            )
        policies = dict(self.policies_of(name))
        for policy_type, entries in changes.items():
            policies[policy_type] = merged(policies.get(policy_type, ()), entries)
        return self._with_policies(name, policies)

    def without_policies(
        self, name: str, policy_type: PolicyType, resource: ResourcePattern | None
    ) -> UserTable:
        """The table without the entry for the resource, or without all policies if it is None."""
        if name not in self.users:
            raise RefusedChangeError("The subject is not exist. There is no such user")
        if name not in self.policies:
            raise RefusedChangeError("The acl is not exist. The user has no policies")
        policies: dict[PolicyType, tuple[PolicyEntry, ...]] = {}
        if resource is not None:
            policies |= self.policies[name]
            kept = [each for each in policies.pop(policy_type, ()) if each.resource != resource]
            if kept:
                policies[policy_type] = tuple(kept)
        return self._with_policies(name, policies)

    def _with_policies(self, name: str, policies: Policies) -> UserTable:
        if not policies:
            return replace(self, policies=_without(self.policies, name))
        own = sum(map(len, policies.values()))
        others = sum(_count(each) for user, each in self.policies.items() if user != name)
        if own > ENTRIES_MAX or own + others > ALL_ENTRIES_MAX:
            raise RefusedChangeError(
                f"The policy entries are too many: {own} of this user and {others} of others;"
                f" {ENTRIES_MAX} and {ALL_ENTRIES_MAX} together are allowed. Use prefixes, as in"
                " Topic:orders-*"
            )
        return replace(self, policies={**self.policies, name: policies})

    def acl_of(self, name: str) -> AclInfo | None:
        """The policies of a user as responses show them; None if there are none."""
        policies = self.policies.get(name)
        return None if policies is None else _acl_info(name, policies)


def _count(policies: Policies) -> int:
    return sum(map(len, policies.values()))


def _acl_info(name: str, policies: Policies) -> AclInfo:
    infos = [
        PolicyInfo(
            policy_type=policy_type.value,
            entries=tuple(entry.to_info() for entry in entries),
        )
        for policy_type, entries in policies.items()
    ]
    return AclInfo(subject=SUBJECT_PREFIX + name, policies=tuple(infos))


def _rekeyed(user: User, info: UserInfo, wall_ms: int) -> User:
    """The user with a new password; the previous one stays valid as long as the update says."""
    try:
        old_key = OldKey.kept(user.password, info.old_password_seconds or 0, wall_ms)
    except ValueError as error:
        raise RefusedChangeError(f"oldPasswordSeconds={error}") from None
    return replace(user, password=info.password or "", old_key=old_key)


def _entries_by_type(infos: Sequence[PolicyInfo]) -> dict[PolicyType, list[PolicyEntry]]:
    """Parse the entries; RefusedChangeError before any is read if there are too many or none."""
    if sum(len(info.entries) for info in infos) > ENTRIES_MAX:
        raise RefusedChangeError(f"The policy entries are too many: at most {ENTRIES_MAX}")
    found: dict[PolicyType, list[PolicyEntry]] = {}
    for info in infos:
        if info.entries:
            entries = found.setdefault(policy_type_of(info.policy_type), [])
            entries += map(PolicyEntry.of, info.entries)
    if not found:
        raise RefusedChangeError("The policies is empty. Name at least one resource")
    return found


def _without(table: Mapping[str, V], name: str) -> dict[str, V]:
    return {key: value for key, value in table.items() if key != name}
