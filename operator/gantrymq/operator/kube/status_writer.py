"""Writes the status of resources by server-side apply, and only when it differs.

Conditions of other writers in the same status survive, since each writer owns its own fields.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.operator.kube.client import APPLY_PATCH, KubeClient, Lane
from gantrymq.operator.kube.errors import NotFoundError
from gantrymq.operator.kube.kinds import path_of_body
from gantrymq.operator.plan.actions import Json

FIELD_MANAGER: Final = "gantry-operator-status"


@final
class StatusWriter:
    """Remembers what it wrote last for each resource of one controller."""

    def __init__(self, client: KubeClient, lane: Lane = Lane.URGENT) -> None:
        self._client = client
        self._lane = lane
        self._written: dict[str, tuple[Json, Json]] = {}
        """By uid: the status that was asked for, and the one the API made of it."""

    async def write(self, resource: Json, status: Json) -> bool:
        """Make this the status of the resource; whether a request was needed."""
        metadata, current = resource["metadata"], resource.get("status") or {}
        uid = metadata["uid"]
        if current == status or self._written.get(uid) == (status, current):
            return False
        body = {
            "apiVersion": resource["apiVersion"],
            "kind": resource["kind"],
            "metadata": {
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": uid,
            },
            "status": status,
        }
        parameters = {"fieldManager": FIELD_MANAGER, "force": "true"}
        try:
            answer = await self._client.request(
                "PATCH",
                path_of_body(body) + "/status",
                parameters,
                body,
                content_type=APPLY_PATCH,
                lane=self._lane,
            )
        except NotFoundError:
            return True  # deleted meanwhile
        self._written[uid] = (status, answer.get("status") or {})
        return True

    def forget(self, uid: str) -> None:
        """The resource is gone."""
        self._written.pop(uid, None)
