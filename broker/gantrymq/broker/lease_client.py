"""The lease store of a member: its group's Lease, and the EndpointSlice of the group's Service.

Answers are as the member's core wants them (ha/lease.py). Invariant: Conflict and Missing are said
only where the API says that nothing was written, Written only where it says that it was; all else
is Unanswered, an answer that cannot be read as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Final, final

from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.ha import endpoint_slice, group_service, lease_object
from gantrymq.ha.endpoint_slice import Endpoint
from gantrymq.ha.lease import Conflict, Found, Lease, LeaseAnswer, Missing, Unanswered, Written
from gantrymq.ha.lease_object import OBJECT_BYTES_MAX, LeaseObject, ObjectName
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


@final
class LeaseClient:
    """One request at a time."""

    def __init__(self, api: KubeApi, place: ObjectName, wall_ms: Callable[[], int]) -> None:
        self._api = api
        self._last: LeaseObject | None = None
        """As it was read, or as the API said that it is now."""
        self._place = place
        self._wall_ms = wall_ms

    async def read(self) -> LeaseAnswer:
        """The lease as it is."""
        try:
            answer = await self._api.ask("GET", self._path())
        except UnansweredError as error:
            return Unanswered(str(error))
        if answer.status == _NOT_FOUND:
            self._last = None
            return Missing()
        if answer.status != _OK:
            return Unanswered(_refusal(answer))
        return self._take(answer.body)

    async def write(self, lease: Lease) -> LeaseAnswer:
        """Replace the object of this version, or make the first one."""
        before = self._last if lease.version else None
        if lease.version and (before is None or before.lease.version != lease.version):
            return Conflict()
        try:
            body = lease_object.encode(lease, before, self._place, self._wall_ms())
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
            return Unanswered(_refusal(answer))
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


def api_of(lease_url: str) -> KubeApi:
    """The API at this address; at "" that of the cluster this pod is in."""
    return KubeApi(ApiPlace(lease_url) if lease_url else _pods_api(), OBJECT_BYTES_MAX)


def _pods_api() -> ApiPlace:
    try:
        return place_of_pod(os.environ)
    except ConfigurationError as error:
        text = f"leaseUrl is empty, and {error}; give leaseUrl where the API is elsewhere"
        raise ConfigurationError(text) from None


@final
class SliceClient:
    """Of the master; `service` names the Service."""

    def __init__(self, api: KubeApi, service: ObjectName) -> None:
        self._api = api
        namespace = service.namespace
        collection = f"/apis/{endpoint_slice.API_VERSION}/namespaces/{namespace}/endpointslices"
        self._collection = collection
        self._path = f"{collection}/{endpoint_slice.name(service.name)}"
        self._service = service

    async def publish(self, endpoint: Endpoint) -> str | None:
        """Lead the Service there; None once it does, else why it does not."""
        try:
            answer = await self._publish(endpoint)
        except (UnansweredError, RemoteError) as error:
            return str(error)
        return None if answer is None or answer.status in (_OK, _CREATED) else _refusal(answer)

    async def _publish(self, endpoint: Endpoint) -> ApiAnswer | None:
        """The last answer of the API; None where the slice says so already."""
        found = await self._api.ask("GET", self._path)
        if found.status not in (_OK, _NOT_FOUND):
            return found
        before = endpoint_slice.read(found.body) if found.status == _OK else None
        body = endpoint_slice.encode(endpoint, before, self._service)
        if body is None:
            return None
        if before is not None and before.can_become(endpoint):
            return await self._api.ask("PUT", self._path, body)
        if before is not None:
            gone = await self._api.ask("DELETE", self._path, endpoint_slice.deletion(before))
            if gone.status not in (_OK, _NOT_FOUND):
                return gone
        return await self._api.ask("POST", self._collection, body)

    async def mistake(self, ports: Collection[str]) -> str | None:
        """What is wrong with the Service itself, as far as this pod may read it: no right to, or no
        answer, is no mistake."""
        path = f"/api/v1/namespaces/{self._service.namespace}/services/{self._service.name}"
        try:
            found = await self._api.ask("GET", path)
            if found.status != _OK:
                return None
            return group_service.mistake(found.body, self._service.name, ports)
        except (UnansweredError, RemoteError):
            return None


def _refusal(answer: ApiAnswer) -> str:
    """In the API's words, as far as it has any."""
    try:
        words = text_field(object_of(javajson.loads(answer.body), "a status"), "message") or ""
    except RemoteError:
        words = answer.body.decode(errors="replace")
    return f"the API answers {answer.status}: {words[:_WORDS_MAX] or 'nothing more'}"
