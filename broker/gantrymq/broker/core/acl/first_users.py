"""Creates missing users when a broker starts, as RocketMQ's settings say.

    initAuthenticationUser                  {"username":"root","password":"..."}, a Super user
    innerClientAuthenticationCredentials    {"accessKey":"broker","secretKey":"..."}, a Super user
                                            as which this broker signs
    migrateAuthFromV1Enabled                users and policies of the accounts of plain_acl.yml

An existing user is not changed, whatever the settings say: otherwise a restart would undo a
password that was changed by request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gantrymq.acl.plain.accounts import Account, Rules
from gantrymq.acl.rights.rights import Right
from gantrymq.acl.signature.signature import Credentials
from gantrymq.acl.users.policy import Decision, PolicyType
from gantrymq.acl.users.refused import RefusedChangeError
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.user import User, UserType
from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import State
from gantrymq.wire import javajson
from gantrymq.wire.bodies.auth import PolicyEntryInfo, PolicyInfo, UserInfo
from gantrymq.wire.jsonvalue import object_of, required_text_field, text_field

_SUPER: Final = UserType.SUPER.value
_ACTIONS: Final = {Right.PUB: "Pub", Right.SUB: "Sub"}


def begin(state: State) -> None:
    """Create missing users at startup, after the file of users was loaded."""
    users, guard = state.access.users, state.access.guard
    if users is None or guard is None:
        return
    table = with_first_users(users.table, state.settings, guard.rules)
    if table is not users.table:
        users.replace(table)
        state.files.touch(File.USERS)
    if not table.users and not guard.rules.accounts:
        state.effects.warning(
            "no users exist, and authenticationEnabled refuses every request: set"
            " initAuthenticationUser and restart the broker"
        )


def first_users(settings: BrokerSettings) -> list[UserInfo]:
    """The users in the settings. Raises ConfigurationError for a malformed setting, without its
    value."""
    found = []
    if text := settings.init_authentication_user.strip():
        found.append(_super_user("initAuthenticationUser", text, "username", "password"))
    inner = inner_credentials(settings)
    if inner is not None:
        found.append(
            UserInfo(username=inner.access_key, password=inner.secret_key, user_type=_SUPER)
        )
    return found


def inner_credentials(settings: BrokerSettings) -> Credentials | None:
    """The credentials with which this broker signs."""
    text = settings.inner_client_authentication_credentials.strip()
    if not text:
        return None
    key = "innerClientAuthenticationCredentials"
    user = _super_user(key, text, "accessKey", "secretKey")
    return Credentials(user.username or "", user.password or "")


def with_first_users(table: UserTable, settings: BrokerSettings, rules: Rules) -> UserTable:
    """The table with the missing users."""
    for info in first_users(settings):
        if info.username not in table.users:
            table = table.created(info)
    if settings.migrate_auth_from_v1_enabled:
        for account in rules.accounts.values():
            if account.access_key not in table.users:
                table = _migrated(table, account)
    return table


def _super_user(key: str, text: str, name: str, secret: str) -> UserInfo:
    try:
        bean = object_of(javajson.loads(text), key)
        user = User(name=required_text_field(bean, name), password=text_field(bean, secret) or "")
    except RemoteError:
        raise ConfigurationError(
            f'{key} cannot be used: write it as {{"{name}":"...","{secret}":"..."}}, in one line'
        ) from None
    return UserInfo(username=user.name, password=user.password, user_type=_SUPER)


def _migrated(table: UserTable, account: Account) -> UserTable:
    """Migrate as Java does: rights become Custom entries, defaults become Default ones."""
    kind = UserType.SUPER if account.admin else UserType.NORMAL
    table = table.created(
        UserInfo(username=account.access_key, password=account.secret_key, user_type=kind.value)
    )
    custom = [
        *_entries("Topic", account.topic_perms),
        *_entries("Group", account.group_perms),
    ]
    default = [
        *_entries("Topic", {"*": account.default_topic_perm}),
        *_entries("Group", {"*": account.default_group_perm}),
    ]
    policies = [_policy(PolicyType.CUSTOM, custom), _policy(PolicyType.DEFAULT, default)]
    try:
        return table.with_policies(account.access_key, policies)
    except RefusedChangeError as error:
        raise RefusedChangeError(f"{account.access_key} of plain_acl.yml: {error}") from error


def _policy(kind: PolicyType, entries: Iterable[PolicyEntryInfo]) -> PolicyInfo:
    return PolicyInfo(policy_type=kind.value, entries=tuple(entries))


def _entries(kind: str, rights: Mapping[str, Right]) -> Iterator[PolicyEntryInfo]:
    for name, right in rights.items():
        decision = Decision.ALLOW if right else Decision.DENY
        actions = [action for each, action in _ACTIONS.items() if each & right] or ["All"]
        yield PolicyEntryInfo(
            resource=f"{kind}:{name}", actions=tuple(actions), decision=decision.value
        )
