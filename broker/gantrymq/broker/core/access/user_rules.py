"""Parses and checks the broker's settings of users."""

from __future__ import annotations

from gantrymq.acl.signature.certificates import parse_rules
from gantrymq.acl.users.user_rules import UserRules, codes_of
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.core.settings import BrokerSettings


def user_rules_of(settings: BrokerSettings) -> UserRules:
    """The parsed settings. Raises ConfigurationError, which says what to write."""
    if settings.authorization_enabled and not settings.authentication_enabled:
        raise ConfigurationError(
            "authorizationEnabled=true needs authenticationEnabled=true: without it a peer may say"
            " that it is any user"
        )
    try:
        certificate_rules = parse_rules(settings.client_cert_accounts)
    except ConfigurationError as error:
        raise ConfigurationError(f"clientCertAccounts: {error}") from None
    return UserRules(
        authenticates=settings.authentication_enabled,
        authorizes=settings.authorization_enabled,
        cluster=settings.broker_cluster_name,
        needs_no_signature=codes_of("authenticationWhitelist", settings.authentication_whitelist),
        needs_no_policy=codes_of("authorizationWhitelist", settings.authorization_whitelist),
        certificate_rules=certificate_rules,
        needs_full_signature=settings.full_signature_required,
    )
