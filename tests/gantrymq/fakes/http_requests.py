"""Sends HTTP requests that do not need the event loop of the test."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http.client import HTTPConnection


async def close(writer: asyncio.StreamWriter) -> None:
    """Close a connection, even if the server has closed it first."""
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


def get_in_thread(port: int, path: str) -> tuple[int, str]:
    """The status and the text of a response; blocks the calling thread, as a kubelet's request."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text
