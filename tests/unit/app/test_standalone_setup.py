"""Tests the setup of a standalone start, before any server starts."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from gantrymq.app.sample_config import sample
from gantrymq.app.standalone_setup import (
    DEFAULTS,
    StandaloneOptions,
    StandaloneSetup,
    load,
    must_be_possible,
)
from gantrymq.app.taken_ports import holder_of, why_taken
from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.security.certificates import TlsMode


def loaded(data: Path, environment: dict[str, str] | None = None, **flags: str) -> StandaloneSetup:
    return load(StandaloneOptions(data, flags=flags), environment or {})


def test_servers_listen_on_loopback_and_broker_knows_its_name_server(tmp_path: Path) -> None:
    setup = loaded(tmp_path)
    assert {each.port for each in setup.listen_addresses} == {9876, 10911, 10909, 5557, 8080}
    assert {each.host for each in setup.listen_addresses} == {"127.0.0.1"}
    settings = setup.broker.settings
    assert settings.namesrv_addr == "127.0.0.1:9876"
    assert setup.broker.identity.address == "127.0.0.1:10911"
    assert settings.auto_create_topic_enable


def test_everything_is_in_the_data_folder(tmp_path: Path) -> None:
    setup = loaded(tmp_path)
    assert setup.broker.root == tmp_path / "store"
    names = setup.names.settings
    assert Path(names.kv_config_path) == tmp_path / "namesrv" / "kvConfig.json"
    assert Path(names.config_store_path) == tmp_path / "namesrv" / "namesrv.properties"


def test_config_file_overrides_standalone_defaults(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text("autoCreateTopicEnable=false\nlistenPort=20911\n")
    setup = load(StandaloneOptions(tmp_path, path), {"GANTRY_LISTEN_PORT": "30911"})
    assert not setup.broker.settings.auto_create_topic_enable
    assert setup.broker.identity.address == "127.0.0.1:30911"
    assert setup.names.settings.listen_port == 9876


def test_announced_address_is_a_listen_address(tmp_path: Path) -> None:
    assert loaded(tmp_path, bindAddress="127.0.0.2").broker.identity.address == "127.0.0.2:10911"
    everywhere = loaded(tmp_path, bindAddress="0.0.0.0")
    assert everywhere.broker.settings.namesrv_addr == "127.0.0.1:9876"
    assert not everywhere.broker.identity.address.startswith("0.0.0.0")
    assert loaded(tmp_path, bindAddress="::1").broker.settings.namesrv_addr == "[::1]:9876"


def test_port_zero_disables_metrics_and_console(tmp_path: Path) -> None:
    setup = load(StandaloneOptions(tmp_path, flags={"metricsPort": "0"}, console_port=0), {})
    assert setup.listen_address("console") is None
    assert setup.listen_address("metrics") is None
    with pytest.raises(ConfigurationError, match="--broker-port"):
        loaded(tmp_path, listenPort="0")


def test_member_of_a_group_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("sixteen bytes and more")
    members = {"groupMembers": "1=a:1,2=b:1", "memberNumber": "1", "leaseNamespace": "mq"}
    with pytest.raises(ConfigurationError, match="start each member with `gantry broker`"):
        load(StandaloneOptions(tmp_path, flags={**members, "groupSecretFile": str(secret)}), {})


def test_every_unusable_port_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        setup = loaded(tmp_path, listenPort="9878", metricsPort=str(port))
        with pytest.raises(ConfigurationError) as failure:
            must_be_possible(setup)
    text = str(failure.value)
    assert "port 9876 is set for the name server and for the broker, fast port" in text
    assert f"{port}: taken by" in text
    assert "--metrics-port" in text


@pytest.mark.parametrize("name", ["namesrv", "store"])
def test_folder_that_cannot_be_created_is_reported(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("a file")
    with pytest.raises(ConfigurationError, match=r"data folder cannot be written.*--data"):
        must_be_possible(loaded(tmp_path))


def test_listening_process_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert "process " in holder_of(port)
        assert "process " in (why_taken("127.0.0.1", port) or "")
    assert holder_of(port) == ""
    assert why_taken("127.0.0.1", port) is None


def test_sample_equals_the_defaults_with_and_without_comments(tmp_path: Path) -> None:
    text = sample(DEFAULTS)
    assert all(line.startswith("#") for line in text.splitlines() if line)
    path = tmp_path / "broker.conf"
    path.write_text(text.replace("\n#", "\n").replace("\n ", "\n# "))
    plain = loaded(tmp_path)
    assert load(StandaloneOptions(tmp_path, path), {}).broker.settings == plain.broker.settings
    assert load(StandaloneOptions(tmp_path, path), {}).broker.store == plain.broker.store
    assert load(StandaloneOptions(tmp_path, path), {}).broker.unknown == {}


def test_name_server_and_broker_use_the_same_tls_settings(tmp_path: Path) -> None:
    key = {"tls.server.mode": "enforcing"}
    setup = load(StandaloneOptions(tmp_path, flags=key), {})
    assert setup.names.tls == setup.broker.tls
    assert setup.names.tls.mode is TlsMode.ENFORCING
    assert setup.broker.client_tls is not None
    assert setup.names.client_tls == setup.broker.client_tls
    file = tmp_path / "broker.conf"
    file.write_text("tls.server.mode=disabled\n")
    assert load(StandaloneOptions(tmp_path, file), {}).names.tls.mode is TlsMode.DISABLED
    assert load(StandaloneOptions(tmp_path, file, key), {}).names.tls.mode is TlsMode.ENFORCING
