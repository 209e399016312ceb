"""Tests how settings are bound: which layer wins, what is refused, what causes a warning."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest

from gantrymq.base.bounds import LONG_MAX
from gantrymq.base.configuration.settings import (
    Layer,
    Source,
    bind,
    environment_layer,
    file_layer,
    flag_layer,
    format_settings,
    setting,
    setting_fields,
)
from gantrymq.base.errors import ConfigurationError, LocalError


class FlushDiskType(StrEnum):
    ASYNC_FLUSH = "ASYNC_FLUSH"
    SYNC_FLUSH = "SYNC_FLUSH"


@dataclass(frozen=True, slots=True)
class Sample:
    listen_port: int = setting(9876, "Port to listen on", unit="TCP port", lowest=0, highest=65535)
    max_offset: int = setting(0, "Largest offset", unit="bytes", lowest=0, highest=LONG_MAX)
    order_message_enable: bool = setting(False, "Whether order topics are told to clients")
    broker_ip: str = setting("", "Address for clients", key="brokerIP1")
    flush_disk_type: FlushDiskType = setting(FlushDiskType.ASYNC_FLUSH, "When to flush")


@dataclass(frozen=True, slots=True)
class Unusable:
    ratio: float = 0.5


FILE = file_layer("listenPort = 1001 \nbrokerIP1=10.0.0.1", "/etc/gantry.conf")


def test_settings_without_layers_are_the_defaults() -> None:
    bound = bind(Sample, [])
    assert bound.settings == Sample()
    assert bound.source("listenPort") is Source.DEFAULT


def test_values_are_trimmed_and_typed() -> None:
    text = "listenPort= 1 \norderMessageEnable=TRUE\nbrokerIP1=  a b  \nflushDiskType=SYNC_FLUSH "
    settings = bind(Sample, [file_layer(text, "f")]).settings
    assert settings == Sample(1, 0, True, "a b", FlushDiskType.SYNC_FLUSH)


def test_the_later_layer_wins_and_its_source_is_remembered() -> None:
    environment = environment_layer(Sample, {"GANTRY_LISTEN_PORT": "1002", "PATH": "x"})
    flags = flag_layer({"listenPort": "1003"})
    assert bind(Sample, [FILE]).settings.listen_port == 1001
    assert bind(Sample, [FILE, environment]).settings.listen_port == 1002
    bound = bind(Sample, [FILE, environment, flags])
    assert bound.settings.listen_port == 1003
    assert bound.source("listenPort") is Source.FLAG
    assert bound.source("brokerIP1") is Source.FILE
    assert bound.sources["brokerIP1"].place == "/etc/gantry.conf"
    assert bound.source("maxOffset") is Source.DEFAULT


def test_variables_are_named_after_the_field() -> None:
    variables = [each.variable for each in setting_fields(Sample)]
    assert variables[0] == "GANTRY_LISTEN_PORT"
    assert variables[3] == "GANTRY_BROKER_IP"


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("listenPort=abc", "a whole number from 0 to 65535"),
        ("listenPort=", "a whole number from 0 to 65535"),
        ("listenPort=65536", "a whole number from 0 to 65535"),
        ("listenPort=-1", "a whole number from 0 to 65535"),
        ("listenPort=1_0", "a whole number from 0 to 65535"),
        ("listenPort=٣", "a whole number from 0 to 65535"),
        ("maxOffset=9223372036854775808", "a whole number from 0 to 9223372036854775807"),
        ("orderMessageEnable=yes", "true or false"),
        ("orderMessageEnable=", "true or false"),
        ("flushDiskType=SOMETIMES", "one of ASYNC_FLUSH, SYNC_FLUSH"),
    ],
)
def test_error_names_key_value_source_and_allowed_values(line: str, allowed: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        bind(Sample, [file_layer(line, "/etc/gantry.conf")])
    assert str(error.value) == f"{line} (file /etc/gantry.conf, line 1): must be {allowed}"


def test_one_error_lists_all_faults() -> None:
    layers = [
        file_layer("listenPort=x\norderMessageEnable=maybe", "f"),
        environment_layer(Sample, {"GANTRY_MAX_OFFSET": "-1"}),
        flag_layer({"flushDiskType": ""}),
    ]
    with pytest.raises(ConfigurationError) as error:
        bind(Sample, layers)
    lines = str(error.value).splitlines()
    assert [line.split("=")[0] for line in lines] == [
        "listenPort", "orderMessageEnable", "maxOffset", "flushDiskType",
    ]  # fmt: skip
    assert "(environment GANTRY_MAX_OFFSET)" in lines[2]
    assert "(flag)" in lines[3]


def test_unknown_keys_are_kept_with_a_warning() -> None:
    bound = bind(Sample, [file_layer("listenport=1\nfleetSize=2", "f")])
    assert bound.settings == Sample()
    assert bound.unknown == {"listenport": "1", "fleetSize": "2"}
    no_effect = "is not a setting known here and has no effect"
    assert bound.warnings == (
        f"listenport (file f, line 1) {no_effect}; did you mean listenPort?",
        f"fleetSize (file f, line 2) {no_effect}",
    )


def test_error_names_the_effective_line() -> None:
    text = "# ours\nlistenPort=1\nbrokerIP1=\\\n  a\nlistenPort=x\n"
    with pytest.raises(ConfigurationError, match=r"^listenPort=x \(file f, line 5\): "):
        bind(Sample, [file_layer(text, "f")])
    refused = bind(Sample, [file_layer("\nbrokerIP1=\\\n  a", "f")]).refusal("brokerIP1", "no")
    assert str(refused) == "brokerIP1=a (file f, line 2): no"


def test_changes_saved_at_run_time_are_a_layer() -> None:
    saved = file_layer("listenPort=1005", "overrides.properties", Source.SAVED)
    bound = bind(Sample, [FILE, saved])
    assert (bound.settings.listen_port, bound.source("listenPort")) == (1005, Source.SAVED)


def test_a_broken_file_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"^/etc/x: line 1: \\u needs"):
        file_layer("a=\\u1", "/etc/x")


def test_all_settings_are_printed_as_java_prints_them() -> None:
    text = format_settings(Sample(order_message_enable=True))
    assert text == (
        "listenPort=9876\nmaxOffset=0\norderMessageEnable=true\nbrokerIP1=\n"
        "flushDiskType=ASYNC_FLUSH\n"
    )


def test_printed_settings_bind_to_the_same_values() -> None:
    settings = Sample(1, LONG_MAX, True, "\\host\\x", FlushDiskType.SYNC_FLUSH)
    assert bind(Sample, [file_layer(format_settings(settings), "f")]).settings == settings


def test_fields_document_themselves() -> None:
    port = setting_fields(Sample)[0]
    assert (port.key, port.kind, port.default) == ("listenPort", int, 9876)
    assert (port.about, port.unit) == ("Port to listen on", "TCP port")


@pytest.mark.parametrize("value", ["tcp://10.0.0.1:5557", "udp://10.0.0.1:53", "tcp://fd00::1:80"])
def test_variable_of_a_service_link_is_ignored_with_a_warning(value: str) -> None:
    bound = bind(Sample, [FILE, environment_layer(Sample, {"GANTRY_LISTEN_PORT": value})])
    assert bound.settings.listen_port == 1001
    [warning] = bound.warnings
    assert warning == (
        f"GANTRY_LISTEN_PORT={value} is ignored: Kubernetes set it for a Service called"
        " gantry-listen; set enableServiceLinks: false in the pod's spec"
    )


@pytest.mark.parametrize("value", ["http://10.0.0.1:80", "tcp://10.0.0.1", "10.0.0.1:5557"])
def test_variable_that_is_no_service_link_is_refused(value: str) -> None:
    with pytest.raises(ConfigurationError, match="GANTRY_LISTEN_PORT"):
        bind(Sample, [environment_layer(Sample, {"GANTRY_LISTEN_PORT": value})])


def test_type_that_cannot_be_bound_is_a_programming_error() -> None:
    with pytest.raises(LocalError, match="setting ratio: no text can be bound to"):
        bind(Unusable, [Layer(Source.FILE, {})])
