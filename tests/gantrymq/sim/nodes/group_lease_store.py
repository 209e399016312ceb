"""The Lease of a simulated group, as an object of the Kubernetes API, and the group's one address.

Members read and write it as JSON with annotations and a seal (ha/lease/lease_object.py), as the
product does: what another program edits, touches or restores is met as on a real cluster.

Invariant: what is written replaced the version it says; versions are never used again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from random import Random
from typing import Final, final

from gantrymq.ha.lease import lease_object
from gantrymq.ha.lease.lease import (
    Conflict,
    Found,
    Lease,
    LeaseAnswer,
    Missing,
    OperatorRequests,
    Unanswered,
    Written,
)
from gantrymq.ha.lease.lease_annotations import PREFIX
from gantrymq.ha.lease.lease_object import OBJECT_BYTES_MAX, LeaseObject, ObjectName
from gantrymq.runtime.http.kube_api import REQUEST_SECONDS, ApiAnswer
from gantrymq.sim.group.group_world import Life, Place, World
from gantrymq.sim.nodes.group_api import Api, ApiConnection
from gantrymq.sim.nodes.group_network import Network
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import JsonObject, object_of

Told = Callable[[LeaseAnswer], None]

_NAME: Final = ObjectName("default", "group-a")
_TOUCHED: Final = "example.com/touched"
_CONFLICT: Final = ApiAnswer(HTTPStatus.CONFLICT, b"{}")
_MISSING: Final = ApiAnswer(HTTPStatus.NOT_FOUND, b"{}")
# So many earlier states are kept for an administrator to restore.
_PAST_MAX: Final = 12


@final
@dataclass(frozen=True, slots=True)
class Saved:
    """A copy of the whole object that an administrator has kept."""

    content: JsonObject
    lease: Lease


@final
class _Client:
    """What `LeaseClient` does, without an event loop: the requests of one process."""

    def __init__(self, connection: ApiConnection, wall_ms: Callable[[], int]) -> None:
        self._connection = connection
        self._last: LeaseObject | None = None
        self._wall_ms = wall_ms

    def read(self, told: Told) -> None:
        self._connection.ask("GET", b"", lambda answer: told(self._read(answer)))

    def write(self, lease: Lease, told: Told) -> None:
        before = self._last if lease.version else None
        if lease.version and (before is None or before.lease.version != lease.version):
            told(Conflict())
            return
        body = lease_object.encode(lease, before, _NAME, self._wall_ms())
        method = "POST" if before is None else "PUT"
        self._connection.ask(method, body, lambda answer: told(self._written(answer)))

    def _read(self, answer: ApiAnswer | None) -> LeaseAnswer:
        if answer is None:
            return Unanswered("no answer in time")
        if answer.status == HTTPStatus.NOT_FOUND:
            self._last = None
            return Missing()
        if answer.status != HTTPStatus.OK:
            return Unanswered(f"the API answers {answer.status}")
        self._last = lease_object.read(answer.body)
        return Found(self._last.lease)

    def _written(self, answer: ApiAnswer | None) -> LeaseAnswer:
        if answer is not None and answer.status == HTTPStatus.CONFLICT:
            return Conflict()
        read = self._read(answer)
        return Written(read.lease.version) if isinstance(read, Found) else read


@final
class LeaseStore:
    """The one Lease of one group."""

    def __init__(self, world: World, network: Network, random: Random) -> None:
        self.api = Api(world, network, random)
        self.lease: Lease | None = None
        self.before: Lease | None = None
        """What the object said before its last change, whatever that was."""
        self.endpoint = (0, "")
        """The epoch and the address that the group's one address leads to."""
        self.epoch = 0
        """The highest that a member has written."""
        self.on_change: Callable[[Lease | None], None] = _nothing
        self.past: list[Saved] = []
        """What members wrote last, the newest at the end."""
        self.renewed_at: dict[int, float] = {}
        """By each node's own clock, when it sent the last request that named it the holder."""
        self.truth_before: Lease | None = None
        """What the object said before its last change; None where that was not to be trusted."""
        self._bytes = b""
        self._clients: dict[Life, _Client] = {}
        self._content: JsonObject = {}
        self._is_tampered = False
        self._touches = 0
        self._version = 0
        self._world = world

    # ------------------------------------------------------------------ requests

    def read(self, place: Place, life: Life, told: Told) -> None:
        self._client(place, life).read(told)

    def write(self, place: Place, life: Life, lease: Lease, told: Told) -> None:
        self._client(place, life).write(lease, told)

    def publish(
        self, place: Place, life: Life, epoch: int, address: str, told: Callable[[bool], None]
    ) -> None:
        """The group's address leads there; not where a later epoch has it."""

        def carry_out() -> ApiAnswer:
            if self.has_later_endpoint(epoch):
                return _CONFLICT
            if self.endpoint != (epoch, address):
                self._world.tell(f"the group's address leads to {address} of epoch {epoch}")
            self.endpoint = (epoch, address)
            return ApiAnswer(HTTPStatus.OK, b"{}")

        self.api.ask(
            place,
            life,
            REQUEST_SECONDS,
            carry_out,
            lambda answer: told(answer is not None and answer.status == HTTPStatus.OK),
            is_read=False,
        )

    def has_later_endpoint(self, epoch: int) -> bool:
        """Whether the group's address leads to the master of a later epoch."""
        return epoch < self.endpoint[0]

    def _client(self, place: Place, life: Life) -> _Client:
        """One a process, as each has a memory of the object it read last."""
        if life not in self._clients:
            connection = ApiConnection(self.api, place, life, partial(self._carry_out, place))
            self._clients[life] = _Client(connection, lambda: place.wall_ms)
        return self._clients[life]

    def _carry_out(self, place: Place, method: str, body: bytes, sent_at: float) -> ApiAnswer:
        """What the API does with a member's request."""
        if method == "GET":
            return _MISSING if self.lease is None else ApiAnswer(HTTPStatus.OK, self._bytes)
        content = object_of(javajson.loads(body, OBJECT_BYTES_MAX), "the Lease")
        metadata = object_of(content["metadata"], "metadata")
        if method == "PUT" and self.lease is None:
            return _MISSING
        wanted = "" if method == "POST" else metadata.get("resourceVersion")
        if wanted != ("" if self.lease is None else self.lease.version):
            self._world.tally["conflicts"] += 1
            return _CONFLICT
        lease = self._put(content, place.name, by=place)
        if lease.holder == place.number:
            self.renewed_at[place.number] = sent_at
        return ApiAnswer(HTTPStatus.OK, self._bytes)

    # ------------------------------------------------------------------ the object

    @property
    def truth(self) -> Lease | None:
        """What it says; None where an administrator removed or edited it, or put an old one in its
        place."""
        return None if self._is_tampered else self.lease

    def _put(self, content: JsonObject, writer: str, by: Place | None = None) -> Lease:
        """`by` is the member that writes it; None: another program does."""
        self._version += 1
        version = str(self._version)
        metadata = object_of(content["metadata"], "metadata") | {"resourceVersion": version}
        self._content = content | {"metadata": metadata}
        self._bytes = javajson.dumps_standard(self._content)
        before, now = self.lease, lease_object.read(self._bytes).lease
        self.before, self.truth_before = before, self.truth
        self.lease = now
        if by is not None:
            self._written_by_member(now)
        if before is None or replace(now, version="", renewals=0) != replace(
            before, version="", renewals=0
        ):
            self._world.tell(f"lease, by {writer}: {shown(now)}")
        self.on_change(now)
        return now

    def _written_by_member(self, lease: Lease) -> None:
        """Note that a member wrote this. It is as the group wants it, unless it names no master."""
        if lease.epoch > self.epoch or (lease.epoch == self.epoch and lease.holder):
            self._is_tampered = False
        self.epoch = max(self.epoch, lease.epoch)
        saved = Saved(self._content, lease)
        if self.past and _content(self.past[-1].lease) == _content(lease):
            self.past[-1] = saved
        else:
            self.past = [*self.past[1 - _PAST_MAX :], saved]

    # ------------------------------------------------------------------ an operator

    def change_requests(self, change: Callable[[OperatorRequests], OperatorRequests]) -> None:
        """The operator changes its requests, and nothing else."""
        if self.lease is not None:
            operator_requests = change(self.lease.operator_requests)
            self.annotate(
                "an operator",
                {
                    "preferred": str(operator_requests.preferred),
                    "switch-to": str(operator_requests.switch_to),
                    "switch-number": str(operator_requests.number),
                    "allow-unclean": "true" if operator_requests.allows_unclean else "false",
                },
            )

    def fence(self, fenced: frozenset[int]) -> None:
        self.annotate("an operator", {"fenced": ",".join(map(str, sorted(fenced)))})

    def annotate(self, writer: str, notes: Mapping[str, str]) -> None:
        """A program that is no member writes these annotations of the members, as they are."""
        if self.lease is not None:
            self._put(self._noted({PREFIX + name: text for name, text in notes.items()}), writer)

    # ------------------------------------------------------------------ others

    def touch(self) -> None:
        """Another program writes metadata that members do not use."""
        if self.lease is not None:
            self._touches += 1
            self._put(self._noted({_TOUCHED: str(self._touches)}), "another program")

    def edit(self, notes: Mapping[str, str]) -> None:
        """Another program writes annotations that only members write."""
        if self.lease is not None:
            self._is_tampered = True
            self.annotate("an editor", notes)

    def delete(self) -> None:
        """An administrator removes the object."""
        if self.lease is not None:
            self._world.tell("lease: deleted")
            self._is_tampered = True
            self.lease = None
            self.on_change(None)

    def exchange(self, group: str) -> None:
        """An administrator applies the Lease of another group, which says the same beside that."""
        if self.lease is not None:
            self._is_tampered = True
            theirs, ours = replace(self.lease, group=group), LeaseObject(self.lease, self._content)
            body = lease_object.encode(theirs, ours, _NAME, 0)
            content = object_of(javajson.loads(body, OBJECT_BYTES_MAX), "the Lease")
            self._put(content, "an administrator, from another group")

    def restore(self, saved: Saved) -> None:
        """An administrator applies a copy that was kept."""
        if self.lease is not None:
            self._is_tampered = True
            self._put(saved.content, "an administrator, from a copy")

    def _noted(self, notes: Mapping[str, str]) -> JsonObject:
        metadata = object_of(self._content["metadata"], "metadata")
        annotations = object_of(metadata.get("annotations") or {}, "annotations")
        return self._content | {"metadata": metadata | {"annotations": annotations | {**notes}}}


def _content(lease: Lease) -> Lease:
    return replace(
        lease, version="", renewals=0, operator_requests=OperatorRequests(), fenced=frozenset()
    )


def shown(lease: Lease) -> str:
    """In one line."""
    fenced = f" fenced {sorted(lease.fenced)}" if lease.fenced else ""
    operator_requests = (
        f" {lease.operator_requests}" if lease.operator_requests != OperatorRequests() else ""
    )
    untrusted_reason = f" ({lease.untrusted_reason})" if lease.untrusted_reason else ""
    return (
        f"version {lease.version} holder {lease.holder} epoch {lease.epoch}"
        f" in sync {sorted(lease.in_sync)}{fenced}{operator_requests}{untrusted_reason}"
    )


def _nothing(lease: Lease | None) -> None:
    """No watch is open."""
