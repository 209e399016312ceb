"""The group's Service, on the host of the clients: `... API_SOCKET NAMESPACE SLICE HOST PORT`.

It is kube-proxy's part: it asks for the slice each tenth of a second, and leads each connection to
where that says when the connection begins.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import aiohttp
import uvloop

from gantrymq.fakes.groups.kube_objects import SLICES, Object
from gantrymq.fakes.groups.service_proxy import ServiceProxy

ASK_SECONDS: Final = 0.1


async def run(socket: Path, namespace: str, name: str, host: str, port: int) -> None:
    """Until the process is ended."""
    found: Object | None = None
    await ServiceProxy(lambda: found).start(port, host)
    url = f"http://api/apis/discovery.k8s.io/v1/namespaces/{namespace}/{SLICES}/{name}"
    async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(socket))) as session:
        while True:
            async with session.get(url) as answer:
                if answer.status == 200:
                    found = await answer.json()
            await asyncio.sleep(ASK_SECONDS)


if __name__ == "__main__":
    _, given_socket, given_namespace, given_name, given_host, given_port = sys.argv
    uvloop.run(run(Path(given_socket), given_namespace, given_name, given_host, int(given_port)))
