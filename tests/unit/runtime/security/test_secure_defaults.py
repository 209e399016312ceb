"""Tests what a server with secureDefaults=true needs to start."""

from __future__ import annotations

import pytest

from gantrymq.base.configuration.settings import Layer, Source
from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.security.secure_defaults import check_broker, check_name_server, is_wanted

NAMES = {
    "aclEnable": "true",
    "aclFile": "/s/plain_acl.yml",
    "metricsBindAddress": "127.0.0.1",
    "metricsPort": "5557",
    "metricsTokenFile": "",
}
BROKER = {
    **NAMES,
    "aclCredentialsFile": "/s/tools.yml",
    "brokerRole": "ASYNC_MASTER",
    "groupSecretFile": "/s/group.secret",
    "haAllowUnauthenticatedSlaves": "false",
    "haListen": "true",
    "haTls": "required",
    "useTLS": "true",
}
TLS = {
    "tls.server.mode": "enforcing",
    "tls.server.certPath": "/s/server.pem",
    "tls.server.keyPath": "/s/server-key.pem",
    "tls.client.trustCertPath": "/s/ca.pem",
}


def is_file(path: str) -> bool:
    return path.startswith("/s/")


def faults(settings: dict[str, str], tls: dict[str, str]) -> list[str]:
    """The faults in the error of a broker, without the first line and the last."""
    try:
        check_broker(settings, tls, is_file)
    except ConfigurationError as error:
        first, *lines, last = str(error).splitlines()
        assert first == "secureDefaults=true, and the server is not protected yet:"
        assert last.startswith("`gantry secure init DIR` makes certificates")
        return [line.strip() for line in lines]
    return []


def test_server_with_all_protections_starts() -> None:
    check_name_server(NAMES, TLS, is_file)
    check_broker(BROKER, TLS, is_file)


def test_error_lists_all_missing_protections() -> None:
    nothing = {**BROKER, "aclFile": "/none", "groupSecretFile": "", "aclCredentialsFile": ""}
    told = faults(nothing, {"tls.server.mode": "enforcing"})
    assert [line.partition(":")[0] for line in told] == [
        "tls.server.certPath is not set",
        "tls.server.keyPath is not set",
        "aclFile=/none is no file",
        "tls.client.trustCertPath is not set",
        "aclCredentialsFile is not set",
        "groupSecretFile is not set",
    ]


@pytest.mark.parametrize(
    ("settings", "tls", "told"),
    [
        ({"aclEnable": "false"}, {}, "aclEnable=false lets every client do everything"),
        ({"useTLS": "false"}, {}, "useTLS=false dials name servers and brokers without TLS"),
        ({"haTls": "used"}, {}, "haTls=used copies messages without TLS"),
        ({"haAllowUnauthenticatedSlaves": "true"}, {}, "lets every peer copy all messages"),
        ({"metricsBindAddress": "0.0.0.0"}, {}, "metricsTokenFile is not set"),
        ({"metricsTokenFile": "/none"}, {}, "metricsTokenFile=/none is no file"),
        ({}, {"tls.server.mode": "permissive"}, "tls.server.mode=permissive takes clients without"),
        ({}, {"tls.test.mode.enable": "TRUE"}, "makes a certificate that no client can check"),
        ({}, {"tls.enable": "false"}, "dials name servers and brokers without TLS"),
        ({}, {"tls.client.authServer": "false"}, "takes any server's certificate"),
    ],
)
def test_a_setting_that_weakens_the_protection_is_refused(
    settings: dict[str, str], tls: dict[str, str], told: str
) -> None:
    (line,) = faults({**BROKER, **settings}, {**TLS, **tls})
    assert told in line


@pytest.mark.parametrize(
    "settings",
    [
        {"groupSecretFile": "", "haListen": "false"},
        {"metricsBindAddress": "0.0.0.0", "metricsTokenFile": "/s/token"},
        {"metricsBindAddress": "0.0.0.0", "metricsPort": "0"},
        {"aclEnable": "false", "authenticationEnabled": "true", "authorizationEnabled": "true"},
    ],
)
def test_other_protection_is_accepted(settings: dict[str, str]) -> None:
    assert faults({**BROKER, **settings}, TLS) == []


def test_last_layer_with_the_setting_decides() -> None:
    on = Layer(Source.FILE, {"secureDefaults": " TRUE "})
    off = Layer(Source.FLAG, {"secureDefaults": "false"})
    assert is_wanted([on])
    assert is_wanted([on, Layer(Source.FLAG, {})])
    assert not is_wanted([on, off])
    assert not is_wanted([])
