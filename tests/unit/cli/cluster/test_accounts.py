"""Tests the requests that `gantry updateAclConfig` sends to a broker."""

from __future__ import annotations

import pytest

from gantrymq.cli.access import new_password
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.command_line import printed
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

CODE = RequestCode.UPDATE_AND_CREATE_ACL_CONFIG


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster whose broker accepts each change of an account."""
    monkeypatch.delenv(new_password.VARIABLE, raising=False)
    cluster = Cluster(topics={})
    cluster.faults[CODE] = lambda _, __: Command(0)
    return cluster


def asked(cluster: Cluster, line: str) -> dict[str, str]:
    printed(cluster, f"updateAclConfig -b {{broker}} -a a-client {line}")
    return dict(cluster.asked_of(CODE)[-1].ext or {})


def test_secret_key_is_read_from_the_command_line(cluster: Cluster) -> None:
    assert asked(cluster, "-s 12345678 -m true") == {
        "accessKey": "a-client",
        "secretKey": "12345678",
        "admin": "true",
    }


def test_secret_key_is_read_from_a_file_or_the_environment(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.driver.files["key"] = b"of-a-file\n"
    assert asked(cluster, "--secretKeyFile key")["secretKey"] == "of-a-file"
    monkeypatch.setenv(new_password.VARIABLE, "of-the-environment")
    assert asked(cluster, "")["secretKey"] == "of-the-environment"


def test_previous_key_stays_valid_until_it_is_removed(cluster: Cluster) -> None:
    rotated = asked(cluster, "-s 12345678 --oldSecretSeconds -1")
    assert (rotated["secretKey"], rotated["oldSecretSeconds"]) == ("12345678", "-1")
    assert asked(cluster, "--oldSecretSeconds 0") == {
        "accessKey": "a-client",
        "oldSecretSeconds": "0",
    }
