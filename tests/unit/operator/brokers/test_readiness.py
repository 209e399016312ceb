"""Tests how brokers that are not ready are asked for the reason."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from aiohttp import web

from gantrymq.interop import ports
from gantrymq.operator.brokers.pages import ANSWER_BYTES_MAX, BrokerPages
from gantrymq.operator.brokers.readiness import ReadinessReader, reasons


@dataclass
class Probed:
    """A broker's health port, which answers as it is told to."""

    status: int = 503
    text: str = "not ready\nbroker: it is fenced\n"


@pytest.fixture
async def broker() -> AsyncIterator[tuple[Probed, int]]:
    probed = Probed()

    async def ready(_: web.Request) -> web.Response:
        return web.Response(status=probed.status, text=probed.text)

    application = web.Application()
    application.router.add_get("/health/ready", ready)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield probed, runner.addresses[0][1]
    await runner.cleanup()


async def asked(port: int) -> str:
    pages = BrokerPages(port)
    await pages.start()
    try:
        return await ReadinessReader(pages).ask("127.0.0.1")
    finally:
        await pages.close()


async def test_the_reason_is_read(broker: tuple[Probed, int]) -> None:
    assert await asked(broker[1]) == "it is fenced"


async def test_a_broker_that_is_ready_has_no_reason(broker: tuple[Probed, int]) -> None:
    broker[0].status, broker[0].text = 200, "ready\n"
    assert await asked(broker[1]) == ""


async def test_an_endless_answer_is_cut(broker: tuple[Probed, int]) -> None:
    broker[0].text = "not ready\n" + "x" * (10 * ANSWER_BYTES_MAX)
    assert 0 < len(await asked(broker[1])) <= ANSWER_BYTES_MAX


async def test_a_broker_that_does_not_answer_has_no_reason() -> None:
    assert await asked(ports.free_port()) == ""


def test_several_reasons_stand_in_one_line() -> None:
    assert reasons("not ready\nbroker: a\n\nother: b\n") == "a; other: b"
    assert reasons("") == ""
