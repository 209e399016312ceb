"""The client's settings: keys come from files and the environment, and each client has its id."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.runtime.security.certificates import ClientTls
from gantrymq.spark.options import RocketMQOptionError
from gantrymq.spark.options.connection import ConnectionOptions
from gantrymq.spark.source.client_keywords import client_keywords, client_tls, instance_name


def connection(
    credentials_file: str | None = None, *, tls: bool = False, tls_file: str | None = None
) -> ConnectionOptions:
    return ConnectionOptions(("n:9876",), credentials_file, tls, tls_file, 5.0)


def test_keys_come_from_the_file_or_else_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "tools.yml"
    file.write_text("accessKey: RocketMQ\nsecretKey: 12345678\n")
    environment = {"GANTRY_ACCESS_KEY": "other", "GANTRY_SECRET_KEY": "87654321"}
    by_file = client_keywords(connection(str(file)), environment)
    assert (by_file["access_key"], by_file["secret_key"]) == ("RocketMQ", "12345678")
    by_environment = client_keywords(connection(), environment)
    assert by_environment["access_key"] == "other"
    assert "access_key" not in client_keywords(connection(), {})


def test_a_file_that_cannot_be_used_is_named() -> None:
    with pytest.raises(RocketMQOptionError, match="credentialsFile='/none' cannot be used"):
        client_keywords(connection("/none"), {})
    with pytest.raises(RocketMQOptionError, match="tlsFile='/none' cannot be used"):
        client_tls(connection(tls=True, tls_file="/none"))


def test_tls_is_what_its_file_says(tmp_path: Path) -> None:
    assert client_tls(connection()) is None
    assert client_tls(connection(tls=True)) == ClientTls.from_properties({})
    file = tmp_path / "tls.properties"
    file.write_text("tls.client.trustCertPath=/ca.pem\n")
    tls = client_tls(connection(tls=True, tls_file=str(file)))
    assert tls is not None
    assert tls.trust_cert_path == "/ca.pem"


def test_each_client_has_an_id_of_its_own() -> None:
    environment = {"SPARK_APPLICATION_ID": "spark-1234"}
    one, other = instance_name(environment), instance_name(environment)
    assert one.startswith("spark-1234-")
    assert one != other
    assert client_keywords(connection(), environment)["client_ip"] == "spark"
