"""Derives the settings and the Service endpoint of a group's member from the broker's setup."""

from __future__ import annotations

from gantrymq.broker.configuration import Setup
from gantrymq.broker.core.settings import BrokerRole
from gantrymq.broker.member.slice_keeper import PORT_NAMES
from gantrymq.broker.setup.group_setup import GroupSetup
from gantrymq.ha.lease.endpoint_slice import Endpoint
from gantrymq.ha.member.links.link_settings import LinkSettings
from gantrymq.ha.member.member_settings import MemberSettings
from gantrymq.ha.protocol.handshake import Member as MemberName
from gantrymq.store.settings import FlushDiskType


def member_settings_of(setup: Setup, group: GroupSetup, boot: str) -> MemberSettings:
    """The settings of this member in this boot of its machine."""
    identity, settings = setup.identity, setup.settings
    secret_file = setup.links.secret_file
    assert secret_file is not None, "a group that elects its master has one"
    link = LinkSettings(
        MemberName(f"{identity.cluster}/{identity.name}", group.number, boot),
        secret_file.secret,
        frozenset(group.ha_addresses),
        waits=settings.broker_role is BrokerRole.SYNC_MASTER,
        flushes=setup.store.flush_disk_type is FlushDiskType.SYNC_FLUSH,
        min_in_sync=group.min_in_sync,
    )
    addresses = dict(group.ha_addresses)
    if "brokerIP2" in setup.sources:  # a pod's IP needs no DNS lookup, which may be outdated
        addresses[group.number] = identity.ha_address
    return MemberSettings(link, addresses, identity.address)


def endpoint_of(setup: Setup, group: GroupSetup, epoch: int) -> Endpoint:
    """The endpoint of the group's Service while this member is master."""
    settings, pod = setup.settings, group.pod
    port = settings.listen_port
    numbers = (port, port - 2, settings.ha_listen_port)
    ports = dict(zip(PORT_NAMES, numbers, strict=True))
    return Endpoint(epoch, settings.broker_ip1, ports, pod.node, pod.name, pod.uid)
