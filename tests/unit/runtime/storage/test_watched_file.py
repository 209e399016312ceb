"""Tests the watch of a file that is edited while a server runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gantrymq.base.errors import RemoteError
from gantrymq.runtime.logs import Log
from gantrymq.runtime.storage.watched_file import WatchedFile


async def test_new_content_is_passed_on_and_bad_content_does_not_end_the_watch(
    tmp_path: Path,
) -> None:
    path = tmp_path / "quotas.json"
    path.write_bytes(b"first")
    seen: asyncio.Queue[bytes] = asyncio.Queue()

    def changed(content: bytes) -> None:
        seen.put_nowait(content)
        if content == b"not usable":
            raise RemoteError("no such quotas")

    watched = WatchedFile(path, Log("test"), changed, look_seconds=0.001)
    watched.watch()
    try:
        async with asyncio.timeout(30):
            for content in (b"not usable", b"a longer content"):
                path.write_bytes(b"")
                path.write_bytes(content)
                while await seen.get() != content:
                    pass
    finally:
        await watched.stop()
