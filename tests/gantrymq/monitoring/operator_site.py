"""Runs an operator's process, and a simulated API server for it in a thread of the test."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar, final

import yaml

from gantrymq.fakes_kube.faults import Faults
from gantrymq.fakes_kube.life import Life
from gantrymq.fakes_kube.operating import add_cluster
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.interop.child import Child
from gantrymq.interop.ports import free_port

T = TypeVar("T")

ANSWER_SECONDS: Final = 30.0


@final
@dataclass(frozen=True, slots=True)
class OperatorSite:
    """The API server, the event loop that owns it, and the operator's process."""

    server: KubeServer
    loop: asyncio.AbstractEventLoop
    operator: Child
    target: str

    def do(self, work: Callable[[KubeServer], T]) -> T:
        """Call a function in the server's loop, and wait for its result."""

        async def done() -> T:
            return work(self.server)

        return asyncio.run_coroutine_threadsafe(done(), self.loop).result(ANSWER_SECONDS)

    def add_clusters(self, *namespaces: str) -> None:
        """Create a BrokerCluster `orders` in each of these namespaces."""

        def add(server: KubeServer) -> None:
            for namespace in namespaces:
                add_cluster(server, namespace, nameServers=1)

        self.do(add)

    def delete_clusters(self, *namespaces: str) -> None:
        def delete(server: KubeServer) -> None:
            for namespace in namespaces:
                server.delete("BrokerCluster", namespace, "orders")

        self.do(delete)

    def break_api(self, change: Callable[[Faults], None]) -> None:
        self.do(lambda server: change(server.faults))

    def forget(self) -> None:
        """Forget all past events, as an API server that restarts does, so that the operator has to
        list all objects again."""

        def forgotten(server: KubeServer) -> None:
            server.objects.version += 1
            server.objects.forgotten = server.objects.version
            server.close_watches()

        self.do(forgotten)

    def mend_api(self) -> None:
        def mended(server: KubeServer) -> None:
            server.faults.black_holes.clear()
            server.faults.list_refusals.clear()
            server.faults.refusals.clear()

        self.do(mended)


@contextmanager
def running(folder: Path, faults: Callable[[Faults], None]) -> Iterator[OperatorSite]:
    """Run both. The API has the given faults when the operator starts."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_run, args=(loop,), name="API server")
    thread.start()

    async def begin() -> KubeServer:
        server = await KubeServer.start()
        Life(server).begin()
        faults(server.faults)
        return server

    server = asyncio.run_coroutine_threadsafe(begin(), loop).result(ANSWER_SECONDS)
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "gantrymq.operator",
        "--kubeconfig",
        _kubeconfig(folder, server),
    ]
    command += ["--metrics-host", "127.0.0.1", "--metrics-port", str(port)]
    operator = Child("operator", command, folder)
    try:
        yield OperatorSite(server, loop, operator, f"127.0.0.1:{port}")
    finally:
        operator.kill()
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(ANSWER_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, then cancel its remaining tasks."""
    loop.run_forever()
    loop.run_until_complete(_cancel(asyncio.all_tasks(loop)))
    loop.close()


async def _cancel(tasks: Collection[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _kubeconfig(folder: Path, server: KubeServer) -> str:
    context = {"cluster": "c", "user": "u", "namespace": "system"}
    path = folder / "kubeconfig"
    content = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)
