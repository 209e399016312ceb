"""Tests a server's TLS settings and certificates, and which servers a client trusts."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.security.certificates import (
    ClientAuth,
    ClientTls,
    Identity,
    ServerContexts,
    ServerTls,
    TlsMode,
    client_context,
    self_signed,
)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """A server's certificate, its key, another key and a file that is neither."""
    certificate, key = self_signed("server")
    contents = {"cert": certificate, "key": key, "other": self_signed("x")[1], "text": b"hello"}
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    return {name: str(tmp_path / name) for name in contents}


def test_default_server_accepts_both_with_a_self_signed_certificate() -> None:
    settings = ServerTls.from_properties({})

    assert settings == ServerTls()
    assert settings.mode is TlsMode.PERMISSIVE
    assert settings.test_mode


def test_a_certificate_path_ends_test_mode_unless_it_is_asked_for() -> None:
    path = {"tls.server.certPath": " /c ", "tls.server.keyPath": "/k"}

    assert not ServerTls.from_properties(path).test_mode
    assert ServerTls.from_properties(path).identity == Identity("/c", "/k")
    assert ServerTls.from_properties({**path, "tls.test.mode.enable": "true"}).test_mode


def test_rocketmq_s_keys_are_understood() -> None:
    settings = ServerTls.from_properties(
        {
            "tls.server.mode": "Enforcing",
            "tls.test.mode.enable": "false",
            "tls.server.certPath": "/c",
            "tls.server.keyPath": "/k",
            "tls.server.keyPassword": " secret ",
            "tls.server.need.client.auth": "require",
            "tls.server.trustCertPath": "/t",
        }
    )

    assert settings == ServerTls(
        TlsMode.ENFORCING, False, Identity("/c", "/k", " secret "), ClientAuth.REQUIRE, "/t"
    )


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        ({"tls.server.mode": "maybe"}, "tls.server.mode=maybe is none of permissive"),
        ({"tls.test.mode.enable": "perhaps"}, "tls.test.mode.enable=perhaps"),
        (
            {"tls.server.need.client.auth": "require", "tls.server.certPath": "/c"},
            "needs tls.server.certPath, keyPath and trustCertPath",
        ),
        (
            {"tls.server.need.client.auth": "require", "tls.server.trustCertPath": "/t"},
            "needs tls.server.certPath, keyPath and trustCertPath",
        ),
        ({"tls.sever.mode": "enforcing"}, "tls.sever.mode: no TLS setting"),
    ],
)
def test_a_wrong_setting_is_named(properties: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        ServerTls.from_properties(properties)


@pytest.mark.parametrize(
    ("cert", "key", "complaint"),
    [
        ("missing", "key", "tls.server.certPath=missing cannot be read: No such file"),
        ("cert", "missing", "tls.server.keyPath=missing cannot be read"),
        ("cert", "other", "are not a certificate and its key"),
        ("text", "key", "tls.server.certPath=.*text.*are not a certificate"),
        ("", "key", "tls.server.certPath is not set"),
    ],
)
def test_a_bad_file_is_named_at_the_start(
    files: dict[str, str], cert: str, key: str, complaint: str
) -> None:
    identity = Identity(files.get(cert, cert), files.get(key, key))

    with pytest.raises(ConfigurationError, match=complaint):
        ServerContexts(ServerTls(test_mode=False, identity=identity))


def test_a_trust_file_without_certificates_is_named(files: dict[str, str]) -> None:
    settings = ServerTls(
        test_mode=False,
        identity=Identity(files["cert"], files["key"]),
        client_auth=ClientAuth.OPTIONAL,
        trust_cert_path=files["text"],
    )

    with pytest.raises(ConfigurationError, match=r"tls\.server\.trustCertPath=.*text"):
        ServerContexts(settings)


def test_wrong_key_password_is_an_error_without_a_prompt(
    tmp_path: Path, files: dict[str, str]
) -> None:
    key = serialization.load_pem_private_key(Path(files["key"]).read_bytes(), None)
    encrypted = tmp_path / "encrypted"
    encrypted.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"right"),
        )
    )
    for password in ("", "wrong"):
        identity = Identity(files["cert"], str(encrypted), password)
        with pytest.raises(ConfigurationError, match="keyPassword is wrong"):
            ServerContexts(ServerTls(test_mode=False, identity=identity))

    right = Identity(files["cert"], str(encrypted), "right")
    ServerContexts(ServerTls(test_mode=False, identity=right))


def test_a_reload_takes_new_files_and_a_failed_one_keeps_the_old(files: dict[str, str]) -> None:
    contexts = ServerContexts(
        ServerTls(test_mode=False, identity=Identity(files["cert"], files["key"]))
    )
    first = contexts.context()
    contexts.reload()
    second = contexts.context()
    assert second is not first

    Path(files["key"]).write_bytes(b"broken")
    with pytest.raises(ConfigurationError):
        contexts.reload()

    assert contexts.context() is second


def test_changed_files_are_read_again_and_bad_ones_are_logged(
    files: dict[str, str],
) -> None:
    complaints: list[str] = []
    settings = ServerTls(test_mode=False, identity=Identity(files["cert"], files["key"]))
    contexts = ServerContexts(settings, complaints.append)
    first = contexts.context()
    assert contexts.context() is first

    certificate, key = self_signed("renewed")
    Path(files["cert"]).write_bytes(certificate)
    assert contexts.context() is first
    assert contexts.context() is first
    assert len(complaints) == 1

    Path(files["key"]).write_bytes(key)
    assert contexts.context() is not first
    assert len(complaints) == 1


def test_self_signed_context_is_created_once() -> None:
    contexts = ServerContexts(ServerTls())

    assert contexts.context() is contexts.context()


def test_client_verifies_the_server_if_it_has_a_trust_file(files: dict[str, str]) -> None:
    settings = ClientTls.from_properties({"tls.client.trustCertPath": files["cert"]})

    assert settings == ClientTls(test_mode=False, auth_server=True, trust_cert_path=files["cert"])
    assert settings == ClientTls.trusting(Path(files["cert"]))
    context = client_context(settings)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.check_hostname


def test_client_trusts_any_server_by_default_only_in_test_mode() -> None:
    assert client_context(ClientTls()).verify_mode is ssl.CERT_NONE
    assert client_context(ClientTls(test_mode=False, auth_server=True)).verify_mode is (
        ssl.CERT_REQUIRED
    )
