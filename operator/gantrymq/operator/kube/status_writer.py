"""Writes the status of resources by server-side apply, and only when it differs.

Conditions of other writers in the same status survive, since each writer owns its own fields.
"""

from __future__ import annotations

import math
import time
from typing import Final, final

from gantrymq.operator.kube.client import APPLY_PATCH, KubeClient, Lane
from gantrymq.operator.kube.errors import NotFoundError
from gantrymq.operator.kube.kinds import path_of_body
from gantrymq.operator.plan.actions import Json

FIELD_MANAGER: Final = "gantry-operator-status"
# A change of lag alone is written as often as every cluster is looked at anyway.
LAG_SECONDS: Final = 60.0


@final
class StatusWriter:
    """Remembers what it wrote last for each resource of one controller."""

    def __init__(
        self, client: KubeClient, lane: Lane = Lane.URGENT, lag_seconds: float = LAG_SECONDS
    ) -> None:
        self._lag_seconds = lag_seconds
        self._client = client
        self._lane = lane
        self._written: dict[str, tuple[Json, Json]] = {}
        """By uid: the status that was asked for, and the one the API made of it."""
        self._clock = time.monotonic
        self._written_at: dict[str, float] = {}
        """By uid: when."""

    async def write(self, resource: Json, status: Json) -> bool:
        """Make this the status of the resource; whether a request was needed."""
        metadata, current = resource["metadata"], resource.get("status") or {}
        uid = metadata["uid"]
        if current == status or self._written.get(uid) == (status, current):
            return False
        if self._is_only_lag(uid, status, current):
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
        self._written_at[uid] = self._clock()
        return True

    def _is_only_lag(self, uid: str, status: Json, current: Json) -> bool:
        """Whether nothing but lag changed, as it always does under load, and the last write
        was a moment ago."""
        asked, answered = self._written.get(uid, ({}, {}))
        is_recent = self._clock() - self._written_at.get(uid, -math.inf) < self._lag_seconds
        return (
            is_recent
            and without_lag(asked) == without_lag(status)
            and without_lag(answered) == without_lag(current)
        )

    def forget(self, uid: str) -> None:
        """The resource is gone."""
        self._written.pop(uid, None)
        self._written_at.pop(uid, None)


def without_lag(status: Json) -> Json:
    """The status but for how far members are behind."""
    kept = {key: "" if key == "maxLag" else value for key, value in status.items()}
    if "groups" not in status:
        return kept
    groups = []
    for group in status["groups"]:
        members = [
            {key: "" if key == "lag" else value for key, value in member.items()}
            for member in group.get("members") or ()
        ]
        groups.append({**group, "members": members})
    return {**kept, "groups": groups}
