"""Encodes and decodes the Lease of a group as a coordination.k8s.io/v1 Lease in JSON.

    spec.holderIdentity          the holder's number, "" while there is none
    spec.leaseDurationSeconds    4
    spec.acquireTime, renewTime  the writer's wall clock, for humans: no member relies on them
    spec.leaseTransitions        how often a member became master
    metadata.resourceVersion     the lease's version
    metadata.annotations         all other fields, each `gantrymq.dev/` and a name of `_OURS`, which
                                 members write, or of `_REQUESTED`, which an operator writes

All other fields of the object are preserved as they were read. That includes the uid: without it
the API would recreate a deleted object for a writer that wants to replace it. The object never has
an owner: if it were deleted together with its owner, the epoch would be lost.

    gantrymq.dev/group-id        the group's UUID
    gantrymq.dev/disks           1=<uuid>,2=<uuid>: the disk of each member of the set
    gantrymq.dev/writer          the process of the holder, a random UUID
    gantrymq.dev/seal            a digest of the fields that members elect by
    gantrymq.dev/seal-2          that seal, "-", and a digest of it and the other fields that
                                 members write

Versions. Brokers older than `seal-2` read and write only `seal`, and leave `seal-2` unchanged. A
`seal-2` that begins with another seal was left behind by such a broker: then `seal` decides, and
the writer is unknown. So old and new brokers of a group trust each other during a rolling upgrade.

Invariants. A Lease that no member can have written, because it is damaged or its seal does not
match, is not trusted (`Lease.untrusted_reason`): a member that trusted half a Lease could elect a
member that lacks messages. An operator's request that cannot be parsed is skipped and reported
(`ignored`): a typo in a request must not leave a group without a master.

The seal detects edits. It does not stop an attacker: the API's access rights do that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.ha.lease.lease import DURATION_SECONDS, EPOCH_MAX, NO_MEMBER, Lease, OperatorRequests
from gantrymq.ha.lease.lease_annotations import (
    DECIMAL,
    PREFIX,
    UNTRUSTED,
    LeaseAnnotations,
    damaged,
)
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, JsonObject, object_of, required_text_field, text_field

API_VERSION: Final = "coordination.k8s.io/v1"
# The API accepts 256 KiB of annotations; the list of field owners comes on top.
OBJECT_BYTES_MAX: Final = 512 << 10

SWITCH_NUMBER_MAX: Final = 10**9
"""The highest number of a switchover: the next request takes the last number plus one."""

TRANSITIONS_MAX: Final = 2**31 - 1
"""The API rejects a Lease with a higher number."""

_OURS: Final = (
    "epoch", "in-sync", "address", "ha-address", "heir", "leaver", "renewals", "granted",
    "group-id", "disks", "writer",
)  # fmt: skip
_REQUESTED: Final = ("fenced", "preferred", "switch-to", "switch-number", "allow-unclean")
_SEAL: Final = "seal"
_FULL_SEAL: Final = "seal-2"


@final
@dataclass(frozen=True, slots=True)
class ObjectName:
    """The name of an API object."""

    namespace: str
    name: str


@final
@dataclass(frozen=True, slots=True)
class LeaseObject:
    """A Lease object as it was read."""

    lease: Lease
    content: JsonObject
    ignored: tuple[str, ...] = field(default=())
    """Why requests of an operator were skipped."""


# ---------------------------------------------------------------------- reading


def read(data: bytes) -> LeaseObject:
    """The object in an answer of the API. Raises RemoteError if it is not a Lease of a group."""
    content = object_of(javajson.loads(data, OBJECT_BYTES_MAX), "the Lease")
    kind = text_field(content, "kind")
    if kind != "Lease":
        raise RemoteError(f"the API answered with {kind!r} instead of a Lease")
    metadata = object_of(content.get("metadata"), "metadata")
    version = required_text_field(metadata, "resourceVersion")
    notes = LeaseAnnotations(object_of(metadata.get("annotations") or {}, "annotations"))
    spec = object_of(content.get("spec") or {}, "spec")
    operator_requests, fenced = _operator_requests(notes)
    lease = Lease(version, operator_requests=operator_requests, fenced=fenced)
    _check_is_of_group(spec, notes)
    try:
        holder = _holder(spec)
        lease = replace(_written(notes, lease), holder=holder)
        _check_is_complete(lease)
        _check_seal(lease, notes.text(_SEAL))
        lease = _fully_sealed(lease, notes.text(_FULL_SEAL))
    except RemoteError as error:
        lease = replace(lease, untrusted_reason=str(error))
    return LeaseObject(lease, content, tuple(notes.ignored))


def _written(notes: LeaseAnnotations, lease: Lease) -> Lease:
    """The lease with all fields that members write. Raises RemoteError if no member can have
    written one of them."""
    epoch = notes.number("epoch")
    if epoch > EPOCH_MAX:
        raise damaged("epoch", f"{epoch}, above {EPOCH_MAX}")
    return replace(
        lease,
        address=notes.address("address"),
        ha_address=notes.address("ha-address"),
        epoch=epoch,
        in_sync=notes.members("in-sync"),
        successor=notes.number("heir"),
        leaver=notes.number("leaver"),
        renewals=notes.number("renewals"),
        granted=notes.number("granted"),
        group=notes.uuid("group-id"),
        disks=notes.disks("disks"),
        writer=notes.uuid("writer"),
    )


def _operator_requests(notes: LeaseAnnotations) -> tuple[OperatorRequests, frozenset[int]]:
    """An operator's requests, and the fenced members."""
    operator_requests = OperatorRequests(
        notes.requested_number("preferred"),
        notes.requested_number("switch-to"),
        notes.requested_number("switch-number", SWITCH_NUMBER_MAX),
        notes.requested_truth("allow-unclean"),
    )
    return operator_requests, notes.requested_members("fenced")


