"""Tests that a reflector lists, watches, and recovers from failures."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gantrymq.fakes_kube.server import KubeServer
from gantrymq.fakes_kube.waiting import until
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.watch import reducers
from gantrymq.operator.kube.watch.object_store import ObjectStore
from gantrymq.operator.kube.watch.reflector import PAGE_OBJECTS, Pace, Reflector, Selection

LABELS = {"app.kubernetes.io/managed-by": "gantry"}
SELECTION = Selection(kinds.CONFIG_MAP, labels="app.kubernetes.io/managed-by=gantry")
PACE = Pace(backoff_seconds=0.01)


def put(server: KubeServer, name: str, value: str = "1", **labels: str) -> None:
    metadata = {"namespace": "one", "name": name, "labels": labels or LABELS}
    server.put("ConfigMap", {"metadata": metadata, "data": {"key": value}})


def hears_more(reflector: Reflector) -> Callable[[], bool]:
    """A condition that is met when something arrives from now on."""
    heard = reflector.last_heard
    return lambda: reflector.last_heard > heard


@asynccontextmanager
async def reflecting(
    client: KubeClient, pace: Pace = PACE, selection: Selection = SELECTION
) -> AsyncIterator[tuple[Reflector, ObjectStore]]:
    store = ObjectStore(reducers.whole, lambda item: None)
    reflector = Reflector(client, selection, store, random.Random(1), pace)
    task = asyncio.create_task(reflector.run())
    try:
        await until(lambda: reflector.is_synced)
        yield reflector, store
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def value(store: ObjectStore, name: str) -> str | None:
    item = store.get("one", name)
    return None if item is None else item["data"]["key"]


async def test_a_reflector_lists_in_pages_and_follows_changes(
    server: KubeServer, client: KubeClient
) -> None:
    for number in range(PAGE_OBJECTS * 2 + 1):
        put(server, f"c{number}")
    async with reflecting(client) as (_, store):
        assert len(store) == PAGE_OBJECTS * 2 + 1
        assert server.calls.requests["LIST configmaps"] == 3

        put(server, "c0", "2")
        put(server, "new")
        server.delete("ConfigMap", "one", "c1")

        await until(lambda: value(store, "c1") is None and value(store, "new") == "1")
        assert value(store, "c0") == "2"


async def test_objects_without_the_label_do_not_arrive(
    server: KubeServer, client: KubeClient
) -> None:
    put(server, "foreign", owner="another")
    async with reflecting(client) as (_, store):
        put(server, "more", owner="another")
        put(server, "ours")

        await until(lambda: value(store, "ours") is not None)
        assert len(store) == 1


async def test_items_of_a_list_and_of_a_watch_look_alike(
    server: KubeServer, client: KubeClient
) -> None:
    put(server, "listed")
    async with reflecting(client) as (_, store):
        put(server, "watched")
        await until(lambda: len(store) == 2)

        assert {(item["kind"], item["apiVersion"]) for item in store} == {("ConfigMap", "v1")}


async def test_a_watch_that_ends_goes_on_without_a_list(
    server: KubeServer, client: KubeClient
) -> None:
    async with reflecting(client) as (_, store):
        server.close_watches()
        put(server, "a")

        await until(lambda: value(store, "a") is not None)
        assert server.calls.requests["LIST configmaps"] == 1


async def test_bookmarks_carry_the_version_on(server: KubeServer, client: KubeClient) -> None:
    async with reflecting(client) as (reflector, store):
        for number in range(5):
            server.put("Secret", {"metadata": {"namespace": "one", "name": f"s{number}"}})
        for _ in range(2):  # the first bookmark may have been on its way already
            await until(hears_more(reflector))
        server.objects.forget_history()
        server.close_watches()
        put(server, "a")

        await until(lambda: value(store, "a") is not None)
        assert server.calls.requests["LIST configmaps"] == 1


async def test_a_version_that_is_too_old_lists_again(
    server: KubeServer, client: KubeClient
) -> None:
    put(server, "goes")
    async with reflecting(client) as (_, store):
        server.faults.is_refusing = True
        server.close_watches()
        server.delete("ConfigMap", "one", "goes")
        put(server, "a")
        server.objects.forget_history()
        server.faults.is_refusing = False

        await until(lambda: value(store, "a") is not None)
        assert value(store, "goes") is None
        assert server.calls.requests["LIST configmaps"] == 2


async def test_a_lost_event_is_noticed_by_the_next_list(
    server: KubeServer, client: KubeClient
) -> None:
    put(server, "goes")
    async with reflecting(client, Pace(backoff_seconds=0.01, relist_seconds=0.5)) as (_, store):
        server.faults.dropped_events = 2
        put(server, "lost")
        server.delete("ConfigMap", "one", "goes")

        await until(lambda: value(store, "lost") is not None and value(store, "goes") is None)


async def test_a_silent_watch_is_given_up(server: KubeServer, client: KubeClient) -> None:
    pace = Pace(backoff_seconds=0.01, silence_seconds=0.05)
    async with reflecting(client, pace) as (_, store):
        # Bookmarks of the server are further apart than this reflector waits.
        await until(lambda: server.calls.requests["WATCH configmaps"] >= 3)
        put(server, "a")

        await until(lambda: value(store, "a") is not None)
        assert server.calls.requests["LIST configmaps"] == 1


@pytest.mark.parametrize("code", [403, 404])
async def test_a_kind_that_may_not_be_listed_says_why(
    server: KubeServer, client: KubeClient, code: int
) -> None:
    server.faults.list_refusals["configmaps"] = (code, "configmaps is forbidden")
    store = ObjectStore(reducers.whole, lambda item: None)
    reflector = Reflector(client, SELECTION, store, random.Random(1), PACE)
    task = asyncio.create_task(reflector.run())

    await until(lambda: "configmaps is forbidden" in reflector.refusal)
    assert not reflector.is_synced
    server.faults.list_refusals.clear()

    await until(lambda: reflector.is_synced)
    assert reflector.refusal == ""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_reflector_recovers_after_an_api_outage(
    server: KubeServer, client: KubeClient
) -> None:
    async with reflecting(client) as (_, store):
        server.faults.is_refusing = True
        server.close_watches()
        put(server, "a")
        await until(lambda: client.answers[("GET", 503)] >= 2)
        server.faults.is_refusing = False

        await until(lambda: value(store, "a") is not None)
