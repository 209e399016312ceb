"""Tests that the blocking administrator has every method of the core."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from gantrymq.client.aio.admin import Admin as AsyncAdmin
from gantrymq.client.blocking import Admin, loop_thread
from gantrymq.client.core.errors import RouteError, StateError
from gantrymq.fakes.servers import servers
from gantrymq.wire.bodies.shared import TopicConfig

NOUNS = (
    *("clusters", "topics", "groups", "offsets", "connections", "messages", "brokers"),
    *("name_servers", "accounts", "users", "policies", "quotas"),
)


def test_calls_wait_for_their_results(tmp_path: Path) -> None:
    thread = loop_thread.join()
    context = servers(tmp_path)
    running = thread.run(context.__aenter__())
    try:
        with Admin(name_servers=running.name_server) as admin:
            admin.topics.create([running.broker_address], TopicConfig("Made")).all()
            assert "Made" in admin.topics.configs(running.broker_address)
            assert admin.run(admin.flows.topics.config(running.broker_address, "Made")).perm == 6
    finally:
        thread.run(context.__aexit__(None, None, None))
        thread.leave()


def test_errors_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with Admin() as admin, pytest.raises(RouteError, match="NAMESRV_ADDR"):
        admin.topics.names()


def test_use_before_the_start_is_refused() -> None:
    admin = Admin(name_servers="127.0.0.1:1")
    with pytest.raises(StateError, match="start it first"):
        admin.topics.names()


@pytest.mark.parametrize("noun", [*NOUNS, None])
@pytest.mark.parametrize("kind", [AsyncAdmin, Admin])
def test_every_method_of_the_core_is_available(
    kind: type[AsyncAdmin | Admin], noun: str | None
) -> None:
    admin = kind(name_servers="127.0.0.1:1")
    core, waited = admin.flows, admin
    if noun is not None:
        core, waited = getattr(admin.flows, noun), getattr(admin, noun)
    flows = {
        name
        for name, _ in inspect.getmembers(type(core), inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
    there = {name for name in vars(waited) if not name.startswith("_")}
    assert flows <= there


def test_methods_have_the_documentation_of_the_asyncio_client() -> None:
    admin = Admin(name_servers="127.0.0.1:1")
    assert admin.topics.route.__doc__ == admin.flows.topics.route.__doc__
    assert admin.topics.route.__name__ == "route"
