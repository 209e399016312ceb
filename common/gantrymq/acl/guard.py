"""Decides whether a server carries out a request. Every request goes through `Guard.check`.

Requests of accounts of plain_acl.yml (aclEnable) are checked in the order of Java 4.9:

    the address is in globalWhiteRemoteAddresses                        -> allowed
    there is no AccessKey, or no account with it                        -> refused
    the address is in the account's whiteRemoteAddress                  -> allowed
    the signature is wrong                                              -> refused
    an administrator is needed, and the account is none                 -> refused
    the account is an administrator without rights of its own           -> allowed
    the account lacks the right to a topic or group                     -> refused

Requests of users (authenticationEnabled) are checked in the order of Java 5: the user must exist,
be enabled, and have signed; it must be a Super user or have policies (authorizationEnabled) that
allow what the request needs.

A name means one account: that of plain_acl.yml if it exists there, otherwise a user. Invariants:
rules and users are replaced as a whole; without rules and users, no client is admitted; a request
without a row in needs.py is refused to all but administrators; only administrators can see and
change accounts.

Each refusal begins with Java's text; after that it says how to fix the cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias, final

from gantrymq.acl.plain import plain_rights
from gantrymq.acl.plain.accounts import Account, Rules
from gantrymq.acl.plain.white_list import places_of
from gantrymq.acl.requests.needs import ACCOUNT_REQUESTS, Requests
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.rights.refusal import (
    AuthenticationFailure,
    Refusal,
    not_permitted,
    refusal,
    shortened,
)
from gantrymq.acl.rights.rights import Need
from gantrymq.acl.signature import full_signature
from gantrymq.acl.signature.certificates import account_of
from gantrymq.acl.signature.full_signature import ReplayTable
from gantrymq.acl.signature.signature import ACCESS_KEY, is_signed
from gantrymq.acl.users import user_rights
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.user import User
from gantrymq.acl.users.user_rules import UserRules
from gantrymq.wire.command import Command

Principal: TypeAlias = Account | User

_NO_RULES: Final = UserRules()


@final
class Guard:
    """The access control of one server. Owned by the server's core."""

    __slots__ = ("_replays", "_requests", "_user_rules", "has_accounts", "rules", "users")

    def __init__(
        self,
        rules: Rules,
        requests: Requests,
        user_rules: UserRules = _NO_RULES,
        *,
        has_accounts: bool = True,
    ) -> None:
        """`has_accounts` says whether plain_acl.yml is in use."""
        self.rules: Rules = rules
        self.users: UserTable = UserTable()
        self.has_accounts: bool = has_accounts
        self._requests: Requests = requests
        self._user_rules: UserRules = user_rules
        self._replays: ReplayTable = ReplayTable()

    def replace(self, rules: Rules) -> None:
        """Use these accounts from now on."""
        self.rules = rules

    def replace_users(self, users: UserTable) -> None:
        """Use these users and policies from now on."""
        self.users = users

    # ------------------------------------------------------------------ the caller

    def account_of(self, command: Command) -> str:
        """The account that a request names, proven or not; "" for every account that does not
        exist."""
        key = (command.ext or {}).get(ACCESS_KEY, "")
        return key if self._find(key) is not None else ""

    def asking_account(self, command: Command, caller: Caller) -> str:
        """The account that a request names, or that its certificate maps to; "" as in
        `account_of`."""
        name, _ = self._claimed(command, caller)
        return name if name is not None and self._find(name) is not None else ""

    def is_administrator(self, command: Command, caller: Caller) -> bool:
        """Whether an admitted request comes from an administrator."""
        name, _ = self._claimed(command, caller)
        principal = self._find(name or "")
        if isinstance(principal, User):
            return principal.is_super
        return principal is not None and principal.is_unrestricted

    def _claimed(self, command: Command, caller: Caller) -> tuple[str | None, bool]:
        """The account that the request claims, and whether a certificate proves it."""
        key = (command.ext or {}).get(ACCESS_KEY)
        if key is None and caller.certificate_names:
            name = account_of(self._user_rules.certificate_rules, caller.certificate_names)
            return name, name is not None
        return key, False

    def _find(self, name: str) -> Principal | None:
        account = self.rules.accounts.get(name) if self.has_accounts else None
        if account is not None or not self._user_rules.authenticates:
            return account
        return self.users.users.get(name)

    # ------------------------------------------------------------------ requests

    def check(self, command: Command, caller: Caller) -> Refusal | None:
        """Why a request is refused; None if it is allowed."""
        if self._is_white(command, caller):
            return None
        name, is_proven = self._claimed(command, caller)
        if name is None:
            return self._check_anonymous(command, caller)
        principal = self._find(name)
        if principal is None:
            return self._unknown(name)
        if isinstance(principal, User) and not principal.is_enabled:
            return not_permitted(
                f"User:{name} is disabled. Enable it with updateUser -s enable",
                AuthenticationFailure.UNKNOWN_ACCOUNT,
            )
        if isinstance(principal, Account) and self._is_white_of(principal, command, caller):
            return None
        refused = None if is_proven else self._check_signature(command, caller, principal)
        return refused or self._check_rights(command, caller, principal)

    def _is_white(self, command: Command, caller: Caller) -> bool:
        """Whether the address needs no account. It never suffices for requests about accounts."""
        if not self.has_accounts or not self.rules.global_white:
            return False
        if not self.rules.lets_in(places_of(caller.peer)):
            return False
        return not self._is_of_users(command)

    def _is_white_of(self, account: Account, command: Command, caller: Caller) -> bool:
        """Whether the address proves this account without a signature."""
        is_white = account.white_remote_address.matches(places_of(caller.peer))
        return is_white and not self._is_of_users(command)

    def _is_of_users(self, command: Command) -> bool:
        """Whether the request shows or changes accounts of a server with users.

        For those requests an address alone proves nothing.
        """
        return self._user_rules.authenticates and command.code in ACCOUNT_REQUESTS

    def _check_anonymous(self, command: Command, caller: Caller) -> Refusal | None:
        rules = self._user_rules
        if not rules.authenticates:
            return refusal(
                "No accessKey is configured; the request is not signed: give the client an"
                " AclClientRPCHook (mqadmin: conf/tools.yml), or let its address in, which is"
                f" {caller.peer}, by globalWhiteRemoteAddresses",
                AuthenticationFailure.UNSIGNED,
            )
        if command.code not in rules.needs_no_signature:
            return not_permitted(
                "username cannot be null. The request is not signed: give the client an"
                " AclClientRPCHook with a user's name and password (mqadmin: conf/tools.yml)",
                AuthenticationFailure.UNSIGNED,
            )
        if rules.authorizes and command.code not in rules.needs_no_policy:
            return not_permitted(
                "Authorization failed. Please verify your access rights and try again. Request"
                f" code {command.code} is in authenticationWhitelist and not in"
                " authorizationWhitelist, and no user signed it",
                AuthenticationFailure.UNSIGNED,
            )
        return None

    def _unknown(self, name: str) -> Refusal:
        failure = AuthenticationFailure.UNKNOWN_ACCOUNT
        if self._user_rules.authenticates:
            return not_permitted(
                f"User:{shortened(name)} is not found. Create it with createUser, or have the"
                " client use another",
                failure,
            )
        return refusal(
            f"No acl config for {shortened(name)}; no such account in this server's"
            " plain_acl.yml: add it, or have the client use another",
            failure,
        )

    def _check_signature(
        self, command: Command, caller: Caller, principal: Principal
    ) -> Refusal | None:
        secrets = _secrets(principal, caller.wall_ms)
        is_user = isinstance(principal, User)
        if full_signature.is_present(command):
            for secret in secrets:
                if full_signature.is_signed(command, secret):
                    return self._check_fresh(command, caller, is_user=is_user)
            return _wrong_signature(principal)
        if self._user_rules.needs_full_signature:
            return refusal(
                "Check signature failed; this server takes only signatures that cover the request"
                " code (fullSignatureRequired=true), which clients and tools of Gantry make and"
                " RocketMQ's do not",
                AuthenticationFailure.UNSIGNED,
                is_user=is_user,
            )
        for secret in secrets:
            if is_signed(command, secret):
                return None
        return _wrong_signature(principal)

    def _check_fresh(self, command: Command, caller: Caller, *, is_user: bool) -> Refusal | None:
        if caller.was_admitted:
            return None
        fault = self._replays.fault(command, caller.wall_ms)
        if fault is None:
            return None
        return refusal(
            f"Check signature failed; {fault}", AuthenticationFailure.REPLAYED, is_user=is_user
        )

    # ------------------------------------------------------------------ rights

    def _check_rights(
        self, command: Command, caller: Caller, principal: Principal
    ) -> Refusal | None:
        row = self._requests.get(command.code)
        if isinstance(principal, User):
            if command.code in self._user_rules.needs_no_policy:
                return None
            return user_rights.check(self.users, principal, row, command, caller, self._user_rules)
        return plain_rights.check(principal, row, command)

    def check_more(self, command: Command, caller: Caller, needs: Iterable[Need]) -> Refusal | None:
        """Check needs of an admitted request that became known later; None if all are met."""
        if self._is_white(command, caller):
            return None
        name, _ = self._claimed(command, caller)
        rules = self._user_rules
        if name is None:
            is_open = command.code in rules.needs_no_signature
            return None if is_open else refusal("No accessKey is configured", is_user=True)
        principal = self._find(name)
        if principal is None:
            return refusal(
                f"No acl config for {shortened(name)}; its account was deleted meanwhile"
            )
        if isinstance(principal, User):
            if command.code in rules.needs_no_policy:
                return None
            return user_rights.lacking(self.users, principal, needs, caller, rules)
        if principal.is_unrestricted or self._is_white_of(principal, command, caller):
            return None
        return plain_rights.lacking(principal, needs)


def _secrets(principal: Principal, wall_ms: int) -> Sequence[str]:
    """All secrets that are valid for the account now."""
    secret = principal.password if isinstance(principal, User) else principal.secret_key
    old = principal.old_key
    if old is None or not old.is_valid(wall_ms):
        return (secret,)
    return (secret, old.secret)


def _wrong_signature(principal: Principal) -> Refusal:
    failure = AuthenticationFailure.WRONG_SIGNATURE
    if isinstance(principal, User):
        return not_permitted(
            f"check signature failed. The client's secret key is not the password of"
            f" {principal.subject}, or the request was changed on its way",
            failure,
        )
    return refusal(
        f"Check signature failed for accessKey={principal.access_key}; the client's secretKey is"
        " not that of plain_acl.yml, or the request was changed on its way",
        failure,
    )
