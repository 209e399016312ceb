"""Lists all BrokerClusters once a minute, so that a lost event delays a change by a minute only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.client import KubeClient, Lane
from gantrymq.operator.kube.watch.reflector import PAGE_OBJECTS, RandomSource
from gantrymq.operator.shell.work.controller import RESYNC_SECONDS
from gantrymq.operator.shell.work.work_queue import Key

RESYNC: Final = "resync"
"""The kind of work, which is the first part of a key: `("resync", namespace, "")`."""


@final
class Resync:
    """Reports every cluster that the API lists to `seen`."""

    def __init__(
        self, client: KubeClient, seen: Callable[[str, str], None], random: RandomSource
    ) -> None:
        self._client = client
        self._random = random
        self._seen = seen

    def keys(self, namespaces: Sequence[str]) -> list[Key]:
        """Return the keys to put at the start. Without `namespaces`, one key lists all of them."""
        return [(RESYNC, namespace, "") for namespace in namespaces or ("",)]

    async def run(self, key: Key) -> float | None:
        """List the clusters of one namespace, or of all; return when to list again."""
        _, namespace, _ = key
        parameters = {"limit": str(PAGE_OBJECTS)}
        while True:
            path = kinds.BROKER_CLUSTER.collection(namespace)
            page = await self._client.get(path, parameters, lane=Lane.BULK)
            for item in page.get("items") or ():
                self._seen(item["metadata"]["namespace"], item["metadata"]["name"])
            following = (page.get("metadata") or {}).get("continue")
            if not following:
                return RESYNC_SECONDS * self._random.uniform(0.75, 1.25)
            parameters["continue"] = following
