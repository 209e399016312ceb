"""Tests the settings and tables with which a name server starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.fakes.brokers.namesrv import Desk
from gantrymq.namesrv import configuration
from gantrymq.namesrv.configuration import Setup, listeners, load, load_kv
from gantrymq.namesrv.core.messages import Parked, Request, SaveKv
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.runtime.net.net import Listener
from gantrymq.runtime.security.certificates import TlsMode
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command


def loaded(home: Path, file: Path | None = None, **flags: str) -> Setup:
    return load(file, {}, flags, home)


def test_defaults_are_javas(tmp_path: Path) -> None:
    settings = loaded(tmp_path).settings
    assert (settings.bind_address, settings.listen_port) == ("0.0.0.0", 9876)
    assert settings.kv_config_path == str(tmp_path / "namesrv" / "kvConfig.json")
    assert settings.config_store_path == str(tmp_path / "namesrv" / "namesrv.properties")


def test_file_then_environment_then_flags_and_blanks_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "my.properties"
    file.write_text("listenPort = 1 \nwaitSecondsForService=1\nscanNotActiveBrokerInterval=1\n")
    environment = {"GANTRY_LISTEN_PORT": "2", "GANTRY_WAIT_SECONDS_FOR_SERVICE": "2"}
    settings = load(file, environment, {"listenPort": "3"}, tmp_path).settings
    assert settings.listen_port == 3
    assert settings.wait_seconds_for_service == 2
    assert settings.scan_not_active_broker_interval == 1
    assert settings.config_store_path == str(file)


def test_what_was_changed_at_run_time_without_a_file_is_read_again(tmp_path: Path) -> None:
    store = tmp_path / "namesrv" / "namesrv.properties"
    store.parent.mkdir()
    store.write_text("listenPort=7\n")
    assert loaded(tmp_path).settings.listen_port == 7


def test_a_saved_value_that_is_not_allowed_does_not_stop_the_start(tmp_path: Path) -> None:
    store = tmp_path / "namesrv" / "namesrv.properties"
    store.parent.mkdir()
    store.write_text("waitSecondsForService=-5\nclusterTest=true\nlisteners=\naclEnable=true\n")
    setup = loaded(tmp_path)
    assert setup.settings.wait_seconds_for_service == 45
    assert setup.settings.cluster_test
    assert setup.settings.acl_enable, "what protects the server is never set aside"
    assert setup.warnings == (
        (
            "set aside a saved setting, and the name server starts without it: saved at run time"
            f" {store}, line 1: waitSecondsForService=-5: must be a whole number from 0 to"
            " 2147483647"
        ),
    )


def test_a_value_of_the_given_file_that_is_not_allowed_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "my.properties"
    file.write_text("waitSecondsForService=-5\n")
    with pytest.raises(ConfigurationError, match="waitSecondsForService=-5"):
        loaded(tmp_path, file)


def test_tls_keys_are_the_listeners_and_unknown_ones_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "my.properties"
    file.write_text("tls.server.mode=disabled\nlistenprt=1\n")
    setup = loaded(tmp_path, file)
    assert setup.tls.mode is TlsMode.DISABLED
    assert len(setup.warnings) == 1
    assert "listenPort" in setup.warnings[0]


def test_tls_keys_may_be_flags_and_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "my.properties"
    file.write_text("tls.server.mode=disabled\n")
    setup = load(file, {}, {"tls.server.mode": "enforcing"}, tmp_path)
    assert setup.tls.mode is TlsMode.ENFORCING
    assert not setup.warnings
    with pytest.raises(ConfigurationError, match=r"tls.server.mod: no TLS setting"):
        load(file, {}, {"tls.server.mod": "enforcing"}, tmp_path)


def test_a_tls_file_of_its_own_wins(tmp_path: Path) -> None:
    file, own = tmp_path / "my.properties", tmp_path / "tls.properties"
    file.write_text(f"tls.server.mode=disabled\ntls.config.file={own}\n")
    own.write_text("tls.server.mode=enforcing\n")
    assert loaded(tmp_path, file).tls.mode is TlsMode.ENFORCING
    own.unlink()
    with pytest.raises(ConfigurationError, match=r"tls.properties cannot be read: No such file"):
        loaded(tmp_path, file)


def test_all_bad_values_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"(?s)listenPort=x.*clusterTest=y"):
        loaded(tmp_path, listenPort="x", clusterTest="y")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"missing cannot be read: No such file"):
        loaded(tmp_path, tmp_path / "missing")


def test_one_listener_without_a_list() -> None:
    settings = NameServerSettings(bind_address="::1", listen_port=5)
    assert listeners(settings) == [Listener("internal", "::1", 5)]


def test_listeners_by_name() -> None:
    settings = NameServerSettings(listeners="internal:0.0.0.0:9876, external:[::]:9877")
    assert listeners(settings) == [
        Listener("internal", "0.0.0.0", 9876),
        Listener("external", "::", 9877),
    ]


@pytest.mark.parametrize(
    "listing",
    [
        "x",
        "x:1",
        "x:h:",
        "x:h:99999",
        ":h:1",
        "x:h:1,x:h:2",
        "x:h:1,",
        "x:h:" + "9" * 5000,
        "x:1.2.3:1",
        "x:a b:1",
    ],
)
def test_invalid_listeners_are_refused_before_the_start(tmp_path: Path, listing: str) -> None:
    with pytest.raises(ConfigurationError, match="listeners="):
        loaded(tmp_path, listeners=listing)


def test_kv_of_a_first_start_is_empty(tmp_path: Path) -> None:
    assert load_kv(tmp_path / "kvConfig.json") == {}


@pytest.mark.parametrize("text", ["nonsense", "[]", '{"configTable":[1]}'])
def test_kv_that_cannot_be_read_stops_the_start(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kvConfig.json"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match="move it away to start with none"):
        load_kv(file)


def test_kv_that_is_more_than_can_be_served_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "kvConfig.json"
    file.write_text(json.dumps({"configTable": {"n": {"k": "\x01" * 1_400_000}}}))
    with pytest.raises(ConfigurationError, match="take out what is not needed"):
        load_kv(file)


def test_accepted_kv_configuration_can_be_loaded(tmp_path: Path) -> None:
    desk, file = Desk(), tmp_path / "kvConfig.json"
    accepted = 0
    for number in range(180):
        ext = {"namespace": "n", "key": f"k{number}", "value": "\x01" * 1000 + "v" * 58_000}
        request = Request(Command(RequestCode.PUT_KV_CONFIG, ext=ext), desk.channel)
        accepted += desk.core.handle(request, desk.now, 0) == Parked()
        if number % 60 == 59:  # all at once, before the disk has any
            desk.settle()
    last = desk.writes[-1]
    assert isinstance(last, SaveKv)
    file.write_bytes(last.content)
    assert accepted < 180
    assert len(load_kv(file)["n"]) == accepted


def test_a_folder_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    for read in (lambda: loaded(tmp_path), lambda: load_kv(tmp_path / "kvConfig.json")):
        with pytest.raises(ConfigurationError, match=r"cannot be read: Permission denied"):
            read()


def test_a_path_that_no_file_can_have_is_named(tmp_path: Path) -> None:
    for read in (lambda: loaded(tmp_path, Path("a\0b")), lambda: load_kv(Path("a\0b"))):
        with pytest.raises(ConfigurationError, match="cannot be read: embedded null"):
            read()


class TestWithoutAHome:
    @pytest.fixture(autouse=True)
    def _homeless(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail() -> Path:
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(Path, "home", fail)

    def test_named_files_need_no_folder(self, tmp_path: Path) -> None:
        file = tmp_path / "my.properties"
        file.write_text("kvConfigPath=/data/kv.json\n")
        assert load(file, {}, {}).settings.kv_config_path == "/data/kv.json"

    def test_the_error_names_the_settings(self, tmp_path: Path) -> None:
        file = tmp_path / "my.properties"
        file.write_text("")
        for config_file in (None, file):
            with pytest.raises(ConfigurationError, match="give -c FILE and kvConfigPath"):
                load(config_file, {}, {})


@pytest.mark.parametrize("host", ["not an address", "999.1.1.1", "", "a:b", "h" * 300])
def test_an_invalid_address_is_refused_before_the_start(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigurationError, match="bindAddress="):
        loaded(tmp_path, bindAddress=host)


@pytest.mark.parametrize(
    "flags",
    [
        {"metricsPort": "9876"},
        {"listeners": "a:0.0.0.0:1,b:127.0.0.1:1"},
        {"listeners": "a:127.0.0.1:5558"},
    ],
)
def test_one_port_is_not_used_twice(tmp_path: Path, flags: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="would both listen on port"):
        loaded(tmp_path, None, **flags)


def test_ports_that_differ_by_address_are_two(tmp_path: Path) -> None:
    assert len(listeners(loaded(tmp_path, listeners="a:127.0.0.2:1,b:127.0.0.1:1").settings)) == 2
    assert loaded(tmp_path, listenPort="0", metricsPort="0").settings.listen_port == 0


def test_the_port_of_a_service_does_not_stop_a_pod(tmp_path: Path) -> None:
    environment = {
        "GANTRY_LISTEN_PORT": "tcp://10.0.0.1:9876",
        "GANTRY_METRICS_PORT": "tcp://10.0.0.1:5557",
    }
    setup = load(None, environment, {}, tmp_path)
    assert setup.settings.listen_port == 9876
    links = [each for each in setup.warnings if "set enableServiceLinks: false" in each]
    assert [each.partition(" ")[0] for each in links] == [
        "GANTRY_LISTEN_PORT=tcp://10.0.0.1:9876",
        "GANTRY_METRICS_PORT=tcp://10.0.0.1:5557",
    ]


@pytest.mark.parametrize(("own", "bound"), [("10.1.0.9", "0.0.0.0"), ("fd00::9", "::")])
def test_a_machine_that_has_ipv6_alone_is_listened_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, bound: str
) -> None:
    monkeypatch.setattr(configuration, "own_address", lambda: own)
    assert load(None, {}, {}, tmp_path).settings.bind_address == bound
    said = load(None, {"GANTRY_BIND_ADDRESS": "127.0.0.1"}, {}, tmp_path)
    assert said.settings.bind_address == "127.0.0.1"
