"""A simulated Kubernetes API server: real HTTP on loopback, objects in memory, faults on demand.

    server = await KubeServer.start()
    server.put("BrokerCluster", {...})         as a user would
    server.faults.black_holes.add("blocked")   and so on
    await server.stop()

It serves list (paged, by label and a few field selectors), watch with bookmarks, get, create,
update, JSON patch, merge patch, server-side apply, the status subresource, delete with
preconditions, finalizers and ownership, and what kopf asks to find out about kinds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final, Self, final

from aiohttp import web

from gantrymq.fakes_kube.api_paths import (
    BY_NAME,
    BY_PLURAL,
    discovery,
    parse_path,
    selector,
    status_response,
    with_kind,
)
from gantrymq.fakes_kube.faults import Calls, Faults
from gantrymq.fakes_kube.objects import (
    Event,
    Json,
    Objects,
    Place,
    Refusal,
    json_patch,
    merge_patch,
)

BOOKMARK_SECONDS: Final = 0.2


@final
class KubeServer:
    """Owner of the listener and of the objects."""

    def __init__(self, objects: Objects | None = None) -> None:
        self.calls = Calls()
        self.faults = Faults()
        self.objects = Objects() if objects is None else objects
        self.objects.on_event = self._tell
        self._after_write: list[Callable[[Place, Json], None]] = []
        self._stopping = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._watches: set[asyncio.Queue[Event]] = set()
        self.url = ""

    @classmethod
    async def start(cls, objects: Objects | None = None) -> Self:
        server = cls(objects)
        application = web.Application(client_max_size=8 << 20)
        application.router.add_route("*", "/{path:.*}", server._serve)
        server._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await server._runner.setup()
        site = web.TCPSite(server._runner, "127.0.0.1", 0)
        await site.start()
        host, port = server._runner.addresses[0][:2]
        server.url = f"http://{host}:{port}"
        return server

    async def stop(self) -> None:
        assert self._runner is not None
        self._stopping.set()
        await self._runner.cleanup()

    # ------------------------------------------------------------------ as a user

    def put(self, kind: str, body: Json) -> Json:
        """Create the object, or change what is in its body."""
        place = self._place(kind, body)
        if place not in self.objects.items:
            return self.objects.create(place, with_kind(BY_NAME[kind], body))
        old = self.objects.get(place)
        new = merge_patch(old, {key: body[key] for key in body if key != "status"})
        if "status" in body:
            self.objects.replace(place, {**old, "status": body["status"]}, status=True)
            new["metadata"].pop("resourceVersion", None)
        return self.objects.replace(place, new)

    def set_status(self, kind: str, namespace: str, name: str, status: Json) -> Json:
        place = self.place(kind, namespace, name)
        return self.objects.replace(place, {"metadata": {}, "status": status}, status=True)

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        return self.objects.items.get(self.place(kind, namespace, name))

    def all(self, kind: str, namespace: str = "") -> list[Json]:
        known = BY_NAME[kind]
        place = Place(known.api_version, known.plural, namespace)
        return self.objects.select(place, lambda item: True)

    def delete(self, kind: str, namespace: str, name: str) -> None:
        self.objects.delete(self.place(kind, namespace, name), {})

    def place(self, kind: str, namespace: str, name: str) -> Place:
        known = BY_NAME[kind]
        return Place(
            known.api_version, known.plural, namespace if known.is_namespaced else "", name
        )

    def on_write(self, react: Callable[[Place, Json], None]) -> None:
        """Have something react to every write, as controllers of a real cluster do."""
        self._after_write.append(react)

    def close_watches(self) -> None:
        """End every watch that is open, as a server that restarts does."""
        for watch in list(self._watches):
            watch.put_nowait(_END)

    def _place(self, kind: str, body: Json) -> Place:
        metadata = body["metadata"]
        return self.place(kind, metadata.get("namespace", ""), metadata["name"])

    # ------------------------------------------------------------------ requests

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        try:
            if self.faults.killed.is_set():
                await self._hang()
            if self.faults.is_refusing:
                return status_response(503, "ServiceUnavailable", "the server is out")
            kinds = discovery(request.path)
            if kinds is not None:
                return web.json_response(kinds)
            place, subresource = parse_path(request.path)
            if place.namespace in self.faults.black_holes:
                self.calls.swallowed += 1
                await self._hang()
            if self.faults.throttled > 0:
                self.faults.throttled -= 1
                return status_response(
                    429, "TooManyRequests", "slow down", {"Retry-After": self.faults.retry_after}
                )
            return await self._answer(request, place, subresource)
        except Refusal as refusal:
            return status_response(refusal.code, refusal.reason, refusal.message)

    async def _hang(self) -> None:
        """Answer nothing, for as long as the server runs."""
        await self._stopping.wait()
        raise Refusal(503, "ServiceUnavailable", "the server stops")

    async def _answer(
        self, request: web.Request, place: Place, subresource: str
    ) -> web.StreamResponse:
        if request.method == "GET" and not place.name:
            if request.query.get("watch") in ("true", "1"):
                self.calls.requests[f"WATCH {place.plural}"] += 1
                return await self._watch(request, place)
            self.calls.requests[f"LIST {place.plural}"] += 1
            refusals = self.faults.list_refusals
            refusal = refusals.get(place.plural) or refusals.get(f"*/{place.namespace}")
            if refusal is not None:
                raise Refusal(refusal[0], "Forbidden", refusal[1])
            return web.json_response(self._list(request, place))
        self.calls.requests[f"{request.method} {place.plural}"] += 1
        if request.method == "GET":
            self._refuse("GET", place)
            return web.json_response(self.objects.get(place))
        return await self._write(request, place, subresource)

    async def _write(
        self, request: web.Request, place: Place, subresource: str
    ) -> web.StreamResponse:
        body = json.loads(await request.read() or b"{}")
        if request.method == "POST":
            place = Place(place.api, place.plural, place.namespace, body["metadata"]["name"])
        self._refuse(request.method, place)
        version = self.objects.version
        item = self._written(request, place, body, is_status=subresource == "status")
        if self.objects.version != version:
            for react in self._after_write:
                react(place, item)
            await self._note_write(request.method, place, subresource)
        return web.json_response(item, status=201 if request.method == "POST" else 200)

    def _refuse(self, verb: str, place: Place) -> None:
        refusal = self.faults.refusals.get(f"{verb} {place.plural}/{place.name}")
        if refusal is not None:
            raise Refusal(refusal[0], "Invalid", refusal[1])

    def _written(self, request: web.Request, place: Place, body: Any, *, is_status: bool) -> Json:
        manager = request.query.get("fieldManager", "")
        kind = BY_PLURAL[(place.api, place.plural)]
        if request.method == "POST":
            return self.objects.create(place, with_kind(kind, body), manager)
        if request.method == "PUT":
            return self.objects.replace(place, with_kind(kind, body), status=is_status)
        if request.method == "DELETE":
            return self.objects.delete(place, body)
        content_type = request.content_type
        if content_type == "application/apply-patch+yaml":
            if not manager:
                raise Refusal(400, "BadRequest", "fieldManager is required for apply patch")
            return self.objects.apply(place, with_kind(kind, body), manager, status=is_status)
        old = self.objects.get(place)
        if content_type == "application/json-patch+json":
            return self.objects.replace(place, json_patch(old, body), status=is_status)
        if content_type == "application/merge-patch+json":
            return self.objects.replace(place, merge_patch(old, body), status=is_status)
        raise Refusal(415, "UnsupportedMediaType", f"{content_type} is not supported")

    async def _note_write(self, verb: str, place: Place, subresource: str) -> None:
        if place.plural == "events":
            return
        name = f"{place.plural}/{subresource}" if subresource else place.plural
        self.calls.writes.append(f"{verb} {name}/{place.namespace}/{place.name}")
        if self.faults.kill_after_writes is None or place.plural == "leases":
            return
        self.faults.kill_after_writes -= 1
        if self.faults.kill_after_writes <= 0:
            self.faults.killed.set()
            await self._hang()

    # ------------------------------------------------------------------ lists and watches

    def _list(self, request: web.Request, place: Place) -> Json:
        items, version = self.objects.items, self.objects.version
        if place.plural in self.faults.stale_lists and self.objects.frozen is not None:
            self.faults.stale_lists.discard(place.plural)
            items, version = self.objects.frozen
        found = self.objects.select(place, selector(request), items)
        start = int(request.query.get("continue", "0"))
        limit = int(request.query.get("limit", "0")) or len(found)
        metadata: Json = {"resourceVersion": str(version)}
        if start + limit < len(found):
            metadata["continue"] = str(start + limit)
        kind = BY_PLURAL[(place.api, place.plural)]
        # The items of a real list of built-in kinds do not say what they are.
        bare = [
            {key: value for key, value in item.items() if key not in ("apiVersion", "kind")}
            if kind.api_version != "gantrymq.dev/v1"
            else item
            for item in found[start : start + limit]
        ]
        return {
            "apiVersion": kind.api_version,
            "kind": f"{kind.name}List",
            "metadata": metadata,
            "items": bare,
        }

    async def _watch(self, request: web.Request, place: Place) -> web.StreamResponse:
        matches = selector(request)
        since = int(request.query.get("resourceVersion", "0"))
        missed = self.objects.since(since)
        queue: asyncio.Queue[Event] = asyncio.Queue()
        for event in missed:
            queue.put_nowait(event)
        self._watches.add(queue)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        try:
            while (event := await self._next(queue)) is not _END:
                await self._show(response, place, event, matches)
        except ConnectionError:
            pass
        finally:
            self._watches.discard(queue)
        return response

    async def _next(self, queue: asyncio.Queue[Event]) -> Event:
        try:
            async with asyncio.timeout(BOOKMARK_SECONDS):
                return await queue.get()
        except TimeoutError:
            return Event(self.objects.version, "BOOKMARK", Place("", "", ""), {})

    async def _show(
        self,
        response: web.StreamResponse,
        collection: Place,
        event: Event,
        matches: Callable[[Json], bool],
    ) -> None:
        if event.type == "BOOKMARK":
            item: Json = {"metadata": {"resourceVersion": str(event.version)}}
            await _line(response, "BOOKMARK", item)
            return
        place = event.place
        is_here = (place.api, place.plural) == (collection.api, collection.plural)
        if not is_here or collection.namespace not in ("", place.namespace):
            return
        if place.namespace in self.faults.black_holes and collection.namespace:
            return
        if matches(event.item):
            await _line(response, event.type, event.item)
        elif event.type == "MODIFIED":  # it may have matched before
            await _line(response, "DELETED", event.item)

    def _tell(self, event: Event) -> None:
        if self.faults.dropped_events > 0:
            self.faults.dropped_events -= 1
            return
        for watch in self._watches:
            watch.put_nowait(event)


_END: Final = Event(0, "END", Place("", "", ""), {})


async def _line(response: web.StreamResponse, kind: str, item: Json) -> None:
    await response.write(json.dumps({"type": kind, "object": item}).encode() + b"\n")
