"""Declares the security fields of a BrokerCluster, and their rules in CEL and in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final, final

from gantrymq.operator.resources.fields import Rule, Text, described, quoted

_SECRET_NAME: Final = Text(
    253,
    "[a-z0-9]([-a-z0-9.]*[a-z0-9])?",
    "must be the name of a Secret: lower-case letters, digits, hyphens and dots",
)

# The keys of brokers and name servers that the profile `secure` decides.
_SERVER_KEYS: Final = (
    "secureDefaults", "aclEnable", "aclFile", "metricsBindAddress", "metricsTokenFile",
    "tls.config.file", "tls.server.mode", "tls.server.certPath", "tls.server.keyPath",
    "tls.server.keyPassword", "tls.test.mode.enable",
)  # fmt: skip
_BROKER_KEYS: Final = (
    *_SERVER_KEYS, "aclCredentialsFile", "aclFileReadOnly", "haAllowUnauthenticatedSlaves",
    "haListen", "tls.client.authServer", "tls.client.trustCertPath", "tls.enable", "useTLS",
)  # fmt: skip


@final
class SecurityProfile(StrEnum):
    """Whether the servers of a cluster require accounts and TLS."""

    OPEN = "open"
    SECURE = "secure"


def profile_keys(settings: Mapping[str, Any], *, of_name_servers: bool = False) -> list[str]:
    """Return the keys of spec.config, or of spec.nameServerConfig, that the profile decides."""
    return [key for key in (_SERVER_KEYS if of_name_servers else _BROKER_KEYS) if key in settings]


# ------------------------------------------------------------------ rules

_IS_SECURE: Final = (
    "has(self.security) && has(self.security.profile) && self.security.profile == 'secure'"
)


def _is_secure(spec: Mapping[str, Any]) -> bool:
    return bool((spec.get("security") or {}).get("profile") == SecurityProfile.SECURE)


def _without(field: str, keys: tuple[str, ...]) -> Rule:
    """Return the rule that with the secure profile a map of settings has none of the keys."""
    lacks = " && ".join(f"!({quoted(key)} in self.{field})" for key in keys)

    def holds(spec: Mapping[str, Any]) -> bool:
        return not _is_secure(spec) or not any(key in spec.get(field, {}) for key in keys)

    return Rule(
        f"!({_IS_SECURE}) || !has(self.{field}) || ({lacks})",
        f"must not have keys that security.profile: secure decides: {', '.join(keys)}; remove"
        " them, or use security.profile: open",
        holds,
        at=field,
    )


SECURE_RULES: Final = (
    _without("config", _BROKER_KEYS),
    _without("nameServerConfig", _SERVER_KEYS),
    Rule(
        f"!({_IS_SECURE}) || !has(self.replicationTls) || self.replicationTls == 'required'",
        "must be required, or absent, with security.profile: secure",
        lambda spec: not _is_secure(spec) or spec.get("replicationTls", "required") == "required",
        at="replicationTls",
    ),
)
"""The rules about a whole spec."""


def _needs_secure(field: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda security: field not in security or security.get("profile") == "secure"


def _of_secure(field: str) -> Rule:
    return Rule(
        f"!has(self.{field}) || (has(self.profile) && self.profile == 'secure')",
        "needs profile: secure beside it; an open cluster uses no such Secret",
        _needs_secure(field),
        at=field,
    )


# ------------------------------------------------------------------ fields


@final
@dataclass(frozen=True, slots=True)
class SecuritySpec:
    """The security profile, and the Secrets with accounts and certificates."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(oldSelf.profile) || !has(self.profile) || self.profile == oldSelf.profile",
            "cannot be changed after creation, because clients and servers with and without it"
            " cannot talk to each other: create another BrokerCluster and move producers and"
            " consumers there",
            at="profile",
        ),
        _of_secure("accountsSecret"),
        _of_secure("tlsSecret"),
    )

    profile: SecurityProfile | None = described(
        "Which clients may use the servers. `secure`: servers accept only TLS, clients need"
        " an account, members replicate the log by TLS, and metrics need a token, as with"
        " secureDefaults=true of brokers and name servers. `open`: any client that reaches the"
        " ports may do everything, unless config says otherwise. It cannot be changed after"
        " creation.",
        None,
        default_words="that of the operator's installation at the creation of the cluster, which"
        " status.securityProfile keeps",
        example="secure",
    )
    accounts_secret: str | None = described(
        "Secret with the accounts: entries `plain_acl.yml` (all accounts, as in"
        " docs/operations/security/accounts.md), `tools.yml` (keys of the administrator by"
        " which brokers and the operator sign) and"
        " `metrics.token`. Pods read a change within a minute or two, without a restart, but for"
        " `tools.yml`.",
        None,
        text=_SECRET_NAME,
        default_words="<cluster>-accounts, which the operator creates, with <cluster>-client for"
        " applications",
        example="orders-users",
    )
    tls_secret: str | None = described(
        "Secret with the certificate of brokers and name servers, as cert-manager makes it:"
        " entries `tls.crt`, `tls.key`, and `ca.crt`, by which they and the operator check each"
        " other. Pods read a change within a minute or two, without a restart.",
        None,
        text=_SECRET_NAME,
        default_words="<cluster>-tls, which the operator creates, with an authority of its own",
        example="orders-certificate",
    )

    @property
    def is_secure(self) -> bool:
        return self.profile is SecurityProfile.SECURE
