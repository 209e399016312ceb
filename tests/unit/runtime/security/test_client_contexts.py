"""Tests that outgoing connections use changed TLS files unless those are unusable."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.security.certificates import ClientTls, Identity, self_signed
from gantrymq.runtime.security.client_contexts import ClientContexts


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    path = tmp_path / "authority.pem"
    path.write_bytes(self_signed("authority")[0])
    return path


def trusting(path: Path) -> ClientTls:
    return ClientTls.from_properties({"tls.client.trustCertPath": str(path)})


def test_the_context_stays_while_the_files_do(trusted: Path) -> None:
    contexts = ClientContexts(trusting(trusted))
    assert contexts.context() is contexts.context()


def test_changed_files_apply_to_the_next_connection(trusted: Path) -> None:
    contexts = ClientContexts(trusting(trusted))
    first = contexts.context()
    trusted.write_bytes(self_signed("another authority")[0])
    assert contexts.context() is not first


def test_unusable_changed_files_change_nothing_and_are_logged_once(trusted: Path) -> None:
    told: list[str] = []
    contexts = ClientContexts(trusting(trusted), told.append)
    first = contexts.context()
    trusted.write_bytes(b"nonsense")
    assert contexts.context() is first
    assert contexts.context() is first
    (line,) = told
    assert f"tls.client.trustCertPath={trusted} holds no certificates" in line


def test_files_that_cannot_be_used_at_first_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"missing\.pem cannot be read"):
        ClientContexts(trusting(tmp_path / "missing.pem"))


def test_the_hint_names_the_files(trusted: Path) -> None:
    assert f"signed by one in tls.client.trustCertPath={trusted}" in (
        ClientContexts(trusting(trusted)).hint
    )
    hint = ClientContexts(ClientTls(identity=Identity("/c.pem", "/k.pem"))).hint
    assert "any certificate is accepted" in hint
    assert "tls.client.certPath is not set" in hint  # test mode shows none


@pytest.mark.parametrize(
    ("properties", "is_wanted"),
    [
        ({}, False),
        ({"tls.enable": "true"}, True),
        ({"tls.server.mode": "enforcing"}, True),
        ({"tls.server.mode": "enforcing", "tls.enable": "false"}, False),
        ({"tls.server.mode": "permissive"}, False),
    ],
)
def test_server_that_only_accepts_tls_dials_by_tls(
    properties: dict[str, str], is_wanted: bool
) -> None:
    assert ClientTls.is_wanted(properties) is is_wanted
