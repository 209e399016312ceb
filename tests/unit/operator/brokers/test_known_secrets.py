"""Tests how brokers are asked for the replication secrets that they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.base.group_secret import SECRETS_PATH, fingerprint
from gantrymq.broker.setup.secret_file import SecretFile
from gantrymq.interop import ports
from gantrymq.operator.brokers.known_secrets import KnownSecretsReader, fingerprints
from gantrymq.operator.brokers.pages import BrokerPages
from gantrymq.runtime.http.health import HealthServer, Readiness
from gantrymq.runtime.http.metrics import Metrics

OLD, NEW = b"0123456789abcdef", b"fedcba9876543210"


async def asked(port: int) -> tuple[str, ...] | None:
    pages = BrokerPages(port)
    await pages.start()
    try:
        return await KnownSecretsReader(pages).ask("127.0.0.1")
    finally:
        await pages.close()


async def test_what_a_broker_reports_is_read(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(OLD)
    pages = {SECRETS_PATH: SecretFile(str(path)).report}
    broker = HealthServer(Metrics(), Readiness(), pages)
    _, port = await broker.start("127.0.0.1", 0)
    try:
        assert await asked(port) == (fingerprint(OLD),)
        path.write_bytes(NEW + b"\n" + OLD + b"\n")
        assert await asked(port) == (fingerprint(NEW), fingerprint(OLD))
    finally:
        await broker.stop()


async def test_a_broker_of_an_earlier_version_reports_no_secrets() -> None:
    broker = HealthServer(Metrics(), Readiness())
    _, port = await broker.start("127.0.0.1", 0)
    try:
        assert await asked(port) is None
    finally:
        await broker.stop()


async def test_a_broker_that_does_not_answer_reports_no_secrets() -> None:
    assert await asked(ports.free_port()) is None


@pytest.mark.parametrize("text", ["", "\n", "<html>", "0123456789abcdef\nready\n", "0123"])
def test_an_invalid_answer_reports_no_secrets(text: str) -> None:
    assert fingerprints(text) is None
