"""Reads and writes the Lease of a member's group in the Kubernetes API.

Answers have the types of ha/lease/lease.py. Invariant: Conflict and Missing are returned only if
the API says that nothing was written, and Written only if it says that the write succeeded.
Everything else is Unanswered, including an answer that cannot be parsed.

Each renewal updates two annotations, which no member relies on:

    gantrymq.dev/owner      the group as `cluster/group`
    gantrymq.dev/problems   what the master has to report, one problem a line; absent if nothing
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.ha.lease import lease_object
from gantrymq.ha.lease.lease import (
    Conflict,
    Found,
    Lease,
    LeaseAnswer,
    Missing,
    Unanswered,
    Written,
)
from gantrymq.ha.lease.lease_annotations import PREFIX
from gantrymq.ha.lease.lease_object import OBJECT_BYTES_MAX, LeaseObject, ObjectName
from gantrymq.runtime.http.kube_api import (
    ApiAnswer,
    ApiPlace,
    KubeApi,
    UnansweredError,
    place_of_pod,
)
from gantrymq.runtime.net.adaptive_timeout import AdaptiveTimeout
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import object_of, text_field

_OK: Final = 200
_CREATED: Final = 201
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409

# The largest part of the API's message in a log line.
_MESSAGE_MAX: Final = 300

OWNER: Final = f"{PREFIX}owner"
PROBLEMS: Final = f"{PREFIX}problems"
# Problems of the master and of an operator's requests: a handful, and the Lease is written every
# 0.8 s.
PROBLEMS_MAX: Final = 16
_PROBLEM_CHARACTERS_MAX: Final = 400


def no_problems() -> Sequence[str]:
    """Reports no problems: for a process that only releases a Lease."""
    return ()


@final
class LeaseClient:
    """The Lease client of one process. The caller makes one request at a time. `problems` returns
    those of the master, if this process is master."""

    def __init__(
        self,
        api: KubeApi,
        place: ObjectName,
        wall_ms: Callable[[], int],
        problems: Callable[[], Sequence[str]] = no_problems,
        *,
        owner: str = "",
        former: ObjectName | None = None,
        settled: Callable[[ObjectName], None] = lambda _: None,
    ) -> None:
        """`owner` is `cluster/group`. If there is no Lease at `place`, the one at `former` is used,
        unless it has another owner; `settled` gets the place that is used from then on."""
        self.answered_at = -NEVER
        """When a request was answered last, by the clock of the event loop."""
        self.failure: str | None = None
        """Why the last request was not answered, or its answer could not be parsed."""
        self._api = api
        self._former = former
        self._last: LeaseObject | None = None
        """The object as last read, or as returned by the last write."""
        self._owner = owner
        self._place = place
        self._problems = problems
        self._settled = settled
        self._wall_ms = wall_ms
        self._written = -NEVER, 0, 0
        """When the last successful write was sent, with its holder and epoch."""

    @property
    def ignored(self) -> Sequence[str]:
        """Why requests of an operator in the Lease were skipped."""
        return () if self._last is None else self._last.ignored

    def renewed_at(self, holder: int, epoch: int) -> float:
        """When the last write was sent, if it named this member as the holder in this epoch."""
        sent_at, *said = self._written
        return sent_at if said == [holder, epoch] else -NEVER

    async def read(self) -> LeaseAnswer:
        """Read the Lease."""
        return self._recorded(await self._read())

    async def write(self, lease: Lease) -> LeaseAnswer:
        """Replace the object of this version, or create the object."""
        sent_at = asyncio.get_running_loop().time()
        answer = self._recorded(await self._write(lease))
        if isinstance(answer, Written):
            self._written = sent_at, lease.holder, lease.epoch
        return answer

    def _recorded(self, answer: LeaseAnswer) -> LeaseAnswer:
        self.failure = answer.text if isinstance(answer, Unanswered) else None
        if self.failure is None:
            self.answered_at = asyncio.get_running_loop().time()
        return answer

    async def _read(self) -> LeaseAnswer:
        answer, former = await self._read_at(self._place), self._former
        if former is None:
            return answer
        if isinstance(answer, Missing):
            answer = await self._read_at(former)
            if isinstance(answer, Found) and self._owner_of_last() not in ("", self._owner):
                self._last = None
                return Missing()
            if isinstance(answer, Found):
                self._settle(former)
        elif isinstance(answer, Found):
            self._settle(self._place)
        return answer

    def _settle(self, place: ObjectName) -> None:
        self._settled(place)
        self._place, self._former = place, None

    def _owner_of_last(self) -> str:
        """The owner that the last Lease names; "" if it names none."""
        content = {} if self._last is None else self._last.content
        metadata = object_of(content.get("metadata") or {}, "metadata")
        annotations = object_of(metadata.get("annotations") or {}, "annotations")
        return text_field(annotations, OWNER) or ""

    async def _read_at(self, place: ObjectName) -> LeaseAnswer:
        try:
            answer = await self._api.ask("GET", _path(place))
        except UnansweredError as error:
            return Unanswered(str(error))
        if answer.status == _NOT_FOUND:
            self._last = None
            return Missing()
        if answer.status != _OK:
            return Unanswered(refusal(answer))
        return self._take(answer.body)

    async def _write(self, lease: Lease) -> LeaseAnswer:
        before = self._last if lease.version else None
        if lease.version and (before is None or before.lease.version != lease.version):
            return Conflict()
        try:
            said = (
                None if before is None else _with_annotations(before, self._owner, self._problems())
            )
            if before is None and self._former is not None:
                self._settle(self._place)
            body = lease_object.encode(lease, said, self._place, self._wall_ms())
            if before is None:
                answer = await self._api.ask("POST", _collection(self._place), body)
            else:
                answer = await self._api.ask("PUT", _path(self._place), body)
        except (UnansweredError, RemoteError) as error:
            return Unanswered(str(error))
        if answer.status == _CONFLICT:
            return Conflict()
        if answer.status == _NOT_FOUND and before is not None:
            return Missing()
        if answer.status not in (_OK, _CREATED):
            return Unanswered(refusal(answer))
        taken = self._take(answer.body)
        return Written(taken.lease.version) if isinstance(taken, Found) else taken

    def _take(self, body: bytes) -> Found | Unanswered:
        try:
            self._last = lease_object.read(body)
        except RemoteError as error:
            return Unanswered(str(error))
        return Found(self._last.lease)


def _collection(place: ObjectName) -> str:
    return f"/apis/{lease_object.API_VERSION}/namespaces/{place.namespace}/leases"


def _path(place: ObjectName) -> str:
    return f"{_collection(place)}/{place.name}"


def _with_annotations(before: LeaseObject, owner: str, problems: Sequence[str]) -> LeaseObject:
    """The object to be replaced, with the annotations that this module writes."""
    metadata = dict(object_of(before.content.get("metadata") or {}, "metadata"))
    annotations = dict(object_of(metadata.get("annotations") or {}, "annotations"))
    annotations.pop(PROBLEMS, None)
    if owner:
        annotations[OWNER] = owner
    if problems:
        lines = [each[:_PROBLEM_CHARACTERS_MAX] for each in problems[:PROBLEMS_MAX]]
        annotations[PROBLEMS] = "\n".join(lines)
    metadata["annotations"] = annotations
    return replace(before, content=before.content | {"metadata": metadata})


def api_of(lease_url: str, adaptive_timeout: AdaptiveTimeout | None = None) -> KubeApi:
    """The API at this address; "" stands for that of the cluster in which this pod runs."""
    place = ApiPlace(lease_url) if lease_url else _pods_api()
    return KubeApi(place, OBJECT_BYTES_MAX, adaptive_timeout)


def _pods_api() -> ApiPlace:
    try:
        return place_of_pod(os.environ)
    except ConfigurationError as error:
        text = f"leaseUrl is empty, and {error}: set leaseUrl to the address of the API"
        raise ConfigurationError(text) from None


def refusal(answer: ApiAnswer) -> str:
    """Describes a refusal with the API's own message, if it has one."""
    try:
        message = text_field(object_of(javajson.loads(answer.body), "a status"), "message") or ""
    except RemoteError:
        message = answer.body.decode(errors="replace")
    return f"the API answers {answer.status}: {message[:_MESSAGE_MAX] or 'without a message'}"
