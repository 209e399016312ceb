"""Asks the master of a group how far its followers have come, over the remoting protocol.

A follower shows up with the address of its replication connection: the name of its pod, when the
master opened the connection, or the IP address of its pod, when the follower did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Final, final

from gantrymq.base.errors import GantryError
from gantrymq.client.aio.admin import Admin
from gantrymq.operator.brokers.access import FILES, BrokerAccess
from gantrymq.operator.plan.snapshot import MemberReport
from gantrymq.runtime.logs import Log
from gantrymq.wire.bodies.ha_status import HaStatus

# Within a reconciliation; a broker that takes longer is shown as it was not asked.
ASK_SECONDS: Final = 2.0
# Secure clusters whose connections are kept; each has an account and an authority of its own.
ACCESSES_MAX: Final = 64


@final
class ReplicationReader:
    """Owner of the connections to masters, until `close`."""

    def __init__(self) -> None:
        self._admins: dict[BrokerAccess | None, Admin] = {}
        self._log = Log("operator.replication")

    async def close(self) -> None:
        admins, self._admins = self._admins, {}
        for each in admins.values():
            await each.close()

    async def ask(
        self,
        address: str,
        master: int,
        members_by_host: Mapping[str, int],
        access: BrokerAccess | None = None,
    ) -> tuple[MemberReport, ...] | None:
        """What the master at this address reports; None where it does not answer. `access` is that
        of a secure cluster."""
        try:
            admin = await self._admin(access)
            status = await admin.brokers.replication(address)
        except (GantryError, OSError, TimeoutError) as error:
            self._log.debug("master does not answer", address=address, cause=error)
            return None
        return reports(status, master, members_by_host)

    async def _admin(self, access: BrokerAccess | None) -> Admin:
        """Connections by this account; those of the cluster that was asked first end for others."""
        known = self._admins.get(access)
        if known is not None:
            return known
        # Every address comes from a Lease, so no name server is ever asked.
        keywords = FILES.keywords(access)
        keywords["name_servers"] = "127.0.0.1:9876"
        made = Admin(timeout_s=ASK_SECONDS, **keywords)
        await made.start()
        rival = self._admins.setdefault(access, made)
        if rival is not made:  # another group of the cluster was asked meanwhile
            await made.close()
        elif len(self._admins) > ACCESSES_MAX:
            await self._admins.pop(next(iter(self._admins))).close()
        return rival


def reports(
    status: HaStatus, master: int, members_by_host: Mapping[str, int]
) -> tuple[MemberReport, ...] | None:
    """The reports by member; None where the broker asked is not the master."""
    if not status.is_master:
        return None
    found = {master: MemberReport(master, is_in_sync=True, lag_bytes=0)}
    for follower in status.slaves:
        member = members_by_host.get(host_of(follower.address))
        if member is not None and member != master:
            found[member] = MemberReport(member, follower.is_in_sync, follower.behind_bytes)
    return tuple(found[member] for member in sorted(found))


def host_of(address: str) -> str:
    """The IP address, or the first label of the name, of a `host:port`."""
    host = address.rpartition(":")[0].strip("[]/")
    is_ip = ":" in host or host.replace(".", "").isdecimal()
    return host if is_ip else host.partition(".")[0]


def is_of_member(address: str, member: int, pods: Sequence[Mapping[str, object]]) -> bool:
    """Whether the pod of this member has the IP address of this `host:port`.

    Each member can write the address in the Lease; the operator connects to its group's pods alone.
    """
    try:
        ip = ip_address(host_of(address))
    except ValueError:
        return False
    return members_by_host(pods).get(str(ip)) == member


def members_by_host(pods: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """Member numbers of a group's pods, by the name and by the IP address of each pod."""
    members: dict[str, int] = {}
    for pod in pods:
        metadata, status = pod["metadata"], pod.get("status")
        assert isinstance(metadata, Mapping)
        name = str(metadata["name"])
        ordinal = name.rpartition("-")[2]
        if not ordinal.isdecimal():
            continue
        members[name] = int(ordinal) + 1
        ip = status.get("podIP") if isinstance(status, Mapping) else None
        if ip:
            members[str(ip_address(str(ip)))] = int(ordinal) + 1
    return members
