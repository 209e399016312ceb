"""Tests the command line and the environment of the operator."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.operator.shell import options


def test_without_options_it_serves_all_namespaces() -> None:
    told = options.parse([], {})

    assert told.namespaces == ()
    assert told.metrics_port == 5559


def test_flags_outrank_the_environment() -> None:
    environment = {
        "GANTRY_OPERATOR_NAMESPACE": "a, b",
        "GANTRY_OPERATOR_BROKER_IMAGE": "registry/broker:1",
        "GANTRY_OPERATOR_METRICS_PORT": "9000",
    }

    assert options.parse([], environment).namespaces == ("a", "b")
    assert options.parse([], environment).broker_image == "registry/broker:1"
    assert options.parse([], environment).metrics_port == 9000
    told = options.parse(["--namespace", "c", "--metrics-port", "0"], environment)
    assert (told.namespaces, told.metrics_port) == (("c",), 0)


def test_the_lease_of_another_release_has_another_name() -> None:
    assert options.parse([], {}).lease_name == "gantry-operator"
    environment = {"GANTRY_OPERATOR_LEASE_NAME": "two-gantry-operator"}
    assert options.parse([], environment).lease_name == "two-gantry-operator"


@pytest.mark.parametrize("port", ["x", "-1", "65536", ""])
def test_an_invalid_port_is_refused(port: str) -> None:
    with pytest.raises(ConfigurationError, match="give a port"):
        options.parse([], {"GANTRY_OPERATOR_METRICS_PORT": port})


def test_an_unknown_option_ends_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        options.parse(["--nonsense"], {})

    assert ended.value.code == 2
    assert "--nonsense" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "words"),
    [("--log-level", "give DEBUG, INFO"), ("--image-pull-policy", "give Always, IfNotPresent")],
)
def test_a_value_that_is_not_allowed_is_refused(flag: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        options.parse([flag, "Sometimes"], {})
