"""What secureDefaults=true makes of a broker's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker import main
from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.core.settings import HaTls
from gantrymq.runtime.security.certificates import TlsMode

FILES = ("server.pem", "server-key.pem", "ca.pem", "plain_acl.yml")


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Settings that name all the files a protected broker needs."""
    for name in FILES:
        (tmp_path / name).write_text("not read yet")
    (tmp_path / "tools.yml").write_text("accessKey: brokers\nsecretKey: 12345678\n")
    (tmp_path / "group.secret").write_text("a secret of the group")
    return {
        "secureDefaults": "true",
        "tls.server.certPath": str(tmp_path / "server.pem"),
        "tls.server.keyPath": str(tmp_path / "server-key.pem"),
        "tls.client.trustCertPath": str(tmp_path / "ca.pem"),
        "aclFile": str(tmp_path / "plain_acl.yml"),
        "aclCredentialsFile": str(tmp_path / "tools.yml"),
        "groupSecretFile": str(tmp_path / "group.secret"),
    }


def setup_of(tmp_path: Path, keys: dict[str, str], **flags: str) -> Setup:
    file = tmp_path / "broker.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    return load(file, {}, flags, tmp_path / "data")


def test_everything_is_on_without_being_named(tmp_path: Path, keys: dict[str, str]) -> None:
    setup = setup_of(tmp_path, keys)
    assert setup.settings.acl_enable
    assert setup.settings.metrics_bind_address == "127.0.0.1"
    assert setup.settings.bind_address == "0.0.0.0"
    assert setup.tls.mode is TlsMode.ENFORCING
    assert setup.links.tls is HaTls.REQUIRED
    assert not setup.links.takes_unproven
    assert setup.client_tls is not None
    assert setup.client_tls.checks_server


@pytest.mark.parametrize("missing", ["aclFile", "groupSecretFile", "tls.server.keyPath"])
def test_a_broker_that_lacks_something_does_not_start(
    tmp_path: Path, keys: dict[str, str], missing: str
) -> None:
    del keys[missing]
    with pytest.raises(ConfigurationError, match=f"{missing}.* is n"):
        setup_of(tmp_path, keys)


def test_dialling_without_tls_is_refused(tmp_path: Path, keys: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="useTLS=false"):
        setup_of(tmp_path, keys, useTLS="false")


def test_without_the_key_nothing_changes(tmp_path: Path, keys: dict[str, str]) -> None:
    del keys["secureDefaults"]
    setup = setup_of(tmp_path, keys)
    assert not setup.settings.acl_enable
    assert setup.settings.metrics_bind_address == "0.0.0.0"


def test_the_flag_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--secure-defaults", "--data", str(tmp_path), "-p"]) == 78
    told = capsys.readouterr().err
    assert "secureDefaults=true, and the server is not protected yet" in told
    assert "tls.server.certPath is not set" in told
