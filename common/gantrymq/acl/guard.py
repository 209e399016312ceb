"""Who gets in, in Java's order:

    the address is in globalWhiteRemoteAddresses                        -> yes
    there is no AccessKey; nobody has it                                -> no
    the address is in the account's whiteRemoteAddress                  -> yes
    the signature is not good                                           -> no
    the request needs an administrator, and this is none                -> no
    it is an administrator without rights of its own                    -> yes
    a topic or group is needed to which the account has no right        -> no

Each no begins as Java's does; behind that it says what helps. Invariant: rules are replaced whole,
and without any nobody gets in.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, final

from gantrymq.acl.accounts import Account, Rules
from gantrymq.acl.needs import needs_of
from gantrymq.acl.rights import Need, Resource, Right
from gantrymq.acl.signature import ACCESS_KEY, is_signed
from gantrymq.acl.white_list import places_of
from gantrymq.base.errors import RemoteError
from gantrymq.wire.command import Command

_PREFIX: Final = "org.apache.rocketmq.acl.common.AclException: "

# Who may do anything at all may also trace it.
_TRACES: Final = Need(Resource.TOPIC, "RMQ_SYS_TRACE_TOPIC", Right.PUB)

# Names in remarks are what a peer wrote.
_NAME_CHARACTERS_MAX: Final = 256


class AuthenticationFailure(StrEnum):
    """How a peer failed to prove its account; the values are labels of a metric."""

    UNSIGNED = "unsigned"
    UNKNOWN_ACCOUNT = "unknown_account"
    WRONG_SIGNATURE = "wrong_signature"
    THROTTLED = "throttled"
    """The signature was not checked, because too many before were wrong."""


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not carried out, as the remark of a SYSTEM_ERROR answer."""

    remark: str
    failure: AuthenticationFailure | None = None
    """None where the account is proven, and lacks a right."""
    is_logged: bool = True


@final
class Guard:
    """Of one server."""

    __slots__ = ("_admin_codes", "rules")

    def __init__(self, rules: Rules, admin_codes: AbstractSet[int]) -> None:
        self.rules = rules
        self._admin_codes = admin_codes

    def replace(self, rules: Rules) -> None:
        """From now on these count."""
        self.rules = rules

    def account_of(self, command: Command) -> str:
        """The account that a request names, proven or not; "" stands for all that do not exist."""
        key = (command.ext or {}).get(ACCESS_KEY, "")
        return key if key in self.rules.accounts else ""

    def check(self, command: Command, peer: str) -> Refusal | None:
        """`peer` is the `ip:port` it came from."""
        places = places_of(peer)
        if self.rules.lets_in(places):
            return None
        key = (command.ext or {}).get(ACCESS_KEY)
        if key is None:
            return refusal(
                "No accessKey is configured; the request is not signed: give the client an"
                " AclClientRPCHook (mqadmin: conf/tools.yml), or let its address in, which is"
                f" {peer}, by globalWhiteRemoteAddresses",
                AuthenticationFailure.UNSIGNED,
            )
        account = self.rules.accounts.get(key)
        if account is None:
            return refusal(
                f"No acl config for {shortened(key)}; no such account in this server's"
                " plain_acl.yml: add it, or have the client use another",
                AuthenticationFailure.UNKNOWN_ACCOUNT,
            )
        if account.white_remote_address.matches(places):
            return None
        if not is_signed(command, account.secret_key):
            return refusal(
                f"Check signature failed for accessKey={key}; the client's secretKey is not that of"
                " plain_acl.yml, or the request was changed on its way",
                AuthenticationFailure.WRONG_SIGNATURE,
            )
        return self._check_rights(command, account)

    def _check_rights(self, command: Command, account: Account) -> Refusal | None:
        if command.code in self._admin_codes and not account.admin:
            return refusal(
                f"Need admin permission for request code={command.code}, but"
                f" accessKey={account.access_key} is not; use an account with admin: true"
            )
        if account.is_unrestricted:
            return None
        try:
            needs = needs_of(command)
        except RemoteError as error:
            return refusal(str(error))
        return _lacking(account, needs)

    def check_more(self, command: Command, peer: str, needs: Iterable[Need]) -> Refusal | None:
        """What a request that was let in turned out to need."""
        places = places_of(peer)
        key = (command.ext or {}).get(ACCESS_KEY, "")
        account = self.rules.accounts.get(key)
        if self.rules.lets_in(places):
            return None
        if account is None:
            return refusal(f"No acl config for {shortened(key)}; its account was deleted meanwhile")
        if account.white_remote_address.matches(places) or account.is_unrestricted:
            return None
        return _lacking(account, needs)


def _lacking(account: Account, needs: Iterable[Need]) -> Refusal | None:
    """The first right of these that it does not have."""
    for need in needs:
        right = account.right_to(need)
        if not need.right & right and need != _TRACES:
            return refusal(
                f"No default permission for {need.resource.value}:{shortened(need.name)};"
                f" {need.right.text} is needed, and {account.access_key} has {right.text}:"
                f" add it to {need.resource.value}Perms of the account"
            )
    return None


def refusal(
    text: str, failure: AuthenticationFailure | None = None, *, is_logged: bool = True
) -> Refusal:
    """A refusal in RocketMQ's words."""
    return Refusal(_PREFIX + text, failure, is_logged=is_logged)


def shortened(name: str) -> str:
    return name if len(name) <= _NAME_CHARACTERS_MAX else name[: _NAME_CHARACTERS_MAX - 1] + "…"
