"""Asks the master of a group for the lag of its followers, over the remoting protocol.

The master reports each follower by the address of its replication connection: the name of its pod
if the master opened the connection, or the IP address of its pod if the follower opened it.
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

# The reconciliation waits for the answer. A broker that takes longer is shown without a lag.
ASK_SECONDS: Final = 2.0
# The number of accesses whose connections are kept. Each secure cluster has its own access.
ACCESSES_MAX: Final = 64


@final
class ReplicationReader:
    """Owns the connections to masters, until `close`."""

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
        """Return what the master at this address reports; None if it does not answer. `access` is
        None for an open cluster."""
        try:
            admin = await self._admin(access)
            status = await admin.brokers.replication(address)
        except (GantryError, OSError, TimeoutError) as error:
            self._log.debug("master does not answer", address=address, cause=error)
            return None
        return reports(status, master, members_by_host)

    async def _admin(self, access: BrokerAccess | None) -> Admin:
        """Return the connections of this access. At the limit, close the oldest ones."""
        known = self._admins.get(access)
        if known is not None:
            return known
        # Every address comes from a Lease, so the client never asks a name server.
        keywords = FILES.keywords(access)
        keywords["name_servers"] = "127.0.0.1:9876"
        made = Admin(timeout_s=ASK_SECONDS, **keywords)
        await made.start()
        rival = self._admins.setdefault(access, made)
        if rival is not made:  # a request for another group of the cluster was faster
            await made.close()
        elif len(self._admins) > ACCESSES_MAX:
            await self._admins.pop(next(iter(self._admins))).close()
        return rival


def reports(
    status: HaStatus, master: int, members_by_host: Mapping[str, int]
) -> tuple[MemberReport, ...] | None:
    """Return a report for each member; None if the broker that answered is not a master."""
    if not status.is_master:
        return None
    found = {master: MemberReport(master, is_in_sync=True, lag_bytes=0)}
    for follower in status.slaves:
        member = members_by_host.get(host_of(follower.address))
        if member is not None and member != master:
            found[member] = MemberReport(member, follower.is_in_sync, follower.behind_bytes)
    return tuple(found[member] for member in sorted(found))


def host_of(address: str) -> str:
    """Return the IP address, or the first label of the name, of a `host:port`."""
    host = address.rpartition(":")[0].strip("[]/")
    is_ip = ":" in host or host.replace(".", "").isdecimal()
    return host if is_ip else host.partition(".")[0]


def is_of_member(address: str, member: int, pods: Sequence[Mapping[str, object]]) -> bool:
    """Whether the pod of this member has the IP address of this `host:port`.

    Each member can write any address into the Lease, but the operator connects only to pods of the
    group.
    """
    try:
        ip = ip_address(host_of(address))
    except ValueError:
        return False
    return members_by_host(pods).get(str(ip)) == member


def members_by_host(pods: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """Map the name and the IP address of each pod of a group to the number of its member."""
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
