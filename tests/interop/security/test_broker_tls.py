"""Tests that Gantry's broker registers by TLS at both name servers, with Java's settings."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantrymq.interop.authority import Authority, client_context
from gantrymq.interop.releases import REFERENCE
from gantrymq.interop.servers import (
    NameServer,
    NameServerKind,
    gantry_broker,
    gantry_name_server,
    java_name_server,
)

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

VERSION = REFERENCE


@pytest.fixture(scope="module")
def authority(folder: Callable[[str], Path]) -> Authority:
    return Authority(folder("authority"))


@pytest.fixture(scope="module", params=NameServerKind)
def names(
    request: pytest.FixtureRequest, folder: Callable[[str], Path], authority: Authority
) -> Iterator[NameServer]:
    """A name server that only accepts TLS, with certificates of the tests' authority."""
    settings = {
        "tls.server.mode": "enforcing",
        "tls.test.mode.enable": "false",
        **authority.identity("names").settings("server"),
        "tls.server.need.client.auth": "require",
        "tls.server.authClient": "true",
        "tls.server.trustCertPath": str(authority.trust_path),
    }
    home = folder("sealed-names")
    if request.param is NameServerKind.JAVA:
        server = java_name_server(VERSION, home, settings)
    else:
        server = gantry_name_server(home, settings)
    server.tls = client_context(authority, authority.identity("tests"))
    with server:
        yield server


def test_broker_registers_by_tls(
    names: NameServer, folder: Callable[[str], Path], authority: Authority
) -> None:
    settings = {
        "useTLS": "true",
        "tls.server.mode": "disabled",
        "tls.test.mode.enable": "false",
        "tls.client.authServer": "true",
        "tls.client.trustCertPath": str(authority.trust_path),
        **authority.identity("broker").settings("client"),
    }
    with gantry_broker(folder("sealed-broker"), [names], settings) as broker:
        assert broker.is_known_to(names)
    assert not broker.is_known_to(names), "it said goodbye"
