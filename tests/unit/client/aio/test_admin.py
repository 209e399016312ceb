"""Tests the asyncio administrator."""

from __future__ import annotations

import asyncio
import gc

import pytest

from gantrymq.client.aio.admin import Admin
from gantrymq.client.core.errors import RouteError
from gantrymq.client.core.flow.flow_steps import All, Wait


async def test_an_error_is_raised_where_the_call_is_awaited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    async with Admin() as admin:
        with pytest.raises(RouteError, match="NAMESRV_ADDR"):
            await admin.topics.names()
        with pytest.raises(RouteError):
            await admin.run(admin.flows.clusters.info())


async def test_flows_that_were_cancelled_before_they_began_are_closed(
    recwarn: pytest.WarningsRecorder,
) -> None:
    """Python would warn of them, but Ctrl-C must be silent."""

    async def inner() -> None:
        await Wait()

    async def outer() -> None:
        await All([inner(), inner()])

    async with Admin(name_servers="127.0.0.1:1") as admin:
        task = asyncio.create_task(admin.run(outer()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gc.collect()
    assert [str(each.message) for each in recwarn] == []
