"""Reads the snapshot of one cluster: caches, Leases by name, and reports of masters and brokers.

A part that cannot be read is None and never empty, because a plan takes no disruptive action then.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar, final

from gantrymq.operator.brokers.access import BrokerAccess
from gantrymq.operator.brokers.replication import is_of_member, members_by_host
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.errors import ApiError, NotFoundError, RefusedError
from gantrymq.operator.kube.kinds import Kind
from gantrymq.operator.kube.ownership import belongs_to
from gantrymq.operator.kube.watch import reducers
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import label_of
from gantrymq.operator.plan.objects.names import GROUP_LABEL, ClusterNames
from gantrymq.operator.plan.objects.secret import is_of_interest
from gantrymq.operator.plan.snapshot import ClusterSnapshot, MemberReport, OperatorDefaults
from gantrymq.operator.plan.view.lease import read_lease
from gantrymq.operator.resources.names import GROUPS_MAX, group_name
from gantrymq.operator.resources.security import SecuritySpec
from gantrymq.operator.shell.security_reader import SecurityReader, secret_names, security_of
from gantrymq.operator.shell.work.caches import Caches
from gantrymq.operator.shell.work.stuck_objects import (
    STUCK_MAX,
    is_broker_with_address,
    is_ready,
    newest_message,
    stuck_objects,
)
from gantrymq.runtime.logs import Log

T = TypeVar("T")

# Concurrent requests of one snapshot: a cluster of 64 groups must not use all connections.
AT_ONCE_MAX: Final = 8
# Lists of Events are sorted by name, so all are read to find the newest.
EVENTS_MAX: Final = 500
SECRET_BYTES: Final = 32
_ADDRESS: Final = "gantrymq.dev/address"


class ReplicationPort(Protocol):
    """Asks a master about its followers."""

    async def ask(
        self,
        address: str,
        master: int,
        members_by_host: Mapping[str, int],
        access: BrokerAccess | None = None,
    ) -> tuple[MemberReport, ...] | None: ...


class KnownSecretsPort(Protocol):
    """Asks a broker which replication secrets it has."""

    async def ask(self, ip: str) -> tuple[str, ...] | None: ...


class ReadinessPort(Protocol):
    """Asks a broker why it is not ready."""

    async def ask(self, ip: str) -> str: ...


UnmanagedTopics = Callable[[str, str], tuple[str, ...] | None]
"""Returns the topics of a cluster (namespace, name) without a Topic resource; None if unknown."""


@final
class SnapshotReader:
    """Reads snapshots of all clusters. It keeps nothing between two snapshots."""

    def __init__(
        self,
        client: KubeClient,
        caches: Caches,
        defaults: OperatorDefaults,
        replication: ReplicationPort,
        readiness: ReadinessPort,
        known_secrets: KnownSecretsPort,
        unmanaged_topics: UnmanagedTopics,
    ) -> None:
        self._caches = caches
        self._client = client
        self._defaults = defaults
        self._known_secrets = known_secrets
        self._log = Log("operator.snapshot")
        self._readiness = readiness
        self._replication = replication
        self._security = SecurityReader(client)
        self._unmanaged_topics = unmanaged_topics

    async def read(self, resource: Json, refusal: str = "") -> ClusterSnapshot:
        """Read the snapshot of a BrokerCluster; `refusal` is what the API refused last."""
        namespace, name = resource["metadata"]["namespace"], resource["metadata"]["name"]
        names = ClusterNames(name, namespace)
        pods = self._cached(kinds.POD, namespace, name)
        claims = self._cached(kinds.PERSISTENT_VOLUME_CLAIM, namespace, name)
        groups = self._groups(resource, names)
        sets = self._cached(kinds.STATEFUL_SET, namespace, name)
        security = security_of(resource, sets, self._defaults.security_profile)
        is_terminating, objects, leases = await asyncio.gather(
            self._namespace_is_terminating(namespace),
            self._objects(names, resource["metadata"]["uid"], security),
            self._leases(names, groups),
        )
        access = await self._security.access(names, security) if security else None
        reports, unready, secrets_known, events = await asyncio.gather(
            self._reports(leases, pods or (), access),
            self._unready(pods or ()),
            self._secrets_of_members(resource, objects, pods),
            self._events(namespace, stuck_objects(pods or (), claims or (), sets or ())),
        )
        if leases is not None and any(leases.values()):
            # The requests above take time, and each Lease changes more than once a second.
            asked, leases = leases, await self._leases(names, groups)
            reports = _still_led(reports, asked, leases)
        return ClusterSnapshot(
            resource=resource,
            namespace_is_terminating=is_terminating,
            defaults=self._defaults,
            objects=objects,
            pods=pods,
            volume_claims=claims,
            leases=leases,
            nodes=self._nodes(),
            storage_classes=self._storage_classes(),
            events=events,
            refusal=refusal,
            slices=self._slices(names, groups),
            reports=reports,
            unready=unready,
            unmanaged_topics=self._unmanaged_topics(namespace, name),
            new_secret=secrets.token_hex(SECRET_BYTES),
            known_secrets=secrets_known,
            new_security=await self._security.new(names, security, objects),
        )

    # ------------------------------------------------------------------ caches

    def _cached(self, kind: Kind, namespace: str, cluster: str) -> tuple[Json, ...] | None:
        store = self._caches.owned[kind.name].synced_sink(namespace)
        return None if store is None else store.of_cluster(namespace, cluster)

    def _nodes(self) -> Mapping[str, Json] | None:
        store = self._caches.nodes.synced_sink("")
        if store is None:
            return None
        return {node["metadata"]["name"]: node for node in store}

    def _storage_classes(self) -> frozenset[str] | None:
        store = self._caches.storage_classes.synced_sink("")
        if store is None:
            return None
        return frozenset(each["metadata"]["name"] for each in store)

    def _slices(
        self, names: ClusterNames, groups: Sequence[str]
    ) -> Mapping[str, Json | None] | None:
        store = self._caches.slices.synced_sink(names.namespace)
        if store is None:
            return None
        return {group: store.get(names.namespace, names.slice(group)) for group in groups}

    # ------------------------------------------------------------------ by name

    async def _namespace_is_terminating(self, namespace: str) -> bool:
        try:
            found = await self._client.get(kinds.NAMESPACE.path("", namespace))
        except NotFoundError:
            return True
        except RefusedError:
            return False  # not allowed to read it: the API will refuse writes if it is terminating
        return bool(found["metadata"].get("deletionTimestamp"))

    async def _objects(
        self, names: ClusterNames, uid: str, security: SecuritySpec | None
    ) -> Mapping[str, tuple[Json, ...]] | None:
        found: dict[str, tuple[Json, ...]] = {}
        for kind in (
            kinds.STATEFUL_SET,
            kinds.SERVICE,
            kinds.CONFIG_MAP,
            kinds.POD_DISRUPTION_BUDGET,
        ):
            cached = self._cached(kind, names.namespace, names.cluster)
            if cached is None:
                return None
            found[kind.name] = cached
        singles = (
            *((kinds.SECRET, name) for name in secret_names(names, security)),
            (kinds.SERVICE_ACCOUNT, names.brokers),
            (kinds.ROLE, names.brokers),
            (kinds.ROLE_BINDING, names.brokers),
        )
        items = await asyncio.gather(
            *(self._one(kind, names.namespace, name) for kind, name in singles)
        )
        for (kind, _), item in zip(singles, items, strict=True):
            # The content of a Secret is used whatever its owner. Other objects of other owners
            # count as absent here, and the executor refuses to change them.
            is_ours = item is not None and (
                kind is kinds.SECRET or belongs_to(item, uid, names.cluster)
            )
            found.setdefault(kind.name, ())
            if item is not None and is_ours:
                found[kind.name] += (item,)
        return found

    async def _one(self, kind: Kind, namespace: str, name: str) -> Json | None:
        try:
            item = await self._client.get(kind.path(namespace, name))
        except NotFoundError:
            return None
        reduce = reducers.secret if kind is kinds.SECRET else reducers.whole
        return reduce(item)

    def _groups(self, resource: Json, names: ClusterNames) -> list[str]:
        """Return the groups that the resource asks for, and those that exist or existed. The Lease
        of a group outlives its other objects."""
        asked = (resource.get("spec") or {}).get("groups", 1)
        count = min(asked, GROUPS_MAX) if isinstance(asked, int) else 0
        groups = {group_name(index) for index in range(count)}
        known = (resource.get("status") or {}).get("groups") or ()
        groups.update(each["name"] for each in known[:GROUPS_MAX])
        for item in self._cached(kinds.STATEFUL_SET, names.namespace, names.cluster) or ():
            group = label_of(item, GROUP_LABEL)
            if group:
                groups.add(group)
        return sorted(groups)

    async def _leases(
        self, names: ClusterNames, groups: Sequence[str]
    ) -> Mapping[str, Json | None] | None:
        async def read(group: str) -> tuple[str, Json | None] | None:
            path = kinds.LEASE.path(names.namespace, names.group(group))
            try:
                return group, reducers.whole(await self._client.get(path))
            except NotFoundError:
                return group, None
            except ApiError as error:
                self._log.warning("cannot read Lease", group=path, cause=error)
                return None

        found = await _all(read(group) for group in groups)
        known = [each for each in found if each is not None]
        return dict(known) if known or not groups else None

    async def _events(self, namespace: str, stuck: Sequence[str]) -> Mapping[str, str]:
        """Return the newest Warning of each stuck object, by its name."""

        async def read(name: str) -> tuple[str, str]:
            parameters = {
                "fieldSelector": f"type=Warning,involvedObject.name={name}",
                "limit": str(EVENTS_MAX),
            }
            path = kinds.EVENT.collection(namespace)
            try:
                found = await self._client.get(path, parameters)
            except RefusedError:
                return name, ""
            return name, newest_message(found.get("items") or ())

        found = await _all(read(name) for name in stuck)
        return {name: message for name, message in found if message}

    # ------------------------------------------------------------------ brokers

    async def _reports(
        self,
        leases: Mapping[str, Json | None] | None,
        pods: Sequence[Json],
        access: BrokerAccess | None,
    ) -> Mapping[str, tuple[MemberReport, ...]]:
        async def ask(group: str, lease: Json) -> tuple[str, tuple[MemberReport, ...] | None]:
            annotations = lease["metadata"].get("annotations") or {}
            address, holder = annotations.get(_ADDRESS, ""), read_lease(lease).holder
            of_group = [
                pod
                for pod in pods
                if (pod["metadata"].get("labels") or {}).get(GROUP_LABEL) == group
            ]
            if not is_of_member(address, holder, of_group):
                return group, None
            hosts = members_by_host(of_group)
            return group, await self._replication.ask(address, holder, hosts, access)

        led = [(group, lease) for group, lease in (leases or {}).items() if lease is not None]
        found = await _all(ask(group, lease) for group, lease in led)
        return {group: reports for group, reports in found if reports is not None}

    async def _unready(self, pods: Sequence[Json]) -> Mapping[str, str]:
        """Ask brokers why they are not ready; return the reasons by pod."""

        async def ask(pod: Json) -> tuple[str, str]:
            return pod["metadata"]["name"], await self._readiness.ask(pod["status"]["podIP"])

        asked = [pod for pod in pods if is_broker_with_address(pod) and not is_ready(pod)]
        found = await _all(ask(pod) for pod in asked[:STUCK_MAX])
        return {name: reason for name, reason in found if reason}

    async def _secrets_of_members(
        self,
        resource: Json,
        objects: Mapping[str, tuple[Json, ...]] | None,
        pods: Sequence[Json] | None,
    ) -> Mapping[str, tuple[str, ...]] | None:
        """Ask brokers which secrets they have; return them by pod. None if no plan needs them."""
        found = (objects or {}).get(kinds.SECRET.name, ())
        name = f"{resource['metadata']['name']}-replication"
        secret = next((each for each in found if each["metadata"]["name"] == name), None)
        if pods is None or not is_of_interest(resource, secret, pods):
            return None

        async def ask(pod: Json) -> tuple[str, tuple[str, ...] | None]:
            return pod["metadata"]["name"], await self._known_secrets.ask(pod["status"]["podIP"])

        answers = await _all(ask(pod) for pod in pods if is_broker_with_address(pod))
        return {name: lines for name, lines in answers if lines is not None}


async def _all(works: Iterable[Awaitable[T]]) -> list[T]:
    """Return all results in order, with at most AT_ONCE_MAX awaited at once."""
    slots = asyncio.Semaphore(AT_ONCE_MAX)

    async def one(work: Awaitable[T]) -> T:
        async with slots:
            return await work

    return await asyncio.gather(*(one(work) for work in works))


def _still_led(
    reports: Mapping[str, tuple[MemberReport, ...]],
    asked: Mapping[str, Json | None],
    leases: Mapping[str, Json | None] | None,
) -> Mapping[str, tuple[MemberReport, ...]]:
    """Return the reports of masters that led before and after the requests."""

    def mastership(lease: Json | None) -> tuple[int, int] | None:
        if lease is None:
            return None
        found = read_lease(lease)
        return found.holder, found.epoch

    now = leases or {}
    return {
        group: report
        for group, report in reports.items()
        if mastership(now.get(group)) == mastership(asked.get(group))
    }
