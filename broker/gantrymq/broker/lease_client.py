"""Reads and writes the Lease of a member's group in the Kubernetes API.

Answers are as the member's core wants them (ha/lease.py). Invariant: Conflict and Missing are said
only where the API says that nothing was written, Written only where it says that it was; all else
is Unanswered, an answer that cannot be read as well.

What the master has to report stands in an annotation that each renewal brings up to date:

    gantrymq.dev/problems   one problem a line; absent while there is none
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, final

from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.ha import lease_object
from gantrymq.ha.lease import Conflict, Found, Lease, LeaseAnswer, Missing, Unanswered, Written
from gantrymq.ha.lease_object import OBJECT_BYTES_MAX, PREFIX, LeaseObject, ObjectName
from gantrymq.runtime.kube_api import (
    ApiAnswer,
    ApiPlace,
    KubeApi,
    UnansweredError,
    place_of_pod,
)
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import object_of, text_field

_OK: Final = 200
_CREATED: Final = 201
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409

# Of a refusal's words in a log line.
_WORDS_MAX: Final = 300

PROBLEMS: Final = f"{PREFIX}problems"
# Problems of the master and of the wishes: a handful, and the Lease is written every 0.8 s.
PROBLEMS_MAX: Final = 16
_PROBLEM_CHARACTERS_MAX: Final = 400

NEVER: Final = float("inf")


def no_problems() -> Sequence[str]:
    """Of a process that only gives a Lease away."""
    return ()


@final
class LeaseClient:
    """One request at a time. `problems` are those of the master that this process is."""

    def __init__(
        self,
        api: KubeApi,
        place: ObjectName,
        wall_ms: Callable[[], int],
        problems: Callable[[], Sequence[str]] = no_problems,
    ) -> None:
        self.answered_at = -NEVER
        """When a request was answered last, by the clock of the event loop."""
        self.failure: str | None = None
        """Why the last request was not answered, or its answer could not be read."""
        self._api = api
        self._last: LeaseObject | None = None
        """As it was read, or as the API said that it is now."""
        self._place = place
        self._problems = problems
        self._wall_ms = wall_ms
        self._written = -NEVER, 0, 0
        """When the last write was sent that was carried out, with its holder and epoch."""

    @property
    def ignored(self) -> Sequence[str]:
        """Why wishes in the Lease were left out."""
        return () if self._last is None else self._last.ignored

    def renewed_at(self, holder: int, epoch: int) -> float:
        """When the last write was sent, if it said that this member leads in this epoch."""
        sent_at, *said = self._written
        return sent_at if said == [holder, epoch] else -NEVER

    async def read(self) -> LeaseAnswer:
        """The lease as it is."""
        return self._noted(await self._read())

    async def write(self, lease: Lease) -> LeaseAnswer:
        """Replace the object of this version, or make the first one."""
        sent_at = asyncio.get_running_loop().time()
        answer = self._noted(await self._write(lease))
        if isinstance(answer, Written):
            self._written = sent_at, lease.holder, lease.epoch
        return answer

    def _noted(self, answer: LeaseAnswer) -> LeaseAnswer:
        self.failure = answer.text if isinstance(answer, Unanswered) else None
        if self.failure is None:
            self.answered_at = asyncio.get_running_loop().time()
        return answer

    async def _read(self) -> LeaseAnswer:
        try:
            answer = await self._api.ask("GET", self._path())
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
            said = None if before is None else _with_problems(before, self._problems())
            body = lease_object.encode(lease, said, self._place, self._wall_ms())
            if before is None:
                answer = await self._api.ask("POST", self._collection(), body)
            else:
                answer = await self._api.ask("PUT", self._path(), body)
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

    def _collection(self) -> str:
        namespace = self._place.namespace
        return f"/apis/{lease_object.API_VERSION}/namespaces/{namespace}/leases"

    def _path(self) -> str:
        return f"{self._collection()}/{self._place.name}"


def _with_problems(before: LeaseObject, problems: Sequence[str]) -> LeaseObject:
    """The object that is to be replaced, with these problems in its annotation."""
    metadata = dict(object_of(before.content.get("metadata") or {}, "metadata"))
    annotations = dict(object_of(metadata.get("annotations") or {}, "annotations"))
    annotations.pop(PROBLEMS, None)
    if problems:
        lines = [each[:_PROBLEM_CHARACTERS_MAX] for each in problems[:PROBLEMS_MAX]]
        annotations[PROBLEMS] = "\n".join(lines)
    metadata["annotations"] = annotations
    return replace(before, content=before.content | {"metadata": metadata})


def api_of(lease_url: str) -> KubeApi:
    """The API at this address; at "" that of the cluster this pod is in."""
    return KubeApi(ApiPlace(lease_url) if lease_url else _pods_api(), OBJECT_BYTES_MAX)


def _pods_api() -> ApiPlace:
    try:
        return place_of_pod(os.environ)
    except ConfigurationError as error:
        text = f"leaseUrl is empty, and {error}; give leaseUrl where the API is elsewhere"
        raise ConfigurationError(text) from None


def refusal(answer: ApiAnswer) -> str:
    """In the API's words, as far as it has any."""
    try:
        words = text_field(object_of(javajson.loads(answer.body), "a status"), "message") or ""
    except RemoteError:
        words = answer.body.decode(errors="replace")
    return f"the API answers {answer.status}: {words[:_WORDS_MAX] or 'nothing more'}"
