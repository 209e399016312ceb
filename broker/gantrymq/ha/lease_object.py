"""The lease of a group as the Kubernetes API keeps it: a Lease of coordination.k8s.io/v1, as JSON.

    spec.holderIdentity          the holder's number, "" while there is none
    spec.leaseDurationSeconds    4
    spec.acquireTime, renewTime  of the writer's wall clock, for people: nobody goes by them
    spec.leaseTransitions        how often somebody became master
    metadata.resourceVersion     the lease's version
    metadata.annotations         all the rest, each `gantrymq.dev/` and a name of `_OURS`

What stands in an object beside that is somebody else's: it is written as it was read. So is the
uid, without which the API would make a deleted object anew for whoever wants to replace it. No
owner is ever named in it: an object that went with its owner would take the epoch along.

Invariant: a lease is read whole or not at all. Who takes half of one for all of it could elect a
member that lacks messages, so what is damaged is told, and left for people to repair.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.ha.lease import DURATION_SECONDS, NOBODY, Lease, Wishes
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import JsonObject, long_of, object_of, required_text_field, text_field

API_VERSION: Final = "coordination.k8s.io/v1"
PREFIX: Final = "gantrymq.dev/"

# The API takes 256 KiB of annotations; who wrote which field comes on top.
OBJECT_BYTES_MAX: Final = 512 << 10

# A name of 253 characters and a port; a set of more members than anybody runs.
_ADDRESS_MAX: Final = 260
_MEMBERS_MAX: Final = 64

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_ADDRESS: Final = re.compile(r"[\x21-\x7e]+:[0-9]{1,5}")

_OURS: Final = (
    "epoch", "in-sync", "address", "ha-address", "heir", "leaver", "renewals", "granted",
    "fenced", "preferred", "switch-to", "switch-number", "allow-unclean",
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class ObjectName:
    """Of an object of the API."""

    namespace: str
    name: str


@final
@dataclass(frozen=True, slots=True)
class LeaseObject:
    """As it was read."""

    lease: Lease
    content: JsonObject


# ---------------------------------------------------------------------- reading


def read(data: bytes) -> LeaseObject:
    """What the API answered; RemoteError says what of it cannot be taken."""
    content = object_of(javajson.loads(data, OBJECT_BYTES_MAX), "the Lease")
    kind = text_field(content, "kind")
    if kind != "Lease":
        raise RemoteError(f"the API answered with {kind!r} where a Lease belongs")
    metadata = object_of(content.get("metadata"), "metadata")
    version = required_text_field(metadata, "resourceVersion")
    notes = _Notes(object_of(metadata.get("annotations") or {}, "annotations"))
    spec = object_of(content.get("spec") or {}, "spec")
    holder = _holder(text_field(spec, "holderIdentity") or "")
    lease = Lease(
        version,
        holder,
        notes.address("address"),
        notes.address("ha-address"),
        notes.number("epoch"),
        notes.members("in-sync"),
        notes.members("fenced"),
        notes.number("heir"),
        notes.number("leaver"),
        notes.number("renewals"),
        notes.number("granted"),
        Wishes(
            notes.number("preferred"),
            notes.number("switch-to"),
            notes.number("switch-number"),
            notes.truth("allow-unclean"),
        ),
    )
    _must_be_whole(lease)
    return LeaseObject(lease, content)


def _holder(text: str) -> int:
    if not text:
        return NOBODY
    if not _NUMBER.fullmatch(text) or text == "0":
        raise RemoteError(
            f"spec.holderIdentity is {text[:100]!r}, and no number of a member: somebody else uses"
            " this Lease; give leaseName another one, or delete it if nobody needs it"
        )
    return int(text)


def _must_be_whole(lease: Lease) -> None:
    """Whoever was master left an epoch and a set, and its addresses while it still is."""
    if lease.epoch == 0 and (lease.holder or lease.in_sync):
        raise _damaged("epoch", "missing, though somebody has been master")
    if lease.epoch and not lease.in_sync:
        raise _damaged("in-sync", f"missing, though epoch {lease.epoch} has begun")
    if lease.holder and not lease.ha_address:
        raise _damaged("ha-address", f"missing, though member {lease.holder} is master")
    if lease.holder and not lease.address:
        raise _damaged("address", f"missing, though member {lease.holder} is master")


def _damaged(name: str, what: str) -> RemoteError:
    return RemoteError(
        f"the Lease's annotation {PREFIX}{name} is {what}: nobody is elected by it; put it right,"
        " or delete the Lease, and it is made anew once all members of the group are there"
    )


@final
class _Notes:
    """The annotations of a Lease."""

    __slots__ = ("_annotations",)

    def __init__(self, annotations: JsonObject) -> None:
        self._annotations = annotations

    def text(self, name: str) -> str:
        value = self._annotations.get(PREFIX + name, "")
        if not isinstance(value, str):
            raise _damaged(name, "no text")
        return value

    def number(self, name: str) -> int:
        text = self.text(name)
        if text and not _NUMBER.fullmatch(text):
            raise _damaged(name, f"{text[:100]!r}, and no number")
        return int(text or "0")

    def members(self, name: str) -> frozenset[int]:
        text = self.text(name)
        if not text:
            return frozenset()
        parts = text.split(",", _MEMBERS_MAX)
        if len(parts) > _MEMBERS_MAX:
            raise _damaged(name, f"of more than {_MEMBERS_MAX} members")
        if not all(_NUMBER.fullmatch(part) and part != "0" for part in parts):
            raise _damaged(name, f"{text[:100]!r}, and no numbers of members, as in 1,2,3")
        return frozenset(map(int, parts))

    def address(self, name: str) -> str:
        text = self.text(name)
        if text and (len(text) > _ADDRESS_MAX or not _ADDRESS.fullmatch(text)):
            raise _damaged(name, f"{text[:100]!r}, and no host:port")
        return text

    def truth(self, name: str) -> bool:
        text = self.text(name)
        if text not in ("", "true", "false"):
            raise _damaged(name, f"{text[:100]!r}, and neither true nor false")
        return text == "true"


# ---------------------------------------------------------------------- writing


def encode(lease: Lease, before: LeaseObject | None, place: ObjectName, wall_ms: int) -> bytes:
    """What replaces the object `before`, or makes the first one."""
    content: JsonObject = dict(before.content) if before else {}
    content |= {"apiVersion": API_VERSION, "kind": "Lease"}
    metadata = object_of(content.get("metadata") or {}, "metadata")
    annotations = object_of(metadata.get("annotations") or {}, "annotations")
    names: JsonObject = {"namespace": place.namespace, "name": place.name}
    if before is not None:
        names["resourceVersion"] = lease.version
    content["metadata"] = metadata | names | {"annotations": annotations | _noted(lease)}
    spec = object_of(content.get("spec") or {}, "spec")
    content["spec"] = spec | _specified(lease, before, spec, wall_ms)
    return javajson.dumps_standard(content)


def _specified(
    lease: Lease, before: LeaseObject | None, spec: JsonObject, wall_ms: int
) -> JsonObject:
    now = _time(wall_ms)
    said: JsonObject = {
        "holderIdentity": str(lease.holder) if lease.holder else "",
        "leaseDurationSeconds": int(DURATION_SECONDS),
        "renewTime": now,
    }
    if lease.holder and (before is None or lease.epoch != before.lease.epoch):
        transitions = long_of(spec.get("leaseTransitions") or 0, "leaseTransitions")
        said |= {"acquireTime": now, "leaseTransitions": transitions + 1}
    return said


def _noted(lease: Lease) -> JsonObject:
    wishes = lease.wishes
    values = (
        str(lease.epoch), _members(lease.in_sync), lease.address, lease.ha_address,
        str(lease.heir), str(lease.leaver), str(lease.renewals), str(lease.granted),
        _members(lease.fenced), str(wishes.preferred), str(wishes.switch_to), str(wishes.number),
        "true" if wishes.allows_unclean else "false",
    )  # fmt: skip
    return {PREFIX + name: value for name, value in zip(_OURS, values, strict=True)}


def _members(numbers: frozenset[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def _time(wall_ms: int) -> str:
    """As the API writes it: RFC 3339, to the microsecond."""
    moment = datetime.fromtimestamp(wall_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{wall_ms % 1000:03d}000Z"
