"""Holds the access rules of a broker, and changes them safely.

    replace(rules)                      the file was edited: the rules apply at once
    begin(rules), commit(), drop()      a request changes the rules: they apply once they are in the
                                        file
    overtake(rules)                     another broker is the master, and these are its rules: a
                                        change of this broker that is not in the file yet is dropped

Invariant: with aclEnable or authenticationEnabled there is a guard from the start. It refuses every
request until it has rules or users.
"""

from __future__ import annotations

from typing import final

from gantrymq.acl.guard import Guard
from gantrymq.acl.plain import plain_acl
from gantrymq.acl.plain.accounts import Rules
from gantrymq.acl.requests.needs import BROKER_REQUESTS
from gantrymq.acl.signature_throttle import SignatureThrottle
from gantrymq.acl.users.table_file import Seal
from gantrymq.audit.refused_attempts import RefusedAttempts
from gantrymq.broker.core.access.user_access import UserAccess
from gantrymq.broker.core.access.user_rules import user_rules_of
from gantrymq.broker.core.settings import BrokerSettings


@final
class Access:
    """The access rules of one broker. `guard` is None if access control is off."""

    __slots__ = ("coming", "guard", "refused_attempts", "throttle", "users")

    def __init__(self, settings: BrokerSettings, seal: Seal | None = None) -> None:
        """`seal` encrypts the passwords in the file of users."""
        self.guard = _guard_of(settings)
        has_users = self.guard is not None and settings.authentication_enabled
        self.users = UserAccess(self.guard, seal) if self.guard and has_users else None
        self.throttle = SignatureThrottle()
        self.refused_attempts = RefusedAttempts()
        self.coming: Rules | None = None
        """The rules that are being written to the file; None if no change is under way."""

    @property
    def is_changing(self) -> bool:
        return self.coming is not None

    def replace(self, rules: Rules) -> None:
        """Apply the rules of a file that was read again."""
        assert self.guard is not None, "there are no rules to replace while access control is off"
        self.guard.replace(rules)

    def begin(self, rules: Rules) -> None:
        """Begin a change: the next write of the file contains these rules."""
        assert self.coming is None, "one change at a time"
        self.coming = rules

    def commit(self) -> None:
        """Apply the rules of the change, which are in the file."""
        assert self.coming is not None, "nothing was begun"
        self.replace(self.coming)
        self.coming = None

    def drop(self) -> None:
        """Give the change up: the file could not be written."""
        self.coming = None

    def overtake(self, rules: Rules) -> None:
        """Apply the master's rules at once; the file is written later."""
        self.coming = None
        self.replace(rules)

    def content(self) -> bytes:
        """The content that the file must have: with the change that is under way, if any."""
        assert self.guard is not None, "access control is off: there is no file of accounts"
        return plain_acl.write(self.coming or self.guard.rules)


def _guard_of(settings: BrokerSettings) -> Guard | None:
    """The guard; None if neither accounts nor users are turned on."""
    if not settings.acl_enable and not settings.authentication_enabled:
        return None
    return Guard(
        Rules(), BROKER_REQUESTS, user_rules_of(settings), has_accounts=settings.acl_enable
    )