def _check_is_of_group(spec: JsonObject, notes: LeaseAnnotations) -> None:
    """Raises RemoteError for the Lease of another program: it has a holder and none of the members'
    annotations. A member's Lease with an edited holder is only untrusted."""
    holder = spec.get("holderIdentity") or ""
    if not _is_member(holder) and not any(notes.has(name) for name in _OURS):
        raise RemoteError(
            f"spec.holderIdentity is {str(holder)[:100]!r}, which is not the number of a member:"
            " another program uses this Lease. Set leaseName to another name, or delete the Lease"
            " if no program needs it."
        )


def _is_member(holder: Json) -> bool:
    return holder == "" or (
        isinstance(holder, str) and holder != "0" and bool(DECIMAL.fullmatch(holder))
    )


def _holder(spec: JsonObject) -> int:
    holder = spec.get("holderIdentity") or ""
    if not _is_member(holder):
        raise RemoteError(
            f"the Lease's spec.holderIdentity is {str(holder)[:100]!r}, which is not the number of"
            f" a member: {UNTRUSTED}"
        )
    return int(str(holder)) if holder else NO_MEMBER


def _check_is_complete(lease: Lease) -> None:
    """Raises RemoteError if fields are missing: once there was a master there are an epoch and a
    set, and while there is one also its addresses."""
    if lease.epoch == 0 and (lease.holder or lease.in_sync):
        raise damaged("epoch", "missing, though the Lease names a master or in-sync members")
    if lease.epoch and not lease.in_sync:
        raise damaged("in-sync", f"missing, though epoch {lease.epoch} has begun")
    if lease.holder and not lease.ha_address:
        raise damaged("ha-address", f"missing, though member {lease.holder} is master")
    if lease.holder and not lease.address:
        raise damaged("address", f"missing, though member {lease.holder} is master")


def _check_seal(lease: Lease, seal: str) -> None:
    """Raises RemoteError if the seal does not match. A Lease without a group was written by a
    version that knows neither groups nor seals."""
    if (lease.group or seal) and seal != seal_of(lease):
        raise damaged(_SEAL, "not the digest of the Lease's fields: the Lease was edited")


