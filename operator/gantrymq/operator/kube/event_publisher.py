"""Publishes Kubernetes Events on resources: each note once an hour, and at a limited rate.

The name of an Event is derived from its content and the hour, so that an operator does not repeat
Events after a restart.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.kube.client import KubeClient, Lane
from gantrymq.operator.kube.errors import ApiError, ConflictError
from gantrymq.operator.kube.kinds import EVENT
from gantrymq.operator.kube.leading.leader import WallClock, wall_clock
from gantrymq.operator.plan.actions import EventNote, Json
from gantrymq.runtime.logs import Log

# Notes that wait to be sent. Further notes are dropped while the API is slow: they are only hints.
QUEUE_MAX: Final = 256
# Notes that are remembered as published: 64 clusters with some open problems each.
REMEMBERED_MAX: Final = 2048
MESSAGE_CHARACTERS_MAX: Final = 1024  # the API's bound
SECONDS_BETWEEN: Final = 0.1
_HOUR: Final = 3600


@final
@dataclass(frozen=True, slots=True)
class _Notice:
    regarding: Json
    note: EventNote
    name: str


@final
class EventPublisher:
    """Owns the queue of Events. `run` sends them until it is cancelled."""

    def __init__(
        self,
        client: KubeClient,
        instance: str,
        wall: WallClock = wall_clock,
        seconds_between: float = SECONDS_BETWEEN,
    ) -> None:
        self._client = client
        self._instance = instance
        self._log = Log("operator.events")
        self._queue: asyncio.Queue[_Notice] = asyncio.Queue(QUEUE_MAX)
        self._seconds_between = seconds_between
        self._published: OrderedDict[str, None] = OrderedDict()
        self._wall = wall
        self.dropped = 0
        """Notes that did not fit into the queue."""
        self.failed = 0
        """Notes that the API refused."""

    @property
    def pending(self) -> int:
        """Notes that are not sent yet."""
        return self._queue.qsize()

    def publish(self, resource: Json, note: EventNote) -> None:
        """Queue a note on a resource, unless it was published in this hour."""
        name = self._name(resource, note)
        if name in self._published:
            self._published.move_to_end(name)
            return
        if self._queue.full():
            self.dropped += 1
            return
        self._published[name] = None
        if len(self._published) > REMEMBERED_MAX:
            self._published.popitem(last=False)
        self._queue.put_nowait(_Notice(_reference(resource), note, name))

    async def run(self) -> None:
        while True:
            notice = await self._queue.get()
            try:
                await self._send(notice)
            except ConflictError:
                pass  # an earlier process published it in this hour
            except ApiError as error:
                self.failed += 1
                self._log.warning("cannot publish event", reason=notice.note.reason, cause=error)
            await asyncio.sleep(self._seconds_between)

    async def _send(self, notice: _Notice) -> None:
        namespace = notice.regarding["namespace"]
        now = self._wall().strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {"name": notice.name, "namespace": namespace},
            "involvedObject": notice.regarding,
            "type": notice.note.type,
            "reason": notice.note.reason,
            "message": notice.note.message[:MESSAGE_CHARACTERS_MAX],
            "source": {"component": "gantry-operator"},
            "reportingComponent": "gantry-operator",
            "reportingInstance": self._instance,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        await self._client.request("POST", EVENT.collection(namespace), None, body, lane=Lane.BULK)

    def _name(self, resource: Json, note: EventNote) -> str:
        hour = int(self._wall().timestamp()) // _HOUR
        content = f"{resource['metadata']['uid']} {note.type} {note.reason} {note.message} {hour}"
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        return f"{resource['metadata']['name'][:200]}.{digest}"


def _reference(resource: Json) -> Json:
    metadata = resource["metadata"]
    return {
        "apiVersion": resource["apiVersion"],
        "kind": resource["kind"],
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
