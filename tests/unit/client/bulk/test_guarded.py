"""Bulk reads of a cluster that takes nothing but TLS and signed requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gantrymq.client import Message
from gantrymq.client.blocking import Producer
from gantrymq.client.bulk import BulkPuller, BulkSettings, QueueRef
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.runtime.security.certificates import ClientTls
from gantrymq.testing.server import StandaloneServer
from gantrymq.wire.message.record import decode_all

QUEUE = QueueRef("T", "broker-a", 0)
SECRET = "a-secret-of-many-characters"  # noqa: S105 - of this test
ACCOUNTS = f"""\
accounts:
- accessKey: writer-of-all
  secretKey: {SECRET}
  admin: true
- accessKey: reader-of-all
  secretKey: {SECRET}
  defaultTopicPerm: SUB
  defaultGroupPerm: SUB
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneServer]:
    """With 300 messages in QUEUE."""
    accounts = tmp_path_factory.mktemp("conf") / "plain_acl.yml"
    accounts.write_text(ACCOUNTS)
    settings = ("aclEnable=true", f"aclFile={accounts}", "tls.server.mode=enforcing")
    flags = [word for each in settings for word in ("--set", each)]
    with StandaloneServer(tmp_path_factory.mktemp("server"), flags) as running:
        with Producer(
            "P",
            name_servers=running.name_servers,
            tls=True,
            access_key="writer-of-all",
            secret_key=SECRET,
        ) as producer:
            for _ in range(6):
                producer.send_batch([Message("T", bytes(2000)) for _ in range(50)], queue=QUEUE)
        yield running


def count(settings: BulkSettings) -> int:
    """Messages that are read."""
    with BulkPuller(settings) as puller:
        return sum(len(decode_all(body)) for body in puller.pull(QUEUE, 0, 300))


def settings(
    server: StandaloneServer, credentials_file: Path | None, tls: ClientTls | None
) -> BulkSettings:
    return BulkSettings(
        name_servers=(server.name_servers,),
        group="g",
        credentials_file=str(credentials_file or ""),
        tls=tls,
        recover_s=0.2,
        answer_timeout_s=10.0,
    )


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    file = tmp_path / "tools.yml"
    file.write_text(f"accessKey: reader-of-all\nsecretKey: {SECRET}\n")
    return file


def test_reader_with_keys_and_tls_reads_everything(server: StandaloneServer, keys: Path) -> None:
    assert count(settings(server, keys, ClientTls())) == 300


def test_reader_without_keys_is_refused(
    server: StandaloneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GANTRY_ACCESS_KEY", raising=False)
    with pytest.raises(BrokerError, match="accessKey"):
        count(settings(server, None, ClientTls()))


def test_reader_without_tls_gets_no_answer(server: StandaloneServer, keys: Path) -> None:
    with pytest.raises(RouteError, match=server.name_servers):
        count(settings(server, keys, None))
