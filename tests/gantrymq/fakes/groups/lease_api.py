"""Provides a small Kubernetes API of leases, endpoint slices and Services, with faults.

It runs in the event loop of a test or as a process:

    python -m gantrymq.fakes.groups.lease_api --port 8001 --port 8002 --service 9001

`--service` leads to the endpoint that a master has written, `--host` is where all ports listen, and
`--unix` is a path that leads to the same objects whatever becomes of the network.

Several ports serve the same objects, each with faults of its own: a client that is cut off alone
gets a port alone. POST /control on a port sets its fault, {"fault": "lose", "seconds": 1,
"methods": ["PUT"], "plurals": ["leases"]}; without plurals it is for all kinds. GET /control says
what was asked there.

    none      as it should be                 hang      never answered, not carried out
    refuse    the connection is cut at once   fail      500, not carried out
    forbid    403, not carried out
    lose      carried out, never answered     cut       carried out, and the connection is cut
    late      carried out, answered after so many seconds
    early     answered after so many seconds, and carried out only then
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from aiohttp import web

from gantrymq.fakes.groups.kube_objects import (
    KINDS,
    Key,
    KubeObjects,
    Object,
    Outcome,
    RefusedError,
)
from gantrymq.fakes.groups.service_proxy import ServiceProxy

LONG_SECONDS: Final = 3600.0
_PATH: Final = "/apis/{group}/v1/namespaces/{namespace}/{plural}"
_CORE_PATH: Final = "/api/v1/namespaces/{namespace}/{plural}/{name}"


class Fault(Enum):
    NONE = "none"
    HANG = "hang"
    REFUSE = "refuse"
    FAIL = "fail"
    FORBID = "forbid"
    LOSE = "lose"
    CUT = "cut"
    LATE = "late"
    EARLY = "early"


@dataclass
class Port:
    """One that is listened on."""

    fault: Fault = Fault.NONE
    seconds: float = 0.0
    methods: Sequence[str] = ("GET", "POST", "PUT")
    plurals: Sequence[str] = ()
    """The kinds of objects that have the fault; empty for all kinds."""
    asked: list[str] = field(default_factory=list)
    """`METHOD name`, in order."""

    def hits(self, fault: Fault, method: str, plural: str) -> bool:
        is_meant = not self.plurals or plural in self.plurals
        return self.fault is fault and method in self.methods and is_meant


class LeaseApi:
    """The server. `start`, then `stop`."""

    def __init__(self, ports: int = 1) -> None:
        self.objects = KubeObjects()
        self.ports = [Port() for _ in range(ports)]
        self._runners: list[web.AppRunner] = []

    async def start(self, numbers: Sequence[int] = (), host: str = "127.0.0.1") -> list[str]:
        """The addresses of the ports."""
        urls = []
        for index, port in enumerate(self.ports):
            runner = web.AppRunner(self._application(port), access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            self._runners.append(runner)
            wanted = numbers[index] if numbers else 0
            await web.TCPSite(runner, host, wanted).start()
            urls.append(f"http://{host}:{runner.addresses[0][1]}")
        return urls

    async def start_unix(self, path: str) -> None:
        """Listen there too, without faults."""
        runner = web.AppRunner(self._application(Port()), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        self._runners.append(runner)
        await web.UnixSite(runner, path).start()

    async def stop(self) -> None:
        for runner in self._runners:
            await runner.cleanup()

    def _application(self, port: Port) -> web.Application:
        application = web.Application()

        async def serve(request: web.Request) -> web.StreamResponse:
            return await self._serve(port, request)

        async def control(request: web.Request) -> web.Response:
            return await _control(port, request)

        application.router.add_route("*", "/control", control)
        application.router.add_route("*", _PATH, serve)
        application.router.add_route("*", _PATH + "/{name}", serve)
        application.router.add_route("*", _CORE_PATH, serve)
        return application

    async def _serve(self, port: Port, request: web.Request) -> web.StreamResponse:
        method, info = request.method, request.match_info
        key = (info["plural"], info["namespace"], info.get("name", ""))
        body = json.loads(await request.read() or b"{}")
        port.asked.append(f"{method if key[2] or method == 'POST' else 'LIST'} {key[2]}")
        if port.hits(Fault.HANG, method, key[0]):
            await asyncio.sleep(LONG_SECONDS)
        if port.hits(Fault.REFUSE, method, key[0]):
            return _cut(request)
        if port.hits(Fault.FAIL, method, key[0]):
            return _answer(RefusedError(500, "InternalError", "etcdserver: no leader").outcome)
        if port.hits(Fault.EARLY, method, key[0]):
            await asyncio.sleep(port.seconds)
        if port.hits(Fault.FORBID, method, key[0]):
            text = f"cannot {method.lower()} resource {key[0]}"
            return _answer(RefusedError(403, "Forbidden", text).outcome)
        outcome = self._carry_out(method, key, body, request)
        if port.hits(Fault.LOSE, method, key[0]):
            await asyncio.sleep(LONG_SECONDS)
        if port.hits(Fault.CUT, method, key[0]):
            return _cut(request)
        if port.hits(Fault.LATE, method, key[0]):
            await asyncio.sleep(port.seconds)
        return _answer(outcome)

    def _carry_out(self, method: str, key: Key, body: Object, request: web.Request) -> Outcome:
        objects = self.objects
        if key[0] not in KINDS:
            return RefusedError(404, "NotFound", "the server could not find it").outcome
        selector = request.query.get("labelSelector", "")
        whole = "PartialObjectMetadataList" not in request.headers.get("Accept", "")
        work: dict[str, Callable[[], Outcome]] = {
            "GET": lambda: (
                objects.get(key) if key[2] else objects.list(key[0], key[1], selector, whole=whole)
            ),
            "POST": lambda: objects.post(key, body),
            "PUT": lambda: objects.put(key, body),
            "PATCH": lambda: objects.patch(key, body),
            "DELETE": lambda: objects.delete(key, body),
        }
        try:
            return work[method]()
        except RefusedError as refused:
            return refused.outcome


def _answer(outcome: Outcome) -> web.Response:
    return web.json_response(outcome.body, status=outcome.status)


def _cut(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def _control(port: Port, request: web.Request) -> web.Response:
    if request.method == "POST":
        said = await request.json()
        port.fault = Fault(said["fault"])
        port.seconds = said.get("seconds", 0.0)
        port.methods = said.get("methods", ("GET", "POST", "PUT"))
        port.plurals = said.get("plurals", ())
    return web.json_response({"fault": port.fault.value, "asked": port.asked[-1000:]})


async def _run(numbers: Sequence[int], service: int, host: str, path: str) -> None:
    api = LeaseApi(len(numbers))
    if service:
        await ServiceProxy(api.objects.slice).start(service, host)
    if path:
        await api.start_unix(path)
    for url in await api.start(numbers, host):
        print(url, flush=True)  # noqa: T201 - the parent process waits for this
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, action="append", required=True)
    parser.add_argument("--service", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--unix", default="")
    asked = parser.parse_args()
    asyncio.run(_run(asked.port, asked.service, asked.host, asked.unix))
