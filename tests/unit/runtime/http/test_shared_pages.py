"""Tests pages of metrics that many clients request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import final

import pytest

from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.http.shared_pages import SharedPages


@final
class Renderer:
    """Makes pages when the test says so, and counts them."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.at_once = 0
        self.at_once_max = 0
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()

    async def make(self, path: str) -> Sequence[bytes]:
        self.made.append(path)
        self.began.set()
        self.at_once += 1
        self.at_once_max = max(self.at_once_max, self.at_once)
        try:
            await self.may_end.wait()
        finally:
            self.at_once -= 1
        return [f"{path} {len(self.made)}".encode()]


async def ask(pages: SharedPages, *paths: str) -> list[asyncio.Task[Sequence[bytes] | None]]:
    """Requests that wait for their pages."""
    asked = [asyncio.ensure_future(pages.page(path, 60.0)) for path in paths]
    await asyncio.sleep(0)
    return asked


async def test_simultaneous_requests_get_the_same_page() -> None:
    renderer = Renderer()
    pages = SharedPages(renderer.make, VirtualClock().monotonic)
    asked = await ask(pages, *["/metrics"] * 300)
    renderer.may_end.set()
    assert {tuple(await each or ()) for each in asked} == {(b"/metrics 1",)}
    assert renderer.made == ["/metrics"]


async def test_pages_of_several_paths_are_made_one_after_the_other() -> None:
    renderer = Renderer()
    pages = SharedPages(renderer.make, VirtualClock().monotonic)
    asked = await ask(pages, "/metrics", "/metrics/compat4")
    renderer.may_end.set()
    assert [await each for each in asked] == [[b"/metrics 1"], [b"/metrics/compat4 2"]]
    assert renderer.at_once_max == 1


async def test_a_page_is_used_again_for_ten_times_as_long_as_it_took_to_make() -> None:
    clock = VirtualClock()
    renderer = Renderer()
    pages = SharedPages(renderer.make, clock.monotonic)
    (asked,) = await ask(pages, "/metrics")
    await renderer.began.wait()
    clock.advance(0.02)
    renderer.may_end.set()
    assert await asked == [b"/metrics 1"]
    clock.advance(0.19)
    assert await pages.page("/metrics", 60.0) == [b"/metrics 1"]
    clock.advance(0.02)
    assert await pages.page("/metrics", 60.0) == [b"/metrics 2"]


async def test_a_page_that_took_long_is_used_again_for_a_second() -> None:
    clock = VirtualClock()
    renderer = Renderer()
    pages = SharedPages(renderer.make, clock.monotonic)
    (asked,) = await ask(pages, "/metrics")
    await renderer.began.wait()
    clock.advance(5.0)
    renderer.may_end.set()
    assert await asked == [b"/metrics 1"]
    clock.advance(0.9)
    assert await pages.page("/metrics", 60.0) == [b"/metrics 1"]
    clock.advance(0.2)
    assert await pages.page("/metrics", 60.0) == [b"/metrics 2"]


async def test_late_page_is_none_and_is_completed_anyway() -> None:
    renderer = Renderer()
    pages = SharedPages(renderer.make, VirtualClock().monotonic)
    assert await pages.page("/metrics", 0.0) is None
    renderer.may_end.set()
    assert await pages.page("/metrics", 60.0) == [b"/metrics 1"]


async def test_an_error_is_not_kept() -> None:
    faults = [ValueError("a bug")]

    async def make(path: str) -> Sequence[bytes]:
        if faults:
            raise faults.pop()
        return [path.encode()]

    pages = SharedPages(make, VirtualClock().monotonic)
    with pytest.raises(ValueError, match="a bug"):
        await pages.page("/metrics", 60.0)
    assert await pages.page("/metrics", 60.0) == [b"/metrics"]


async def test_close_ends_the_wait_for_pages() -> None:
    pages = SharedPages(Renderer().make, VirtualClock().monotonic)
    (asked,) = await ask(pages, "/metrics")
    await asyncio.sleep(0)
    pages.close()
    with pytest.raises(asyncio.CancelledError):
        await asked
