"""Maps a client's certificate to an account.

    CN:orders-service=orders; DNS:*.billing.svc=billing; URI:spiffe://prod/*=*; CN:*=*

Rules are separated by `;` and read from left to right; the first rule that matches one of the
certificate's names decides. A `*` at the start or the end of a pattern matches any text; as the
account it stands for the text that the pattern's `*` matched. The server has verified the
certificate: one that no trusted authority signed has no names here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import ConfigurationError

KINDS: Final = ("CN", "DNS", "URI", "EMAIL")

# Each new connection is compared with all rules.
RULES_MAX: Final = 256

_ANY: Final = "*"


@final
@dataclass(frozen=True, slots=True)
class CertificateRule:
    """One rule: certificates with a matching name belong to this account."""

    head: str
    tail: str
    is_pattern: bool
    account: str

    @classmethod
    def parse(cls, text: str) -> CertificateRule:
        pattern, equals, account = (part.strip() for part in text.rpartition("="))
        kind, colon, name = pattern.partition(":")
        is_known = colon and kind in KINDS and name
        if not equals or not is_known or not account or name.count(_ANY) > 1:
            raise ConfigurationError(
                f"{text!r} is no rule for certificates; write KIND:name=account, as in"
                f" CN:orders-service=orders, where KIND is one of {', '.join(KINDS)} and the name"
                " has one * at most"
            )
        if account == _ANY and _ANY not in name:
            raise ConfigurationError(f"{text!r} names no account: * stands for the name's *")
        head, star, tail = pattern.partition(_ANY)
        return cls(head, tail, bool(star), account)

    def account_of(self, name: str) -> str | None:
        """The account of a certificate with this name; None if the rule does not match."""
        if not self.is_pattern:
            return self.account if name == self.head else None
        has_room = len(name) > len(self.head) + len(self.tail)
        if not (has_room and name.startswith(self.head) and name.endswith(self.tail)):
            return None
        if self.account != _ANY:
            return self.account
        return name[len(self.head) : len(name) - len(self.tail)]


def parse_rules(text: str) -> tuple[CertificateRule, ...]:
    """Parse rules; ConfigurationError names the one that cannot be used."""
    rules = tuple(CertificateRule.parse(part) for part in text.split(";") if part.strip())
    if len(rules) > RULES_MAX:
        raise ConfigurationError(f"there are {len(rules)} rules, and {RULES_MAX} are allowed")
    return rules


def account_of(rules: Sequence[CertificateRule], names: Sequence[str]) -> str | None:
    """The account of a certificate with these names; None if no rule matches."""
    for rule in rules:
        for name in names:
            account = rule.account_of(name)
            if account is not None:
                return account
    return None
