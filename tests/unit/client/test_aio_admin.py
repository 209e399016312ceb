"""The administrator on asyncio: where its name servers come from, and how its nouns are used."""

from __future__ import annotations

import pytest

from gantrymq.client.aio.admin import Admin, addresses_of
from gantrymq.client.core.errors import RouteError


@pytest.mark.parametrize("given", ["a:1;b:2", "a:1, b:2;", ["a:1", "b:2"]])
def test_name_servers_are_given_in_many_ways(given: str | list[str]) -> None:
    assert addresses_of(given) == ("a:1", "b:2")


def test_the_environment_names_them_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "c:3;d:4")
    assert addresses_of("") == ("c:3", "d:4")
    assert addresses_of("a:1") == ("a:1",)
    monkeypatch.delenv("NAMESRV_ADDR")
    assert addresses_of("") == ()


async def test_what_fails_is_raised_where_it_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    async with Admin() as admin:
        with pytest.raises(RouteError, match="NAMESRV_ADDR"):
            await admin.topics.names()
        with pytest.raises(RouteError):
            await admin.run(admin.flows.clusters.info())
