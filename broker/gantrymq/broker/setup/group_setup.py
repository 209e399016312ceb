"""Reads the settings of a group that elects its master: the members, this member, and the Lease.

All settings are checked before anything is opened.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from gantrymq.base.configuration.settings import ENVIRONMENT_PREFIX, Bound
from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.broker.core.settings import MEMBERS_MAX, BrokerRole, BrokerSettings
from gantrymq.broker.setup.lease_name import default_name, plain_name
from gantrymq.ha.lease.lease_object import ObjectName
from gantrymq.runtime.http.kube_api import namespace_of_pod
from gantrymq.runtime.net.address import parse_address
from gantrymq.wire import hosts

MIN_IN_SYNC: Final = 2

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

_EXAMPLE: Final = "as in 1=broker-0:10912,2=broker-1:10912,3=broker-2:10912"
_ADDRESS_FORM: Final = (
    "must be ip or ip:port, with listenPort as the default port and an IPv6 address with a port in"
    " brackets, as in 10.96.0.7, 10.96.0.7:10911, fd00::7 or [fd00::7]:10911; a name is not"
    " allowed, because each message contains the address"
)
_ORDINAL: Final = re.compile(r"-([0-9]{1,4})$")
_OBJECT_NAME: Final = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Pod:
    """Where this member runs, from the downward API of the pod's spec; "" for each value that the
    spec does not provide."""

    node: str = ""
    name: str = ""
    uid: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Pod:
        """Read GANTRY_NODE_NAME and the like, or the same names without GANTRY_, which many pods
        have."""

        def named(name: str) -> str:
            found = environment.get(f"{ENVIRONMENT_PREFIX}{name}") or environment.get(name, "")
            return found.strip()

        return cls(named("NODE_NAME"), named("POD_NAME"), named("POD_UID"))


@dataclass(frozen=True, slots=True)
class GroupSetup:
    """The group as one member sees it."""

    number: int
    ha_addresses: Mapping[int, str]
    """The HA addresses of all members, by number."""
    lease: ObjectName
    lease_url: str
    """"" for the API of the pod's cluster."""
    service: str
    """The Service that the master points to itself; "" for none."""
    min_in_sync: int
    former_lease: ObjectName | None = None
    """Where earlier versions have the Lease by default; None if leaseName is set, or both are the
    same."""
    address: str = ""
    """The one address of the group, `ip:port` or `[ipv6]:port`; "" for none."""
    pod: Pod = field(default_factory=Pod)


def read(
    bound: Bound[BrokerSettings],
    named: BrokerSettings,
    host_name: str,
    namespace: str | None = None,
    environment: Mapping[str, str] = NOTHING,
) -> GroupSetup | None:
    """Read the settings; None with fixed roles. `named` are the same settings with the names and
    addresses that default to those of the machine; `namespace` is the pod's, which is looked up if
    None."""
    if not named.group_members:
        return None
    if named.broker_role is BrokerRole.SLAVE:
        raise bound.refusal(
            "brokerRole",
            "the members of groupMembers elect their master: set ASYNC_MASTER, or SYNC_MASTER if"
            " the master has to wait for the other members",
        )
    members = _members(bound)
    if not named.group_secret_file:
        what = "groupMembers requires a file with the group's secret, the same at each member"
        raise bound.refusal("groupSecretFile", what)
    in_namespace = _namespace(bound, namespace)
    lease = ObjectName(in_namespace, _lease_name(bound, named))
    former = ObjectName(in_namespace, plain_name(named.broker_cluster_name, named.broker_name))
    return GroupSetup(
        _number(bound, members, host_name),
        members,
        lease,
        _url(bound),
        _service(bound),
        _min_in_sync(bound, members),
        None if bound.settings.lease_name or former == lease else former,
        _address(bound, named.listen_port),
        Pod.of(environment),
    )


def _members(bound: Bound[BrokerSettings]) -> Mapping[int, str]:
    members: dict[int, str] = {}
    for part in bound.settings.group_members.split(","):
        number, _, address = (each.strip() for each in part.partition("="))
        if not re.fullmatch("[1-9][0-9]?", number) or int(number) > MEMBERS_MAX:
            what = f"{part.strip()!r} does not begin with a number from 1 to {MEMBERS_MAX} and ="
            raise bound.refusal("groupMembers", f"{what}; {_EXAMPLE}")
        if int(number) in members:
            raise bound.refusal("groupMembers", f"member {number} occurs twice; {_EXAMPLE}")
        _must_be_address(bound, "groupMembers", address)
        members[int(number)] = address
    if len(set(members.values())) < len(members):
        raise bound.refusal(
            "groupMembers", "two members have the same address; each member needs its own"
        )
    return members