def _fully_sealed(lease: Lease, seal: str) -> Lease:
    """The lease; without the writer if it was last written by a version that writes none."""
    if not lease.group or not seal.startswith(f"{seal_of(lease)}-"):
        return replace(lease, writer="")
    if seal != full_seal_of(lease):
        raise damaged(_FULL_SEAL, "not the digest of the Lease's fields: the Lease was edited")
    return lease


def full_seal_of(lease: Lease) -> str:
    """The seal, and the digest of it and the other fields that members write."""
    seal = seal_of(lease)
    parts = (seal, lease.address, lease.ha_address, str(lease.granted), lease.writer)
    return f"{seal}-{_digest(parts)}"


def seal_of(lease: Lease) -> str:
    """The digest of the fields that members elect by."""
    numbers = (lease.epoch, lease.renewals, lease.holder, lease.successor, lease.leaver)
    parts = (lease.group, *map(str, numbers), _members(lease.in_sync), _disks(lease))
    return _digest(parts)


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:32]


# ---------------------------------------------------------------------- writing


def encode(
    lease: Lease, before: LeaseObject | None, object_name: ObjectName, wall_ms: int
) -> bytes:
    """The object that replaces `before`, or the first one if that is None."""
    content: JsonObject = dict(before.content) if before else {}
    content |= {"apiVersion": API_VERSION, "kind": "Lease"}
    metadata = object_of(content.get("metadata") or {}, "metadata")
    annotations = object_of(metadata.get("annotations") or {}, "annotations")
    names: JsonObject = {"namespace": object_name.namespace, "name": object_name.name}
    if before is not None:
        names["resourceVersion"] = lease.version
    annotated = _member_annotations(lease) | ({} if before else _request_annotations(lease))
    content["metadata"] = metadata | names | {"annotations": annotations | annotated}
    spec = object_of(content.get("spec") or {}, "spec")
    content["spec"] = spec | _spec_fields(lease, before, spec, wall_ms)
    return javajson.dumps_standard(content)


def _spec_fields(
    lease: Lease, before: LeaseObject | None, spec: JsonObject, wall_ms: int
) -> JsonObject:
    now = _time(wall_ms)
    fields: JsonObject = {
        "holderIdentity": str(lease.holder) if lease.holder else "",
        "leaseDurationSeconds": int(DURATION_SECONDS),
        "renewTime": now,
    }
    if lease.holder and (before is None or lease.epoch != before.lease.epoch):
        found = spec.get("leaseTransitions")
        transitions = found if isinstance(found, int) else 0
        count = min(max(transitions, 0) + 1, TRANSITIONS_MAX)
        fields |= {"acquireTime": now, "leaseTransitions": count}
    return fields


def _member_annotations(lease: Lease) -> JsonObject:
    values = (
        str(lease.epoch), _members(lease.in_sync), lease.address, lease.ha_address,
        str(lease.successor), str(lease.leaver), str(lease.renewals), str(lease.granted),
        lease.group, _disks(lease), lease.writer,
    )  # fmt: skip
    annotated: JsonObject = {
        PREFIX + name: value for name, value in zip(_OURS, values, strict=True)
    }
    if not lease.group:
        return annotated
    return annotated | {PREFIX + _SEAL: seal_of(lease), PREFIX + _FULL_SEAL: full_seal_of(lease)}


def _request_annotations(lease: Lease) -> JsonObject:
    """The requests, for a new object; in an existing object they stay as an operator wrote them."""
    requests = lease.operator_requests
    values = (
        _members(lease.fenced), str(requests.preferred), str(requests.switch_to),
        str(requests.number), "true" if requests.allows_unclean else "false",
    )  # fmt: skip
    return {PREFIX + name: value for name, value in zip(_REQUESTED, values, strict=True)}


def _disks(lease: Lease) -> str:
    named = sorted((member, disk) for member, disk in lease.disks.items() if disk)
    return ",".join(f"{member}={disk}" for member, disk in named)


def _members(numbers: frozenset[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def _time(wall_ms: int) -> str:
    """The API's format: RFC 3339 with microseconds."""
    moment = datetime.fromtimestamp(wall_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{wall_ms % 1000:03d}000Z"
