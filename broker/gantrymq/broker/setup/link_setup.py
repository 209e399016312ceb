"""Reads the settings of replication links: the proof that a peer belongs to the group, and TLS.

A master with a fixed role requires a proof if its other ports protect the messages: with aclEnable,
with tls.server.mode=enforcing, and if there is a secret. tls.server.mode=permissive, the default,
accepts any client without TLS and so protects nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gantrymq.base.configuration.settings import Bound
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.core.settings import BrokerRole, BrokerSettings, HaTls
from gantrymq.broker.setup.secret_file import SecretFile
from gantrymq.runtime.security.certificates import ClientTls, ServerTls, TlsMode

_ALLOWED: Final = (
    "haAllowUnauthenticatedSlaves=true: any peer that reaches haListenPort may read all messages,"
    " and may acknowledge messages to SYNC_MASTER that no slave has, although {guards}; keep that"
    " port on a network that you trust"
)
_NO_SLAVE: Final = (
    "no slave may follow, so sends are answered SLAVE_NOT_AVAILABLE: {guards}, and there is no"
    " groupSecretFile with which slaves could prove themselves"
)
_NO_USE: Final = (
    "{guards}, so slaves must prove themselves, and there is no groupSecretFile; set it at the"
    " master and its slaves, or haAllowUnauthenticatedSlaves=true for slaves of Java"
)
_UNPROVEN_MASTER: Final = (
    "the master need not prove itself to this slave: {guards}, but there is no groupSecretFile; a"
    " Gantry master with these settings accepts no slave without one"
)
_UNCHECKED_MASTER: Final = (
    "this slave connects to the master by TLS and accepts any master: set groupSecretFile, so that"
    " the master proves itself, or tls.client.trustCertPath to the authority of its certificate"
)


@dataclass(frozen=True, slots=True)
class LinkSetup:
    """The settings of one broker's replication links."""

    tls: HaTls = HaTls.ACCEPTED
    client_tls: ClientTls | None = None
    """The TLS settings of outgoing links; None for plain ones."""
    secret_file: SecretFile | None = None
    guards: tuple[str, ...] = ()
    """The settings that require a proof."""
    takes_unproven: bool = True
    """Whether a master with a fixed role accepts slaves that prove nothing, such as Java's."""
    closed_because: str = ""
    """Why a master with a fixed role does not listen for slaves; empty if it does."""


def read(bound: Bound[BrokerSettings], tls: Mapping[str, str], server: ServerTls) -> LinkSetup:
    """Read the settings. `tls` has the keys that begin with `tls.`. Raises ConfigurationError for
    settings that cannot be used."""
    settings = bound.settings
    mode = _mode(bound, server)
    guards = {
        "aclEnable=true": settings.acl_enable,
        "authenticationEnabled=true": settings.authentication_enabled,
        "tls.server.mode=enforcing": server.mode is TlsMode.ENFORCING,
        "groupSecretFile is set": bool(settings.group_secret_file),
    }
    asking = tuple(guard for guard, is_on in guards.items() if is_on)
    takes_unproven = settings.ha_allow_unauthenticated_slaves or not asking
    secret_file = _secret_file(bound)
    _must_listen(bound)
    return LinkSetup(
        mode,
        None if mode is HaTls.ACCEPTED else ClientTls.from_properties(tls),
        secret_file,
        asking,
        takes_unproven=takes_unproven,
        closed_because=_why_closed(settings, asking, is_usable=takes_unproven or bool(secret_file)),
    )


def warnings(settings: BrokerSettings, links: LinkSetup) -> tuple[str, ...]:
    """Warnings about missing protection of the links, for the log."""
    if settings.group_members:
        return ()
    is_slave = settings.broker_role is BrokerRole.SLAVE
    if is_slave and links.client_tls and not (links.secret_file or links.client_tls.checks_server):
        return (_UNCHECKED_MASTER,)
    if not links.guards:
        return ()
    guards = " and ".join(links.guards)
    if is_slave:
        return () if links.secret_file else (_UNPROVEN_MASTER.format(guards=guards),)
    if links.takes_unproven:
        return (_ALLOWED.format(guards=guards),)
    waits = settings.broker_role is BrokerRole.SYNC_MASTER
    return (_NO_SLAVE.format(guards=guards),) if waits and not links.secret_file else ()


def _must_listen(bound: Bound[BrokerSettings]) -> None:
    """Refuse haListen=false if the broker needs its slaves or members."""
    settings = bound.settings
    if settings.ha_listen:
        return
    if settings.group_members:
        raise bound.refusal(
            "haListen", "must be true: members of groupMembers connect to haListenPort"
        )
    if settings.broker_role is BrokerRole.SYNC_MASTER:
        raise bound.refusal("haListen", "must be true: brokerRole=SYNC_MASTER waits for slaves")


def _why_closed(settings: BrokerSettings, guards: tuple[str, ...], *, is_usable: bool) -> str:
    if settings.group_members or settings.broker_role is BrokerRole.SLAVE:
        return ""
    if not settings.ha_listen:
        return "haListen=false"
    return "" if is_usable else _NO_USE.format(guards=" and ".join(guards))


def _mode(bound: Bound[BrokerSettings], server: ServerTls) -> HaTls:
    if "haTls" not in bound.sources:
        return HaTls.REQUIRED if server.mode is TlsMode.ENFORCING else HaTls.ACCEPTED
    mode = bound.settings.ha_tls
    if mode is not HaTls.ACCEPTED and server.mode is TlsMode.DISABLED:
        what = "tls.server.mode=disabled accepts no TLS: set permissive or enforcing there"
        raise bound.refusal("haTls", what)
    return mode


def _secret_file(bound: Bound[BrokerSettings]) -> SecretFile | None:
    path = bound.settings.group_secret_file
    try:
        return SecretFile(path) if path else None
    except ConfigurationError as error:
        raise bound.refusal("groupSecretFile", str(error)) from None
