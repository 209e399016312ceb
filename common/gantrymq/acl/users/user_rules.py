"""Holds a server's settings for users and their policies, parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gantrymq.acl.requests.needs import ACCOUNT_REQUESTS
from gantrymq.acl.signature.certificates import CertificateRule
from gantrymq.base.errors import ConfigurationError
from gantrymq.wire.codes import RequestCode


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UserRules:
    """The settings of one server; the default knows no users."""

    authenticates: bool = False
    """Whether users may sign requests: authenticationEnabled."""
    authorizes: bool = False
    """Whether their policies are enforced: authorizationEnabled."""
    cluster: str = ""
    """The name of the `Cluster:` resource that requests concern."""
    needs_no_signature: frozenset[int] = frozenset()
    needs_no_policy: frozenset[int] = frozenset()
    certificate_rules: tuple[CertificateRule, ...] = ()
    needs_full_signature: bool = False
    """Whether a signature must cover the request code too: see full_signature.py."""


def codes_of(key: str, text: str) -> frozenset[int]:
    """The request codes in a white list; ConfigurationError names one that is not allowed."""
    codes = set()
    for part in text.split(","):
        if not part.strip():
            continue
        try:
            code = int(RequestCode(int(part)))
        except ValueError:
            raise ConfigurationError(
                f"{key}={text}: {part.strip()} is no request code; write numbers with commas"
                " between them, as in 105,34"
            ) from None
        if code in ACCOUNT_REQUESTS:
            raise ConfigurationError(
                f"{key}={text}: {code} ({RequestCode(code).name}) shows or changes accounts; with"
                " it every peer would be an administrator. Leave it out"
            )
        codes.add(code)
    return frozenset(codes)
