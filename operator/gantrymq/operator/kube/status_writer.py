"""Writes the status of resources by server-side apply, and only if it differs.

Conditions of other writers in the same status are kept, because each writer owns its own fields.
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
# A change of lag alone is written at most once in this time, which is the safety interval.
LAG_SECONDS: Final = 60.0


@final
class StatusWriter:
    """Writes the statuses of one controller's resources, and remembers the last one of each."""

    def __init__(
        self, client: KubeClient, lane: Lane = Lane.URGENT, lag_seconds: float = LAG_SECONDS
    ) -> None:
        self._lag_seconds = lag_seconds
        self._client = client
        self._lane = lane
        self._written: dict[str, tuple[Json, Json]] = {}
        """By uid: the status that was sent, and the status that the API returned."""
        self._clock = time.monotonic
        self._written_at: dict[str, float] = {}
        """By uid: the time of the last write."""

    async def write(self, resource: Json, status: Json) -> bool:
        """Write the status of a resource if it differs; return whether a request was needed."""
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
        """Whether only lag changed, as it always does under load, and the last write is recent."""
        asked, answered = self._written.get(uid, ({}, {}))
        is_recent = self._clock() - self._written_at.get(uid, -math.inf) < self._lag_seconds
        return (
            is_recent
            and without_lag(asked) == without_lag(status)
            and without_lag(answered) == without_lag(current)
        )

    def forget(self, uid: str) -> None:
        """Forget a resource that is gone."""
        self._written.pop(uid, None)
        self._written_at.pop(uid, None)


def without_lag(status: Json) -> Json:
    """Return the status without the lag of members."""
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
