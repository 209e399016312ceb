"""The administrator on asyncio: how its nouns are used."""

from __future__ import annotations

import pytest

from gantrymq.client.aio.admin import Admin
from gantrymq.client.core.errors import RouteError


async def test_what_fails_is_raised_where_it_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    async with Admin() as admin:
        with pytest.raises(RouteError, match="NAMESRV_ADDR"):
            await admin.topics.names()
        with pytest.raises(RouteError):
            await admin.run(admin.flows.clusters.info())
