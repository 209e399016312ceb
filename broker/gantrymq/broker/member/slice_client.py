"""Writes the EndpointSlice of a group's Service, and finds what else misdirects its clients."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, final
from urllib.parse import quote

from gantrymq.base.errors import RemoteError
from gantrymq.broker.member.lease_client import refusal
from gantrymq.ha.lease import endpoint_slice, group_service
from gantrymq.ha.lease.endpoint_slice import FOREIGN_MAX, SERVICE_LABEL, Endpoint
from gantrymq.ha.lease.lease_object import ObjectName
from gantrymq.runtime.http.kube_api import METADATA_LIST, ApiAnswer, KubeApi, UnansweredError

_OK: Final = 200
_CREATED: Final = 201
_NOT_FOUND: Final = 404


@final
@dataclass(frozen=True, slots=True)
class Survey:
    """What leads clients of the Service elsewhere than to the master."""

    mistake: str | None = None
    """What is wrong with the Service itself, as far as this pod may read it."""
    foreign: tuple[str, ...] | None = None
    """Other slices of the Service; None if they are not known."""
    unread: str = ""
    """Why the other slices are not known."""


@final
class SliceClient:
    """Accesses the slices of one Service; `service` names it."""

    def __init__(self, api: KubeApi, service: ObjectName) -> None:
        self.newer_version = ""
        """The version of a slice with a higher epoch, if the last `publish` found one."""
        self._api = api
        namespace = service.namespace
        collection = f"/apis/{endpoint_slice.API_VERSION}/namespaces/{namespace}/endpointslices"
        self._collection = collection
        self._path = f"{collection}/{endpoint_slice.name(service.name)}"
        self._service = service

    async def publish(self, endpoint: Endpoint, overruled: str = "") -> str | None:
        """Lead the Service to this endpoint. Returns None on success, otherwise why it failed. A
        slice with a higher epoch is replaced only if it is of the `overruled` version."""
        try:
            answer = await self._publish(endpoint, overruled)
        except (UnansweredError, RemoteError) as error:
            return str(error)
        return None if answer is None or answer.status in (_OK, _CREATED) else refusal(answer)

    async def _publish(self, endpoint: Endpoint, overruled: str) -> ApiAnswer | None:
        """The last answer of the API; None if the slice has this content already."""
        self.newer_version = ""
        found = await self._api.ask("GET", self._path)
        if found.status not in (_OK, _NOT_FOUND):
            return found
        before = endpoint_slice.read(found.body) if found.status == _OK else None
        if before is not None and before.epoch > endpoint.epoch:
            self.newer_version = before.version
        body = endpoint_slice.encode(endpoint, before, self._service, overruled)
        if body is None:
            return None
        if before is not None and before.can_become(endpoint):
            return await self._api.ask("PUT", self._path, body)
        if before is not None:
            gone = await self._api.ask("DELETE", self._path, endpoint_slice.deletion(before))
            if gone.status not in (_OK, _NOT_FOUND):
                return gone
        return await self._api.ask("POST", self._collection, body)

    async def survey(self, ports: Collection[str]) -> Survey:
        """Find what leads clients elsewhere."""
        mistake = await self._mistake(ports)
        query = f"labelSelector={quote(SERVICE_LABEL)}%3D{self._service.name}&limit={FOREIGN_MAX}"
        try:
            found = await self._api.ask("GET", f"{self._collection}?{query}", accept=METADATA_LIST)
            if found.status != _OK:
                return Survey(mistake, unread=refusal(found))
            return Survey(mistake, endpoint_slice.foreign(found.body, self._service.name))
        except (UnansweredError, RemoteError) as error:
            return Survey(mistake, unread=str(error))

    async def _mistake(self, ports: Collection[str]) -> str | None:
        """What is wrong with the Service; None also if the Service could not be read."""
        path = f"/api/v1/namespaces/{self._service.namespace}/services/{self._service.name}"
        try:
            found = await self._api.ask("GET", path)
            if found.status != _OK:
                return None
            return group_service.mistake(found.body, self._service.name, ports)
        except (UnansweredError, RemoteError):
            return None
