"""A cluster with access control: reads sign with the keys of a file, and say what they lack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from gantrymq.client.core.errors import BrokerError
from gantrymq.spark_cases.topics import TopicOfTest, batch, bodies, stream_reader
from gantrymq.testing.server import StandaloneServer

SECRET = "12345678"  # noqa: S105 - of an account of this test
ALL = ReadAllAvailable()
ACCOUNTS = """
accounts:
- accessKey: administrator
  secretKey: "12345678"
  admin: true
- accessKey: spark-reader
  secretKey: "12345678"
  defaultTopicPerm: SUB
  defaultGroupPerm: SUB
- accessKey: stranger
  secretKey: "12345678"
  defaultTopicPerm: DENY
  defaultGroupPerm: DENY
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneServer]:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "plain_acl.yml").write_text(ACCOUNTS)
    flags = ["--set", "aclEnable=true", "--set", f"aclFile={folder / 'plain_acl.yml'}"]
    with StandaloneServer(folder / "server", flags) as server:
        yield server


def keys_of(account: str, folder: Path) -> str:
    file = folder / f"{account}.yml"
    file.write_text(f'accessKey: {account}\nsecretKey: "12345678"\n')
    return str(file)


def test_reads_sign_with_the_keys_of_the_file(
    guarded: StandaloneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account that may subscribe is enough."""
    topic = TopicOfTest(guarded, access_key="administrator", secret_key=SECRET)
    topic.send(12)
    signed = topic.options(credentialsFile=keys_of("spark-reader", tmp_path), group="signed")
    assert batch(signed) == sorted(topic.sent)
    reader = stream_reader(signed)
    try:
        start = reader.initialOffset()
        end = reader.latestOffset(start, ALL)
        assert bodies(reader, reader.partitions(start, end)) == sorted(topic.sent)
        reader.latestOffset(end, ALL)
    finally:
        reader.stop()
    assert batch({**signed, "startingoffsets": "group"}) == [], "its progress was stored"
    monkeypatch.setenv("GANTRY_ACCESS_KEY", "spark-reader")
    monkeypatch.setenv("GANTRY_SECRET_KEY", SECRET)
    assert batch(topic.options()) == sorted(topic.sent)


def test_reads_without_rights_report_what_is_missing(
    guarded: StandaloneServer, tmp_path: Path
) -> None:
    topic = TopicOfTest(guarded, access_key="administrator", secret_key=SECRET)
    topic.send(4)
    with pytest.raises(BrokerError, match="the request is not signed"):
        batch(topic.options())
    with pytest.raises(BrokerError, match="stranger"):
        batch(topic.options(credentialsFile=keys_of("stranger", tmp_path)))