def _must_be_address(bound: Bound[BrokerSettings], key: str, address: str) -> None:
    try:
        parse_address(address)
    except ConfigurationError as error:
        raise bound.refusal(key, str(error)) from None


def _address(bound: Bound[BrokerSettings], listen_port: int) -> str:
    """groupAddress, with the broker's port if it has none. It cannot be a name, as messages contain
    it."""
    text = bound.settings.group_address
    if not text:
        return ""
    try:
        bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        ip = ipaddress.ip_address(bare)
        has_right_form = bare == text or ip.version == 6
    except ValueError:
        return _with_port(bound, text)
    if not has_right_form:
        raise bound.refusal("groupAddress", _ADDRESS_FORM)
    if not listen_port:
        raise bound.refusal(
            "groupAddress", "listenPort is 0, which means any free port: set ip:port"
        )
    return f"[{ip}]:{listen_port}" if ip.version == 6 else f"{ip}:{listen_port}"


def _with_port(bound: Bound[BrokerSettings], text: str) -> str:
    try:
        _, port = hosts.unpack(hosts.parse(text))
    except RemoteError as error:
        raise bound.refusal("groupAddress", f"{_ADDRESS_FORM}: {error}") from None
    if not port:
        raise bound.refusal("groupAddress", f"{_ADDRESS_FORM}; ports begin at 1")
    return text


def _number(bound: Bound[BrokerSettings], members: Mapping[int, str], host_name: str) -> int:
    """The number of this member."""
    number, names = bound.settings.member_number, ", ".join(map(str, sorted(members)))
    if number == 0:
        ordinal = _ORDINAL.search(host_name)
        if ordinal is None:
            what = (
                f"the host's name, {host_name}, does not end in a number as broker-0-1 does: set"
                f" the number of this broker in groupMembers, one of {names}"
            )
            raise bound.refusal("memberNumber", what)
        number = int(ordinal[1]) + 1
        if number not in members:
            what = (
                f"by the host's name, {host_name}, this broker is member {number}, and groupMembers"
                f" only has {names}"
            )
            raise bound.refusal("memberNumber", what)
    elif number not in members:
        raise bound.refusal("memberNumber", f"groupMembers only has {names}")
    return number


def _lease_name(bound: Bound[BrokerSettings], named: BrokerSettings) -> str:
    said = bound.settings.lease_name
    name = said or default_name(named.broker_cluster_name, named.broker_name)
    if not _OBJECT_NAME.fullmatch(name):
        what = "the name of a Lease has at most 253 lower-case letters, digits, - and ."
        if not said:
            what = f"{name} is not a valid name of a Lease: {what}; set leaseName"
        raise bound.refusal("leaseName", what)
    return name


def _namespace(bound: Bound[BrokerSettings], namespace: str | None) -> str:
    found = bound.settings.lease_namespace
    if not found:
        found = namespace_of_pod() if namespace is None else namespace
    if not _OBJECT_NAME.fullmatch(found):
        what = "set the namespace of the group's Lease"
        if not found:
            what = f"this process does not run in a pod: {what}"
        raise bound.refusal("leaseNamespace", what)
    return found


def _url(bound: Bound[BrokerSettings]) -> str:
    url = bound.settings.lease_url
    if url and not re.fullmatch(r"https?://[^/]+/?", url):
        raise bound.refusal("leaseUrl", "must be http://host:port or https://host:port")
    return url.rstrip("/")


def _service(bound: Bound[BrokerSettings]) -> str:
    service = bound.settings.publish_service
    if not service:
        return ""
    if not _OBJECT_NAME.fullmatch(service):
        raise bound.refusal("publishService", "must be the name of a Service")
    return service


def _min_in_sync(bound: Bound[BrokerSettings], members: Mapping[int, str]) -> int:
    said = bound.settings.min_in_sync_replicas
    if bound.settings.broker_role is not BrokerRole.SYNC_MASTER:
        return 1
    if (said or MIN_IN_SYNC) > len(members):
        count = len(members)
        what = f"groupMembers has {count}, so no message would be acknowledged: set 1 to {count}"
        raise bound.refusal("minInSyncReplicas", what)
    return said or MIN_IN_SYNC
