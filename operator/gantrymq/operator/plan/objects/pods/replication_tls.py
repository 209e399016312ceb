"""Decides whether the links between a group's members use TLS, one step for each rolling restart.

    none        accepts no TLS: tls.server.mode=disabled
    accepted    connects without TLS, accepts connections with and without it
    used        connects by TLS, accepts connections with and without it
    required    connects by TLS, accepts no other connection

Two members can always connect if their modes are equal or neighbours in this order, and otherwise
cannot. So a template is at most one step from the mode of each running member, and the next step
follows when all members have it. Invariant: a member with the new template can connect to all
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final, final

from gantrymq.base.configuration.properties import parse_properties
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import annotation_of, map_at
from gantrymq.operator.plan.objects.pods.workloads import CONFIG_ENTRY, template_entry
from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec, ReplicationTls

HA_TLS: Final = "haTls"
SERVER_MODE: Final = "tls.server.mode"


@final
class LinkTls(IntEnum):
    """The modes, in the order in which neighbours can connect."""

    NONE = 0
    ACCEPTED = 1
    USED = 2
    REQUIRED = 3


_OF_FIELD: Final = {
    ReplicationTls.ACCEPTED: LinkTls.ACCEPTED,
    ReplicationTls.USED: LinkTls.USED,
    ReplicationTls.REQUIRED: LinkTls.REQUIRED,
}
_OF_SERVER_MODE: Final = {"disabled": LinkTls.NONE, "enforcing": LinkTls.REQUIRED}


def wanted_mode(spec: BrokerClusterSpec) -> LinkTls:
    """Return the mode that the resource asks for."""
    if spec.security.is_secure:
        return LinkTls.REQUIRED
    of_config = _mode_by(spec.config)
    if spec.replication_tls is None or of_config is LinkTls.NONE:
        return of_config
    return _OF_FIELD[spec.replication_tls]


def next_mode(
    spec: BrokerClusterSpec,
    stateful_set: Json | None,
    config_map: Json | None,
    pods: Iterable[Json] | None,
) -> LinkTls:
    """Return the mode of the next template of a group. `stateful_set` and `config_map` are its
    observed objects; `pods` is None if the pods could not be read."""
    wanted = wanted_mode(spec)
    entries = {template_entry(stateful_set)} if stateful_set is not None else set()
    entries |= {annotation_of(pod, CONFIG_ENTRY) for pod in pods or ()}
    texts = map_at(config_map, "data")
    modes = {_mode_by(parse_properties(texts[each])) for each in entries if each in texts}
    if not modes:
        return wanted
    least = min(wanted, LinkTls.ACCEPTED)
    if pods is None:  # they may have any mode next to that of the template
        wanted = max(modes)
    return LinkTls(max(least, min(max(wanted, max(modes) - 1), min(modes) + 1)))


def link_settings(mode: LinkTls, spec: BrokerClusterSpec) -> dict[str, str]:
    """Return the settings of this mode for broker.conf; none if the user's settings already set
    it."""
    of_config = _mode_by(spec.config)
    if mode is of_config:
        return {}
    settings = {HA_TLS: mode.name.lower()}
    if of_config is LinkTls.NONE:  # needed until no member connects by TLS any more
        settings[SERVER_MODE] = "permissive"
    return settings


def _mode_by(settings: Mapping[str, object]) -> LinkTls:
    """Return the mode of a broker with these settings."""
    server = _OF_SERVER_MODE.get(_word(settings, SERVER_MODE), LinkTls.ACCEPTED)
    mode = _word(settings, HA_TLS)
    known = {each.value: each for each in ReplicationTls}
    return server if server is LinkTls.NONE or mode not in known else _OF_FIELD[known[mode]]


def _word(settings: Mapping[str, object], key: str) -> str:
    return str(settings.get(key, "")).strip().lower()
