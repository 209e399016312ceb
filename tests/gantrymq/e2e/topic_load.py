"""Creates thousands of Topics by several connections and watches them become Ready.

`kubectl create` sends one request after the other, and listing all Topics again and again would
keep the API server busy. So this uses the operator's own client and reflector.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from gantrymq.e2e.kubectl import Json, environment, is_true
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.api_config import of_kubeconfig
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.watch.object_store import Name, name_of
from gantrymq.operator.kube.watch.reflector import Reflector, Selection

CONNECTIONS: Final = 16
CLOSING_SECONDS: Final = 1.0


@final
@dataclass(frozen=True, slots=True)
class LoadTimes:
    """Seconds since the first request."""

    created: float
    """When the last Topic was created."""
    ready: float
    """When all of them were Ready."""


@final
@dataclass(slots=True)
class ReadyTopics:
    """A reflector's sink that keeps which Topics are Ready."""

    expected: int
    are_ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once as many as expected are Ready."""
    seen: set[Name] = field(default_factory=set)
    ready: set[Name] = field(default_factory=set)

    def put(self, item: Json) -> None:
        name = name_of(item)
        self.seen.add(name)
        (self.ready.add if is_true(item, "Ready") else self.ready.discard)(name)
        if len(self.ready) >= self.expected:
            self.are_ready.set()

    def remove(self, name: Name) -> None:
        self.seen.discard(name)
        self.ready.discard(name)

    def names(self) -> Iterable[Name]:
        return tuple(self.seen)

    def __len__(self) -> int:
        return len(self.seen)


def load_topics(namespace: str, topics: Sequence[Json], seconds_max: float) -> LoadTimes:
    """Create these Topics and wait until all of them are Ready; TimeoutError if they are not."""
    return asyncio.run(_load(namespace, topics, seconds_max))


async def _load(namespace: str, topics: Sequence[Json], seconds_max: float) -> LoadTimes:
    client = KubeClient(of_kubeconfig(Path(environment()["KUBECONFIG"])))
    sink = ReadyTopics(len(topics))
    reflector = Reflector(client, Selection(kinds.TOPIC, namespace), sink, random.Random())
    watching = asyncio.create_task(reflector.run())
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds_max):
            await _create(client, namespace, topics)
            created = time.monotonic() - began
            await sink.are_ready.wait()
            return LoadTimes(created, time.monotonic() - began)
    except TimeoutError:
        told = f"{len(sink.ready)} of {len(topics)} topics are Ready after {seconds_max:g} s"
        raise TimeoutError(told) from None
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        await client.close()
        # TLS connections end in the loop, after the client has closed them.
        await asyncio.sleep(CLOSING_SECONDS)


async def _create(client: KubeClient, namespace: str, topics: Iterable[Json]) -> None:
    waiting = iter(topics)

    async def worker() -> None:
        for each in waiting:
            await client.request("POST", kinds.TOPIC.collection(namespace), None, each)

    await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))
